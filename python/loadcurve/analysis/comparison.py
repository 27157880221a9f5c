"""Two runs of the same study, or two servers of one run: what became faster, and what slower."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import at_point, protocol_measures_in, usable_logs
from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.analysis.unusable import Unusable, lost, lost_in_head
from loadcurve.loads.values import Point
from loadcurve.result.differences import (
    ConditionDifference,
    Difference,
    between_reported,
    condition_differences,
    is_imported,
    server_differences,
)
from loadcurve.result.measures import Measure, measures
from loadcurve.result.operations import latency_of
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.interval import LOGARITHM_MAX
from loadcurve.stats.paired import Array, Logs, PairedRatio
from loadcurve.stats.power import ERROR_RATE, trials_to_decide
from loadcurve.stats.ranking import holm_adjusted, paired_ratio

LEAST_MAX = 0.999
"""A throughput cannot become worse by all of itself and have a ratio."""
COMPARED = ("throughput", "p50", "p99", "cpu_per_request_us", "memory_mean_mib")
"""The measures that two runs of any kind are compared by."""
OF_OPERATIONS = ("p50", "p99")
"""The latencies by which each operation is compared, that is each request of a load with several."""


@dataclass(frozen=True, slots=True)
class Change:
    """One measure of one server in the new run over that in the base run, or over that of the base server."""

    server: str
    measure: Measure
    point: Point | None
    """``None`` for the whole curve."""
    ratio: IndependentRatio | PairedRatio
    adjusted_p_value: float | None = None
    """Adjusted for all changes of a comparison; ``None`` where a run has one usable trial only."""

    @property
    def shown(self) -> bool:
        """Whether chance alone does not explain it."""
        return self.adjusted_p_value is not None and self.adjusted_p_value <= ERROR_RATE

    @property
    def worse_by(self) -> float:
        """By which share the new run is worse, such as 0.05 for 5 %; negative where it is better."""
        logarithm = self.ratio.logarithm
        change = math.expm1(logarithm) if logarithm <= LOGARITHM_MAX else math.inf
        return -change if self.measure.better == "higher" else change

    @property
    def worse_by_at_most(self) -> float | None:
        """By which share it is worse at the worse end of its interval; ``None`` without an interval."""
        ratio = self.ratio.estimate
        if ratio is None or ratio.low is None or ratio.high is None:
            return None
        return 1 - ratio.low if self.measure.better == "higher" else ratio.high - 1

    def trials_to_decide(self, least: float) -> int | None:
        """Return how many trials would show or rule out a regression of this share if the ratio stays."""
        if self.ratio.log_sd is None:
            return None
        bound = math.log1p(-min(least, LEAST_MAX) if self.measure.better == "higher" else least)
        return trials_to_decide(self.ratio.logarithm - bound, self.ratio.log_sd)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What two runs, or two servers of one run, have in common, where they differ, and what only one has."""

    conditions: tuple[ConditionDifference, ...]
    """Differences that leave open whether it is the servers that differ."""
    servers: Mapping[str, tuple[Difference, ...]]
    """How the servers of both runs differ apart from what was measured."""
    curves: tuple[Change, ...]
    points: tuple[Change, ...]
    operations: tuple[Change, ...]
    """Those of each operation that both runs have, over the whole curve."""
    servers_in_one: tuple[str, ...]
    """Servers with usable points in one of the runs only."""
    points_in_one: tuple[Point, ...]
    """Points that only one of the runs has."""
    lost: tuple[Unusable, ...] = ()
    """What has usable figures in the base run and none in the new one."""
    not_computed: tuple[NotComputed, ...] = ()
    """What a fault of Loadcurve left out, of the runs' analyses and of the changes."""
    arms: tuple[str, str] | None = None
    """The base and the head where both are servers of one run, measured in turn; ``None`` for two runs."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """All of them."""
        return (*self.curves, *self.points, *self.operations)

    def regressions(self, least: float) -> list[Change]:
        """Return the changes to the worse that are shown and of at least this share, the greatest first."""
        worse = [change for change in self.changes if change.shown and change.worse_by >= least]
        return sorted(worse, key=lambda change: change.worse_by, reverse=True)

    def undecided(self, least: float) -> list[Change]:
        """Return the changes over the curve that neither show a regression of this share nor rule it out."""
        return [
            change
            for change in self.curves
            if not (change.shown and change.worse_by >= least)
            and ((most := change.worse_by_at_most) is None or most >= least)
        ]


def compare_runs(base: Analysis, new: Analysis) -> RunComparison:
    """Compare the servers that both runs have, at the points that both have, and over all of these.

    Over the curve the unit is the trial: the geometric mean over the points that are usable in every trial of
    both runs. The runs' trials were not taken in blocks with one another, so they are independent samples.
    The p-values are adjusted by Holm's method, for all curves together and for all points together, and where
    loads have several operations, for these; each has an equal part of the error rate: of comparisons of
    equal runs, at most 5 % show any change.
    """
    sections = Sections([*base.not_computed, *new.not_computed])
    in_both = [point for point in base.points if point in new.points]
    found = _all_changes(sections, base, new, lambda measure: _changes(base, new, measure, in_both))
    lacking = is_imported(base.run.conditions), is_imported(new.run.conditions)
    conditions = condition_differences(base.run.conditions, new.run.conditions)
    return RunComparison(
        conditions=tuple(between_reported(conditions, lacking)),
        servers={
            name: tuple(
                between_reported(server_differences(server.facts, new.run.servers[name].facts), lacking)
            )
            for name, server in base.run.servers.items()
            if name in new.run.servers
        },
        curves=found.curves,
        points=found.points if len(in_both) > 1 else (),
        operations=found.operations,
        servers_in_one=tuple(sorted({*base.measured_servers} ^ {*new.measured_servers})),
        points_in_one=tuple(point for point in (*base.points, *new.points) if point not in in_both),
        lost=sections.get("what has become unusable", partial(lost, base, new), ()),
        not_computed=tuple(sections.not_computed),
    )


def compare_arms(analysis: Analysis, base: str, head: str) -> RunComparison:
    """Compare two servers of one run, whose trials were taken in turn, as they are ranked: within blocks.

    The p-values are adjusted as those of two runs are.
    """
    sections = Sections(analysis.not_computed)
    found = _all_changes(
        sections, analysis, analysis, lambda measure: _changes_of_arms(analysis, measure, base, head)
    )
    facts = [analysis.run.servers[name].facts for name in (base, head)]
    return RunComparison(
        conditions=(),
        servers={head: tuple(server_differences(*facts))},
        curves=found.curves,
        points=found.points if len(analysis.points) > 1 else (),
        operations=found.operations,
        servers_in_one=(),
        points_in_one=(),
        lost=sections.get("what has become unusable", partial(lost_in_head, analysis, base, head), ()),
        not_computed=tuple(sections.not_computed),
        arms=(base, head),
    )


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of a comparison, adjusted in families."""

    curves: tuple[Change, ...]
    points: tuple[Change, ...]
    operations: tuple[Change, ...]


def _all_changes(
    sections: Sections, base: Analysis, new: Analysis, changes_of: Callable[[Measure], list[Change]]
) -> _Changes:
    nothing: list[Measure] = []
    compared = sections.get("what is compared", lambda: list(_compared(base, new)), nothing)
    changes, operations = (
        [
            change
            for measure in some
            for change in sections.several(f"the changes of {measure.title}", partial(changes_of, measure))
        ]
        for some in (
            [one for one in compared if one.operation is None],
            [one for one in compared if one.operation is not None],
        )
    )
    families = 3 if operations else 2
    return _Changes(
        curves=_adjusted([change for change in changes if change.point is None], families),
        points=_adjusted([change for change in changes if change.point is not None], families),
        operations=_adjusted([change for change in operations if change.point is None], families),
    )


def _changes_of_arms(analysis: Analysis, measure: Measure, base: str, head: str) -> list[Change]:
    """Return the changes of a measure over the curve, and at each point."""
    _, logs = usable_logs(analysis.curves, measure)
    places: list[tuple[Point | None, Logs]] = [
        (None, logs),
        *((point, at_point(logs, place)) for place, point in enumerate(analysis.points)),
    ]
    return [
        Change(head, measure, point, ratio)
        for point, values in places
        if (ratio := paired_ratio(values, head, base)) is not None
    ]


def _compared(base: Analysis, new: Analysis) -> Iterator[Measure]:
    """Yield the measures of any run, those of TLS and HTTP/2, and those of operations that both runs have."""
    yield from (measures(base.load_kind)[name] for name in COMPARED)
    of_new = protocol_measures_in(new.curves)
    yield from (one for one in protocol_measures_in(base.curves) if one.better is not None and one in of_new)
    in_both = [label for label in base.labels if label in new.labels]
    yield from (latency_of(base.load_kind, label, name) for label in in_both for name in OF_OPERATIONS)


def _changes(base: Analysis, new: Analysis, measure: Measure, in_both: Sequence[Point]) -> list[Change]:
    """Return the changes of a measure over the curve, and at each point that both runs have."""
    columns = [[one.points.index(point) for point in in_both] for one in (new, base)]
    of_new, of_base = (usable_logs(one.curves, measure)[1] for one in (new, base))
    changes: list[Change] = []
    for server in of_base:
        if server in of_new:
            tables = [of_one[server][:, at] for of_one, at in zip((of_new, of_base), columns, strict=True)]
            changes += [
                *_at_points(server, measure, tables, in_both),
                *_over_curve(server, measure, tables),
            ]
    return changes


def _at_points(
    server: str, measure: Measure, tables: Sequence[Array], points: Sequence[Point]
) -> Iterator[Change]:
    """Yield the changes at each point; a table has the logarithms of a run, a row for each trial."""
    for place, point in enumerate(points):
        samples = [np.exp(table[:, place][np.isfinite(table[:, place])]).tolist() for table in tables]
        if all(samples):
            yield Change(server, measure, point, IndependentRatio.of(*samples))


def _over_curve(server: str, measure: Measure, tables: Sequence[Array]) -> Iterator[Change]:
    """Yield the change over the points that every trial of both runs has."""
    trials = [table[np.isfinite(table).any(axis=1)] for table in tables]
    everywhere = np.isfinite(np.vstack(trials)).all(axis=0)
    if all(map(len, trials)) and everywhere.any():
        yield Change(
            server,
            measure,
            None,
            IndependentRatio.of(*(np.exp(table[:, everywhere].mean(axis=1)).tolist() for table in trials)),
        )


def _adjusted(changes: Sequence[Change], families: int) -> tuple[Change, ...]:
    """Return the changes with their p-values adjusted for all of them, at an equal part of the error rate."""
    tested = [(index, p) for index, change in enumerate(changes) if (p := change.ratio.p_value) is not None]
    adjusted = dict(zip((index for index, _ in tested), holm_adjusted([p for _, p in tested]), strict=True))
    return tuple(
        replace(change, adjusted_p_value=min(1.0, families * adjusted[index]))
        if index in adjusted
        else change
        for index, change in enumerate(changes)
    )
