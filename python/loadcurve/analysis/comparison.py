"""Two runs of the same study, or two servers of one run: what became faster, and what slower."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.curves import Curve, at_point, protocol_measures_in, usable_logs
from loadcurve.analysis.faults import FaultsCompared, compared_faults
from loadcurve.analysis.missing import MissingFigure, Side, missing_figures
from loadcurve.analysis.operation_errors import OperationErrors, errors_of_load
from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.analysis.trust import Trust, trust_of
from loadcurve.analysis.unusable import Unusable, lost, lost_in_head, without_usable_figures
from loadcurve.loads.values import Point
from loadcurve.result.differences import (
    ConditionDifference,
    Difference,
    between_reported,
    condition_differences,
    is_imported,
    server_differences,
)
from loadcurve.result.measures import Measure, measures, point_key
from loadcurve.result.operations import measure_of
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.paired import Array, Logs
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_steps, paired_ratio

COMPARED = ("throughput", "p50", "p99", "cpu_per_request_us", "memory_mean_mib")
"""The measures that two runs of any kind are compared by."""
OF_OPERATIONS = ("throughput", "p50", "p99")
"""The measures by which each operation is compared, that is each request of a load with several."""


MISSING, TRUST, UNUSABLE = "what has no ratio", "which points are suspect", "what has no usable figure"
ERRORS, FAULTS = "the errors of requests", "which trials failed"
"""What a fault leaves out, in words."""


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
    missing: tuple[MissingFigure, ...] = ()
    """What has no ratio, over the whole curve and at points, and why."""
    trust: tuple[Trust, ...] = ()
    """How far the figures of each side can be trusted, where any is suspect or invalid."""
    unusable: tuple[Unusable, ...] = ()
    """Servers of the base without any usable figure."""
    not_computed: tuple[NotComputed, ...] = ()
    """What a fault of Loadcurve left out, of the runs' analyses and of the changes."""
    resources: tuple[Change, ...] = ()
    """What an answer takes on both sides, over the whole curve, where the records have it."""
    errors: tuple[OperationErrors, ...] = ()
    """Those of each whole load and of each operation that both sides have, over the points that both have."""
    faults: tuple[FaultsCompared, ...] = ()
    """Trials of both sides that failed or have invalid points, where there are any."""
    arms: tuple[str, str] | None = None
    """The base and the head where both are servers of one run, measured in turn; ``None`` for two runs."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """All of them."""
        return (*self.curves, *self.points, *self.operations)

    @property
    def lost_figures(self) -> tuple[MissingFigure, ...]:
        """What the base has and the new side has not, at points where it has other figures."""
        nowhere = {(one.server, point_key(point)) for one in self.lost for point in one.points}
        lost_servers = {one.server for one in self.lost}
        return tuple(
            one
            for one in self.missing
            if one.is_lost
            and (
                one.server not in lost_servers
                if one.point is None
                else (one.server, point_key(one.point)) not in nowhere
            )
        )

    def regressions(self, least: float) -> list[Change]:
        """Return the changes to the worse that are shown and of at least this share, the greatest first."""
        worse = [change for change in self.changes if change.outcome(least) is Outcome.FAILED]
        return sorted(worse, key=lambda change: change.worse_by, reverse=True)

    def undecided(self, least: float) -> list[Change]:
        """Return the changes over the curve that neither show a regression of this share nor rule it out.

        Where no point is usable in every trial, a measure has no change over the curve: its points count.
        """
        whole = {(one.server, one.measure.name) for one in self.curves}
        at_points = (one for one in self.points if (one.server, one.measure.name) not in whole)
        return [one for one in (*self.curves, *at_points) if one.outcome(least) is Outcome.UNDECIDED]


def compare_runs(base: Analysis, new: Analysis) -> RunComparison:
    """Compare the servers that both runs have, at the points that both have, and over all of these.

    Over the curve the unit is the trial: the geometric mean over the points that are usable in every trial of
    both runs. The runs' trials were not taken in blocks with one another, so they are independent samples.
    Each measure of each server is a question, as in a ranking: over the curve its interval of 95 % decides.
    Its points are adjusted by Holm's method for their number, and so are the operations of a load, and their
    intervals have the confidence at which they exclude 1 exactly where that shows a change. Of equal servers
    at most 5 % show a change of one measure over the curve, and at most 5 % at any of its points.
    """
    sections = Sections([*base.not_computed, *new.not_computed])
    in_both = [point for point in base.points if point in new.points]
    found = _all_changes(sections, base, new, lambda measure: _changes(base, new, measure, in_both))
    lacking = is_imported(base.run.conditions), is_imported(new.run.conditions)
    sides = [
        (Side("the base run", base, name), Side("the new run", new, name))
        for name, server in base.run.servers.items()
        if server.status == "found"
    ]
    conditions = condition_differences(base.run.conditions, new.run.conditions)
    return RunComparison(
        conditions=tuple(between_reported(conditions, lacking)),
        servers={
            name: tuple(
                between_reported(
                    server_differences(server.facts, new.run.servers[name].facts),
                    # Some facts are known of a server that has started alone.
                    (
                        lacking[0] or name not in base.measured_servers,
                        lacking[1] or name not in new.measured_servers,
                    ),
                )
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
        # What another tool does not report is not lost.
        missing=() if any(lacking) else sections.get(MISSING, partial(_missing, sides, found, in_both), ()),
        trust=sections.get(TRUST, lambda: trust_of([side for pair in sides for side in pair], in_both), ()),
        unusable=sections.get(
            UNUSABLE, lambda: without_usable_figures(base, [pair[0].server for pair in sides]), ()
        ),
        errors=sections.get(ERRORS, lambda: _errors(sides, _labels_in_both(base, new), in_both), ()),
        faults=sections.get(FAULTS, lambda: tuple(compared_faults(sides, in_both)), ()),
        not_computed=tuple(sections.not_computed),
    )


def compare_arms(analysis: Analysis, base: str, head: str) -> RunComparison:
    """Compare two servers of one run, whose trials were taken in turn, as they are ranked: within blocks.

    The intervals are those that :func:`compare_runs` has.
    """
    sections = Sections(analysis.not_computed)
    found = _all_changes(
        sections, analysis, analysis, lambda measure: _changes_of_arms(analysis, measure, base, head)
    )
    facts = [analysis.run.servers[name].facts for name in (base, head)]
    sides = Side(base, analysis, base), Side(head, analysis, head)
    return RunComparison(
        conditions=(),
        servers={head: tuple(server_differences(*facts))},
        curves=found.curves,
        points=found.points if len(analysis.points) > 1 else (),
        operations=found.operations,
        servers_in_one=(),
        points_in_one=(),
        lost=sections.get("what has become unusable", partial(lost_in_head, analysis, base, head), ()),
        missing=sections.get(MISSING, partial(_missing, [sides], found, analysis.points), ()),
        trust=sections.get(TRUST, partial(trust_of, sides, analysis.points), ()),
        unusable=sections.get(UNUSABLE, partial(without_usable_figures, analysis, [base]), ()),
        errors=sections.get(ERRORS, partial(_errors, [sides], analysis.labels, analysis.points), ()),
        faults=sections.get(FAULTS, lambda: tuple(compared_faults([sides], analysis.points)), ()),
        not_computed=tuple(sections.not_computed),
        arms=(base, head),
    )


def _errors(
    sides: Sequence[tuple[Side, Side]], labels: Sequence[str], points: Sequence[Point]
) -> tuple[OperationErrors, ...]:
    return tuple(errors_of_load(sides, labels, points))


@dataclass(frozen=True, slots=True)
class _Changes:
    """The changes of a comparison, those of points and operations adjusted for their number."""

    curves: tuple[Change, ...]
    points: tuple[Change, ...]
    operations: tuple[Change, ...]
    compared: tuple[Measure, ...]
    """The measures of the whole load that both sides are compared by."""


def _missing(
    sides: Sequence[tuple[Side, Side]], found: _Changes, points: Sequence[Point]
) -> tuple[MissingFigure, ...]:
    return tuple(missing_figures(sides, found.compared, points, (*found.curves, *found.points)))


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

    def adjusted(of_points: Sequence[Change]) -> tuple[Change, ...]:
        # Without the adjustment a change may be shown by chance, so there is none.
        return sections.get("the changes at points", partial(_adjusted, of_points), ())

    return _Changes(
        curves=tuple(change for change in changes if change.point is None),
        points=adjusted([change for change in changes if change.point is not None]),
        operations=adjusted([change for change in operations if change.point is None]),
        compared=tuple(one for one in compared if one.operation is None),
    )


def _changes_of_arms(analysis: Analysis, measure: Measure, base: str, head: str) -> list[Change]:
    """Return the changes of a measure over the curve, and at each point."""
    _, logs = usable_logs(analysis.curves, measure)
    return _within_blocks(
        measure,
        base,
        head,
        [(None, logs), *((point, at_point(logs, place)) for place, point in enumerate(analysis.points))],
    )


def over_blocks(found: Sequence[Curve], measure: Measure, base: str, head: str) -> list[Change]:
    """Return the change of a measure between two servers of a run, over the whole curve; none without one."""
    return _within_blocks(measure, base, head, [(None, usable_logs(found, measure)[1])])


def _within_blocks(
    measure: Measure, base: str, head: str, places: Sequence[tuple[Point | None, Logs]]
) -> list[Change]:
    return [
        Change(head, measure, point, ratio, values=_values(values[base], values[head]))
        for point, values in places
        if base in values and head in values and (ratio := paired_ratio(values, head, base)) is not None
    ]


def _values(base: Array, head: Array) -> tuple[float, float] | None:
    """Return the geometric means of one point over the blocks that both have; ``None`` for several points."""
    if base.shape[1] != 1:
        return None
    both = np.isfinite(base) & np.isfinite(head)
    return float(np.exp(base[both].mean())), float(np.exp(head[both].mean()))


def _compared(base: Analysis, new: Analysis) -> Iterator[Measure]:
    """Yield the measures of any run, those of TLS and HTTP/2, and those of operations that both runs have."""
    yield from (measures(base.load_kind)[name] for name in COMPARED)
    of_new = protocol_measures_in(new.curves)
    yield from (one for one in protocol_measures_in(base.curves) if one.better is not None and one in of_new)
    in_both = _labels_in_both(base, new)
    yield from (measure_of(base.load_kind, label, name) for label in in_both for name in OF_OPERATIONS)


def _labels_in_both(base: Analysis, new: Analysis) -> list[str]:
    return [label for label in base.labels if label in new.labels]


def _changes(base: Analysis, new: Analysis, measure: Measure, in_both: Sequence[Point]) -> list[Change]:
    """Return the changes of a measure over the curve, and at each point that both runs have."""
    return _between((base.curves, base.points), (new.curves, new.points), measure, in_both)


def changes_between(base: Sequence[Curve], new: Sequence[Curve], measure: Measure) -> list[Change]:
    """Return the changes of a measure between two runs, over the curve and at the points that both have."""
    points, in_both = _points_of_both(base, new)
    return _between((base, points[0]), (new, points[1]), measure, in_both)


def _between(
    base: tuple[Sequence[Curve], Sequence[Point]],
    new: tuple[Sequence[Curve], Sequence[Point]],
    measure: Measure,
    in_both: Sequence[Point],
) -> list[Change]:
    changes: list[Change] = []
    for server, tables in _logs_of_both(base, new, measure, in_both):
        changes += [*_at_points(server, measure, tables, in_both), *_over_curve(server, measure, tables)]
    return changes


def outside_ratios(
    base: Sequence[Curve], new: Sequence[Curve], measure: Measure
) -> dict[str, tuple[Point, ...]]:
    """Return the points of each server with figures that its ratio over the curve leaves out.

    A trial of one of the runs has no usable figure there.
    """
    points, in_both = _points_of_both(base, new)
    found = {}
    for server, tables in _logs_of_both((base, points[0]), (new, points[1]), measure, in_both):
        trials, everywhere = _in_every_trial(tables)
        anywhere = np.asarray(np.isfinite(np.vstack(trials)).any(axis=0))
        found[server] = tuple(
            point
            for point, is_known, is_used in zip(in_both, anywhere, everywhere, strict=True)
            if is_known and not is_used
        )
    return found


def _points_of_both(base: Sequence[Curve], new: Sequence[Curve]) -> tuple[list[list[Point]], list[Point]]:
    """Return the points of each run, and those that both have."""
    points = [[at.point for at in side[0].points] if side else [] for side in (base, new)]
    return points, [point for point in points[0] if point in points[1]]


def _logs_of_both(
    base: tuple[Sequence[Curve], Sequence[Point]],
    new: tuple[Sequence[Curve], Sequence[Point]],
    measure: Measure,
    in_both: Sequence[Point],
) -> Iterator[tuple[str, list[Array]]]:
    """Yield each server of both runs with its logarithms in the new one and in the base, trials by points."""
    columns = [[points.index(point) for point in in_both] for _, points in (new, base)]
    of_new, of_base = (usable_logs(found, measure)[1] for found, _ in (new, base))
    for server in of_base:
        if server in of_new:
            yield (
                server,
                [of_one[server][:, at] for of_one, at in zip((of_new, of_base), columns, strict=True)],
            )


def _in_every_trial(tables: Sequence[Array]) -> tuple[list[Array], NDArray[np.bool_]]:
    """Return the trials of each run that have any figure, and whether all of these have one at each point."""
    trials = [table[np.isfinite(table).any(axis=1)] for table in tables]
    return trials, np.asarray(np.isfinite(np.vstack(trials)).all(axis=0))


def _at_points(
    server: str, measure: Measure, tables: Sequence[Array], points: Sequence[Point]
) -> Iterator[Change]:
    """Yield the changes at each point; a table has the logarithms of a run, a row for each trial."""
    for place, point in enumerate(points):
        samples = [np.exp(table[:, place][np.isfinite(table[:, place])]).tolist() for table in tables]
        if all(samples):
            new, base = (float(np.exp(np.log(one).mean())) for one in samples)
            yield Change(server, measure, point, IndependentRatio.of(*samples), values=(base, new))


def _over_curve(server: str, measure: Measure, tables: Sequence[Array]) -> Iterator[Change]:
    """Yield the change over the points that every trial of both runs has."""
    trials, everywhere = _in_every_trial(tables)
    if all(map(len, trials)) and everywhere.any():
        samples = [np.exp(table[:, everywhere].mean(axis=1)).tolist() for table in trials]
        new, base = (float(np.exp(np.log(one).mean())) for one in samples)
        values = (base, new) if tables[0].shape[1] == 1 else None
        yield Change(server, measure, None, IndependentRatio.of(*samples), values=values)


def _adjusted(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes, those of one server and measure adjusted for their number."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, change in enumerate(changes):
        measure = change.measure.column_of_operation or change.measure.column
        if change.ratio.p_value is not None:
            families.setdefault((change.server, measure), []).append(index)
    steps: dict[int, int] = {}
    for family in families.values():
        p_values = [p for index in family if (p := changes[index].ratio.p_value) is not None]
        steps |= zip(family, holm_steps(p_values, ERROR_RATE), strict=True)
    return tuple(replace(change, step=steps.get(index, 1)) for index, change in enumerate(changes))
