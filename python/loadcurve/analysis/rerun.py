"""A run that was measured again from its folder: whether the second run shows the figures of the first."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change
from loadcurve.analysis.comparison import RunComparison, changes_between, compare_runs, outside_ratios
from loadcurve.analysis.curves import Curve
from loadcurve.analysis.history import machine_of
from loadcurve.analysis.publication import curves_of, measure_of
from loadcurve.analysis.rerun_differences import (
    ALWAYS_SAID,
    OtherServer,
    of_conditions,
    of_servers,
    of_servers_measured,
    what_differs,
)
from loadcurve.analysis.rerun_shapes import Shape, shapes_between
from loadcurve.loads.values import Point
from loadcurve.result.differences import ConditionDifference
from loadcurve.result.history import HistoryMachine
from loadcurve.result.measures import Measure
from loadcurve.result.publication import PublishedRanking, PublishedRun

RerunOutcome = Literal["reproduced", "not_reproduced", "cannot_tell", "another_machine"]


@dataclass(frozen=True, slots=True)
class Refigured:
    """A published figure of a server over its curve, beside that of the second run."""

    server: str
    outcome: RerunOutcome
    change: Change | None
    """The second run's figure over the published one; ``None`` where there is no such ratio."""
    differs: tuple[OtherServer, ...] = ()
    """In what the server itself differs, so that the ratio may be of that, the weightiest first."""
    is_measured: bool = True
    """Whether the second run has any usable figure of the server."""
    left_out: tuple[Point, ...] = ()
    """Points with figures that the ratio leaves out, because not every trial of both runs has one there."""


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
    shapes: tuple[Shape, ...] = ()
    """How curves compare in shape; of another machine alone, whose figures are not compared."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the second run is of another machine, or of one that is not known."""
        return _is_elsewhere(self.machines)

    @property
    def is_contradicted(self) -> bool:
        """Whether it is shown that the second run is unlike the published one by more than the margin.

        On one machine by a figure; on another one by the shape of a curve, or by the order of two servers.
        """
        if not self.is_elsewhere:
            return self.outcome == "not_reproduced"
        return bool(self.order.reversed) or any(one.outcome == "differs" for one in self.shapes)

    @property
    def is_confirmed(self) -> bool:
        """Whether it is shown that the second run is like the published one.

        On one machine each figure is; on another one the shape of each curve is, and the order of all servers
        that the published run tells apart.
        """
        if not self.is_elsewhere:
            return self.outcome == "reproduced"
        alike = {one.server for one in self.shapes if one.outcome == "alike"}
        is_in_order = not (self.order.reversed or self.order.unknown)
        return is_in_order and bool(self.figures) and all(one.server in alike for one in self.figures)

    @property
    def conditions(self) -> tuple[ConditionDifference, ...]:
        """What differs apart from the servers; of another machine's hardware and settings not each fact."""
        return tuple(
            one
            for one in self.comparison.conditions
            if one.aspect != "machine" or not self.is_elsewhere or one.name in ALWAYS_SAID
        )


@dataclass(frozen=True, slots=True)
class RerunBase:
    """What a second run is judged beside."""

    servers: tuple[str, ...]
    """Those with a figure of the measure."""
    measure: Measure
    """What answers the study's question."""
    machine: HistoryMachine
    told_apart: tuple[tuple[str, str], ...]
    """Pairs of servers that differ by the measure over the curve, the better one first."""
    curves: tuple[Curve, ...]

    @classmethod
    def of_run(cls, base: Analysis) -> Self:
        """Return what is known from the folder of a run."""
        measure = base.measure(base.ranked_by)
        return cls(
            tuple(_with_figures(base.curves, measure)),
            measure,
            machine_of(base),
            tuple(_told_apart(base)),
            tuple(base.curves),
        )

    @classmethod
    def of_published(cls, run: PublishedRun) -> Self:
        """Return what is known from a published file."""
        measure = measure_of(run, run.ranked_by)
        machine = HistoryMachine(
            fingerprint=run.machine.fingerprint, name=run.machine.name, kernel=run.machine.kernel
        )
        told_apart = (pair for one in run.rankings if one.measure == run.ranked_by for pair in _apart(one))
        curves = tuple(curves_of(run))
        return cls(tuple(_with_figures(curves, measure)), measure, machine, tuple(told_apart), curves)


def judge_rerun(base: Analysis, new: Analysis, margin: float) -> Rerun:
    """Judge whether ``new`` shows the figures of ``base`` again, of the servers that ``new`` was to measure.

    A figure is reproduced where the whole 95 % interval of the ratio lies within a factor of ``1 + margin``,
    a test of equivalence. It is not where the interval excludes 1 and the ratio lies outside of that factor.
    Else the trials cannot tell. On another machine nothing is said of single figures, only of the shapes of
    curves and of the order of servers.

    Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15
    (1987).
    """
    return _judged(
        RerunBase.of_run(base), new, compare_runs(of_servers_measured(base, new.run.servers), new), margin
    )


def judge_published(published: PublishedRun, new: Analysis, margin: float) -> Rerun:
    """Judge whether ``new`` shows the figures of a published file again, as :func:`judge_rerun` does."""
    curves = curves_of(published)
    compared = [measure_of(published, one.name) for one in published.measures if one.better is not None]
    changes = [change for measure in compared for change in changes_between(curves, new.curves, measure)]
    comparison = RunComparison(
        conditions=of_conditions(published, new),
        servers=of_servers(published, new),
        curves=tuple(change for change in changes if change.point is None),
        points=(),
        operations=(),
        servers_in_one=(),
        points_in_one=(),
    )
    return _judged(RerunBase.of_published(published), new, comparison, margin)


def _judged(base: RerunBase, new: Analysis, comparison: RunComparison, margin: float) -> Rerun:
    machines = base.machine, machine_of(new)
    is_elsewhere = _is_elsewhere(machines)
    found = {one.server: one for one in comparison.curves if one.measure.column == base.measure.column}
    here = {name for name, one in new.run.servers.items() if one.status == "found"}
    measured = set(_with_figures(new.curves, base.measure))
    # An optional server that is not installed here was to be measured as well.
    wanted = {*new.run.servers, *(new.run.left_out.servers if new.run.left_out else ())}
    comparison = replace(
        comparison, servers={name: one for name, one in comparison.servers.items() if name in here}
    )
    left_out = outside_ratios(base.curves, new.curves, base.measure)
    figures = tuple(
        Refigured(
            server,
            _outcome(found.get(server), margin, is_elsewhere=is_elsewhere),
            found.get(server),
            what_differs(comparison.servers.get(server, ())),
            is_measured=server in measured,
            left_out=left_out.get(server, ()),
        )
        for server in base.servers
        if server in wanted
    )
    return Rerun(
        outcome=_of_all(figures),
        margin=margin,
        measure=base.measure,
        figures=figures,
        order=_order(base.told_apart, new),
        machines=machines,
        comparison=comparison,
        shapes=tuple(shapes_between(base.curves, new.curves, base.measure, margin)) if is_elsewhere else (),
    )


def _is_elsewhere(machines: tuple[HistoryMachine, HistoryMachine]) -> bool:
    published, second = (one.fingerprint for one in machines)
    return published is None or published != second


def _with_figures(curves: Sequence[Curve], measure: Measure) -> list[str]:
    """Return the servers that have a figure."""
    return [curve.server for curve in curves if any(at.estimate(measure) is not None for at in curve.points)]


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


def _order(told: Sequence[tuple[str, str]], new: Analysis) -> RankOrder:
    again = _told_apart(new)
    common = set(new.run.servers)
    pairs = [pair for pair in told if set(pair) <= common]
    return RankOrder(
        same=tuple(pair for pair in pairs if pair in again),
        reversed=tuple(pair for pair in pairs if pair[::-1] in again),
        unknown=tuple(pair for pair in pairs if pair not in again and pair[::-1] not in again),
    )


def _apart(ranking: PublishedRanking) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a published ranking that no group has together, the better one first."""
    together = [set(group) for group in ranking.groups]
    for better, worse in itertools.combinations([one.server for one in ranking.ranks], 2):
        if not any({better, worse} <= group for group in together):
            yield better, worse


def _told_apart(found: Analysis) -> list[tuple[str, str]]:
    """Return the pairs of servers that differ by the answering measure over the curve, the better first."""
    rankings = [one for one in found.rankings if one.measure == found.ranked_by]
    return [(pair.first, pair.second) for one in rankings for pair in one.over_curve.pairs if pair.told_apart]
