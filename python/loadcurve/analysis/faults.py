"""Trials of two sides that failed or have invalid points, and whether the new side has more of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcurve.analysis.missing import Side
from loadcurve.analysis.trial_faults import FaultKind, TrialFault
from loadcurve.loads.values import Point
from loadcurve.result.measures import point_key
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.shares import greater_share_p_value

WORST_FIRST: tuple[FaultKind, ...] = ("failed", "invalid", "disturbed")
"""A trial counts once, as the first of these that it has."""


@dataclass(frozen=True, slots=True)
class FaultCount:
    """Trials of one kind of fault."""

    trials: int
    reason: str
    """The most frequent one."""


@dataclass(frozen=True, slots=True)
class SideFaults:
    """The trials of one side, and those with a fault."""

    server: str
    called: str
    """The side: a run, or a server of one."""
    trials: int
    kinds: dict[FaultKind, FaultCount]
    """Those that there are, the worst first."""

    @property
    def of_server(self) -> int:
        """The trials in which the server failed, or made a point invalid."""
        return sum(count.trials for kind, count in self.kinds.items() if kind != "disturbed")


@dataclass(frozen=True, slots=True)
class FaultsCompared:
    """The faults of both sides of one server."""

    server: str
    base: SideFaults
    new: SideFaults

    @property
    def p_value(self) -> float | None:
        """How often chance gives the new side as many of the faulty trials; ``None`` without trials of both.

        By Fisher's exact test, one-sided.
        """
        sides = (self.new, self.base)
        if not all(side.trials for side in sides):
            return None
        return greater_share_p_value(*((side.of_server, side.trials) for side in sides))

    def is_regression(self, error_rate: float = ERROR_RATE) -> bool:
        """Say whether the new side has a fault and the base has none, or more of them than chance gives."""
        if self.p_value is None or not self.new.of_server:
            return False
        return not self.base.of_server or self.p_value <= error_rate


def compared_faults(sides: Sequence[tuple[Side, Side]], points: Sequence[Point]) -> Iterator[FaultsCompared]:
    """Yield the faults of each server at the points where its base has a figure, where there are any.

    Where the base has none at all, faults of the new side are no change.
    """
    for base, new in sides:
        where = [point for point in points if (at := base.at(point)) is not None and at.usable]
        found = FaultsCompared(new.server, *(_of_side(side, where) for side in (base, new)))
        if found.base.kinds or found.new.kinds:
            yield found


def _of_side(side: Side, points: Sequence[Point]) -> SideFaults:
    keys = {point_key(point) for point in points}
    faults = [
        one
        for one in side.analysis.faults
        if one.server == side.server and (one.point is None or point_key(one.point) in keys)
    ]
    by_trial: dict[int, TrialFault] = {}
    for one in sorted(faults, key=lambda fault: WORST_FIRST.index(fault.kind)):
        by_trial.setdefault(one.trial, one)
    measured = {trial for point in points if (at := side.at(point)) is not None for trial in at.trials}
    return SideFaults(
        side.server, side.called, len(measured | by_trial.keys()), dict(_kinds([*by_trial.values()]))
    )


def _kinds(faults: Sequence[TrialFault]) -> Iterator[tuple[FaultKind, FaultCount]]:
    for kind in WORST_FIRST:
        reasons = Counter(one.reason for one in faults if one.kind == kind)
        if reasons:
            ((reason, _),) = reasons.most_common(1)
            yield kind, FaultCount(reasons.total(), reason)
