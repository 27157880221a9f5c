"""A run that was measured again from its folder: whether the second run shows the figures of the first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change
from loadcurve.analysis.comparison import RunComparison, compare_runs
from loadcurve.analysis.history import machine_of
from loadcurve.result.history import HistoryMachine
from loadcurve.result.measures import Measure

RerunOutcome = Literal["reproduced", "not_reproduced", "cannot_tell", "another_machine"]


@dataclass(frozen=True, slots=True)
class Refigured:
    """A published figure of a server over its curve, beside that of the second run."""

    server: str
    outcome: RerunOutcome
    change: Change | None
    """The second run's figure over the published one; ``None`` where there is no such ratio."""


@dataclass(frozen=True, slots=True)
class RankOrder:
    """Pairs of servers that the published run tells apart by the measure that answers its question."""

    same: tuple[tuple[str, str], ...]
    """Told apart in the same order in the second run, the better one first."""
    reversed: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...]
    """Not told apart in the second run."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """What a second run says of a published one."""

    outcome: RerunOutcome
    margin: float
    measure: Measure
    """What answers the study's question, by which the outcome is judged."""
    figures: tuple[Refigured, ...]
    order: RankOrder
    machines: tuple[HistoryMachine, HistoryMachine]
    """That of the published run and that of the second one; of two that differ no figures are compared."""
    comparison: RunComparison
    """All measures, and what else differs."""


def judge_rerun(base: Analysis, new: Analysis, margin: float) -> Rerun:
    """Judge whether ``new`` shows the figures of ``base`` again, of the servers that ``new`` was to measure.

    A figure is reproduced where the whole 95 % interval of the ratio lies within a factor of ``1 + margin``,
    a test of equivalence. It is not where the interval excludes 1 and the ratio lies outside of that factor.
    Else the trials cannot tell. On another machine nothing is said of single figures, only of their order.

    Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15
    (1987).
    """
    comparison = compare_runs(base, new)
    machines = machine_of(base), machine_of(new)
    is_elsewhere = machines[0].fingerprint is None or machines[0].fingerprint != machines[1].fingerprint
    measure = base.measure(base.ranked_by)
    found = {one.server: one for one in comparison.curves if one.measure == measure}
    figures = tuple(
        Refigured(server, _outcome(found.get(server), margin, is_elsewhere=is_elsewhere), found.get(server))
        for server in _with_figures(base, measure)
        if server in new.run.servers
    )
    return Rerun(
        outcome=_of_all(figures),
        margin=margin,
        measure=measure,
        figures=figures,
        order=_order(base, new),
        machines=machines,
        comparison=comparison,
    )


def _with_figures(base: Analysis, measure: Measure) -> list[str]:
    """Return the servers that have a figure in the published run."""
    return [
        curve.server for curve in base.curves if any(at.estimate(measure) is not None for at in curve.points)
    ]


def _outcome(change: Change | None, margin: float, *, is_elsewhere: bool) -> RerunOutcome:
    if is_elsewhere:
        return "another_machine"
    ratio = None if change is None else change.estimate
    if change is None or ratio is None or ratio.low is None or ratio.high is None:
        return "cannot_tell"
    bound = 1 + margin
    if 1 / bound <= ratio.low and ratio.high <= bound:
        return "reproduced"
    is_outside = abs(change.ratio.logarithm) > math.log(bound)
    return "not_reproduced" if change.shown and is_outside else "cannot_tell"


def _of_all(figures: Sequence[Refigured]) -> RerunOutcome:
    """Return the outcome of a run: it is reproduced where each of its figures is."""
    found = {one.outcome for one in figures}
    weightiest: Sequence[RerunOutcome] = ("not_reproduced", "another_machine", "cannot_tell", "reproduced")
    return next((one for one in weightiest if one in found), "cannot_tell")


def _order(base: Analysis, new: Analysis) -> RankOrder:
    told, again = _told_apart(base), _told_apart(new)
    common = set(new.run.servers)
    pairs = [pair for pair in told if set(pair) <= common]
    return RankOrder(
        same=tuple(pair for pair in pairs if pair in again),
        reversed=tuple(pair for pair in pairs if pair[::-1] in again),
        unknown=tuple(pair for pair in pairs if pair not in again and pair[::-1] not in again),
    )


def _told_apart(found: Analysis) -> list[tuple[str, str]]:
    """Return the pairs of servers that differ by the answering measure over the curve, the better first."""
    rankings = [one for one in found.rankings if one.measure == found.ranked_by]
    return [(pair.first, pair.second) for one in rankings for pair in one.over_curve.pairs if pair.told_apart]
