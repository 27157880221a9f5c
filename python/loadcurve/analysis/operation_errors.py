"""The errors of each request on both sides of a comparison: how many, their share, and how it changed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadcurve.analysis.missing import Side
from loadcurve.loads.values import Point
from loadcurve.result.operations import ended_of, errors_of, share_of
from loadcurve.stats.interval import Estimate
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_steps
from loadcurve.stats.shares import CountedShare, ShareDifference


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Requests that failed or were answered with another status than is expected, of one label."""

    errors: int
    trials: int
    """The usable points of trials that counted them."""


@dataclass(frozen=True, slots=True)
class OperationErrors:
    """The errors of one request of one server, over the points that both sides have."""

    server: str
    operation: str
    base: ErrorCount
    new: ErrorCount
    change: ShareDifference | None = None
    """Of the share of those that have ended, at the points that are usable in every trial of both sides;
    ``None`` where there is no such point.
    """
    step: int = 1
    """By how many its p-value is multiplied, because it is one of several requests."""

    @property
    def differs(self) -> bool:
        """Whether the two sides have another number of them per trial."""
        return self.base.errors * self.new.trials != self.new.errors * self.base.trials

    @property
    def confidence(self) -> float:
        """The confidence of the interval: 0.95, and more where there are several requests."""
        return 1 - ERROR_RATE / self.step

    @property
    def estimate(self) -> Estimate | None:
        """The difference of the shares with the interval that decides."""
        return None if self.change is None else self.change.estimate_at(self.confidence)

    @property
    def adjusted_p_value(self) -> float | None:
        """The p-value, adjusted for the number of requests; ``None`` without one."""
        p_value = None if self.change is None else self.change.p_value
        return None if p_value is None else min(1.0, self.step * p_value)

    @property
    def shown(self) -> bool:
        """Whether chance alone does not explain the difference: its interval does not contain 0."""
        return self.adjusted_p_value is not None and self.adjusted_p_value <= ERROR_RATE

    @property
    def is_worse(self) -> bool:
        """Whether the new side has the greater share."""
        return self.change is not None and self.change.value > 0

    def is_regression(self, least: float) -> bool:
        """Say whether the share is shown to be greater, and is so by ``least`` of the base's or more."""
        if self.change is None or not (self.shown and self.is_worse):
            return False
        return self.change.new.value >= (1 + least) * self.change.base.value


def errors_of_operations(
    sides: Sequence[tuple[Side, Side]], labels: Sequence[str], points: Sequence[Point]
) -> Iterator[OperationErrors]:
    """Yield the errors of each request; none of one that a side has not counted.

    The changes of a server are adjusted for their number by Holm's method.
    """
    for base, new in sides:
        found = [
            OperationErrors(new.server, label, of_base, of_new, _change(base, new, label, points))
            for label in labels
            if (of_base := _count(base, label, points)) is not None
            and (of_new := _count(new, label, points)) is not None
        ]
        yield from _adjusted(found)


def _adjusted(found: Sequence[OperationErrors]) -> list[OperationErrors]:
    p_values = {
        place: p_value
        for place, one in enumerate(found)
        if one.change is not None and (p_value := one.change.p_value) is not None
    }
    steps = dict(zip(p_values, holm_steps([*p_values.values()], ERROR_RATE), strict=True))
    return [replace(one, step=steps.get(place, 1)) for place, one in enumerate(found)]


def _count(side: Side, label: str, points: Sequence[Point]) -> ErrorCount | None:
    found = [at for point in points if (at := side.at(point)) is not None]
    values = [at.values(errors_of(label))[place] for at in found for place in at.usable]
    counted = [round(value) for value in values if value is not None]
    return ErrorCount(sum(counted), len(counted)) if counted else None


def _change(base: Side, new: Side, label: str, points: Sequence[Point]) -> ShareDifference | None:
    """Return the difference between two sides, whose unit is the trial: of points that all trials have."""
    counts = [_by_trial(side, label, points) for side in (base, new)]
    # What a load of few connections answers has another share of errors than that of many.
    whole = [
        place
        for place in range(len(points))
        if all(trials and all(place in trial for trial in trials.values()) for trials in counts)
    ]
    if not whole:
        return None
    shares = []
    for trials in counts:
        errors = [sum(trial[place][0] for place in whole) for trial in trials.values()]
        ended = [sum(trial[place][1] for place in whole) for trial in trials.values()]
        shares.append(CountedShare(errors, ended))
    return ShareDifference(shares[1], shares[0])


def _by_trial(side: Side, label: str, points: Sequence[Point]) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the errors and the ended requests of each trial at the places of points where it is usable."""
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for place, point in enumerate(points):
        at = side.at(point)
        if at is None:
            continue
        errors, ended = at.values(errors_of(label)), at.values(ended_of(label))
        for index in at.usable:
            if (counted := share_of(errors[index], ended[index])) is not None:
                found.setdefault(at.trials[index], {})[place] = counted
    return found
