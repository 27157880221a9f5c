"""Two runs of the same study, compared server by server: what became faster, and what slower."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loadcurve.result.differences import (
    ConditionDifference,
    Difference,
    condition_differences,
    server_differences,
)
from loadcurve.result.folder import Run
from loadcurve.result.records import Point
from loadcurve.stats.curves import PointKey, point_key
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.measures import MEASURES, Measure, MeasureName, usable_values
from loadcurve.stats.ranking import ERROR_RATE, holm_adjusted

COMPARED: tuple[MeasureName, ...] = ("throughput", "p50", "p99", "cpu_per_request_us", "memory_mean_mib")
"""The measures that two runs are compared by."""

Blocks = Mapping[int, Mapping[PointKey, float]]


@dataclass(frozen=True, slots=True)
class Change:
    """One measure of one server in the new run over that in the base run."""

    server: str
    measure: Measure
    point: Point | None
    """``None`` for the whole curve."""
    ratio: IndependentRatio
    adjusted_p_value: float | None = None
    """Adjusted for all changes of a comparison; ``None`` where a run has one usable trial only."""

    @property
    def shown(self) -> bool:
        """Whether chance alone does not explain it."""
        return self.adjusted_p_value is not None and self.adjusted_p_value <= ERROR_RATE

    @property
    def worse_by(self) -> float:
        """By which share the new run is worse, such as 0.05 for 5 %; negative where it is better."""
        change = math.expm1(self.ratio.logarithm)
        return -change if self.measure.better == "higher" else change


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What two runs have in common, where they differ, and what only one of them has."""

    conditions: tuple[ConditionDifference, ...]
    """Differences that leave open whether it is the servers that differ."""
    servers: Mapping[str, tuple[Difference, ...]]
    """How the servers of both runs differ apart from what was measured."""
    curves: tuple[Change, ...]
    points: tuple[Change, ...]
    servers_in_one: tuple[str, ...]
    """Servers with usable points in one of the runs only."""
    points_in_one: tuple[Point, ...]
    """Points that only one of the runs has."""

    def regressions(self, least: float) -> list[Change]:
        """Return the changes to the worse that are shown and of at least this share, the greatest first."""
        worse = [
            change for change in (*self.curves, *self.points) if change.shown and change.worse_by >= least
        ]
        return sorted(worse, key=lambda change: change.worse_by, reverse=True)


def compare_runs(base: Run, new: Run) -> RunComparison:
    """Compare the servers that both runs have, at the points that both have, and over all of these.

    Over the curve the unit is the trial: the geometric mean over the points that are usable in every trial of
    both runs. The runs' trials were not taken in blocks with one another, so they are independent samples.
    The p-values are adjusted by Holm's method, for all curves together at half the error rate and for all
    points together at the other half: of comparisons of equal runs, at most 5 % show any change.
    """
    curves: list[Change] = []
    points: list[Change] = []
    in_both = _common_points(base, new)
    for measure in map(MEASURES.__getitem__, COMPARED):
        base_values, new_values = usable_values(base, measure), usable_values(new, measure)
        for server in base_values:
            base_blocks, new_blocks = base_values[server], new_values.get(server, {})
            points += _at_points(server, measure, base_blocks, new_blocks, in_both)
            curves += _over_curve(server, measure, base_blocks, new_blocks)
    return RunComparison(
        conditions=tuple(condition_differences(base, new)),
        servers={
            name: tuple(server_differences(server, new.run.servers[name]))
            for name, server in base.run.servers.items()
            if name in new.run.servers
        },
        curves=_adjusted(curves),
        points=_adjusted(points) if len(in_both) > 1 else (),
        servers_in_one=tuple(sorted(_measured_servers(base) ^ _measured_servers(new))),
        points_in_one=tuple(
            point for point in (*base.sweep_points, *new.sweep_points) if point not in in_both
        ),
    )


def _at_points(
    server: str, measure: Measure, base: Blocks, new: Blocks, points: Sequence[Point]
) -> Iterator[Change]:
    for point in points:
        key = point_key(point)
        samples = [[values[key] for values in blocks.values() if key in values] for blocks in (new, base)]
        if all(samples):
            yield Change(server, measure, point, IndependentRatio.of(*samples))


def _over_curve(server: str, measure: Measure, base: Blocks, new: Blocks) -> Iterator[Change]:
    everywhere = _points_of_every_trial(base, new)
    if everywhere:
        samples = [
            [_geometric_mean([values[key] for key in everywhere]) for values in blocks.values()]
            for blocks in (new, base)
        ]
        yield Change(server, measure, None, IndependentRatio.of(*samples))


def _points_of_every_trial(base: Blocks, new: Blocks) -> list[PointKey]:
    """Return the points that every trial of both runs has; none where a run has no trial."""
    if not base or not new:
        return []
    trials = [set(values) for values in (*base.values(), *new.values())]
    return sorted(set.intersection(*trials))


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _adjusted(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes with their p-values adjusted for all of them, at half of the error rate."""
    tested = [(index, p) for index, change in enumerate(changes) if (p := change.ratio.p_value) is not None]
    adjusted = dict(zip((index for index, _ in tested), holm_adjusted([p for _, p in tested]), strict=True))
    return tuple(
        replace(change, adjusted_p_value=min(1.0, 2 * adjusted[index])) if index in adjusted else change
        for index, change in enumerate(changes)
    )


def _common_points(base: Run, new: Run) -> list[Point]:
    return [point for point in base.sweep_points if point in new.sweep_points]


def _measured_servers(run: Run) -> set[str]:
    return {record.server for record in run.points}
