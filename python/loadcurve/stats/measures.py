"""Measures: the figures of one trial at one point that servers are compared by, under their names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loadcurve.result.folder import Run
from loadcurve.result.records import PointRecord
from loadcurve.stats.curves import (
    LATENCY_STATISTICS,
    LatencyStatistic,
    PointKey,
    ResourceStatistic,
    is_usable,
    point_key,
    resource,
)

MeasureName = Literal["throughput", LatencyStatistic, ResourceStatistic]


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that one trial has at one point."""

    name: MeasureName
    title: str
    """As it stands in a sentence."""
    better: Literal["higher", "lower"] | None
    """Which of two values is the better one; ``None`` where neither is."""
    value: Callable[[PointRecord], float | None]
    """The figure of a trial; ``None`` where it was not measured."""


def _latency(name: LatencyStatistic) -> Measure:
    title = {"mean": "mean latency", "max": "longest latency"}.get(name, name.replace("_", "."))

    def value(trial: PointRecord) -> float | None:
        figure: float | None = getattr(trial.load.latency_ms, name)
        return figure

    return Measure(name, title, "lower", value)


def _resource(name: ResourceStatistic, title: str, better: Literal["lower"] | None) -> Measure:
    return Measure(name, title, better, lambda trial: resource(trial, name))


MEASURES: dict[MeasureName, Measure] = {
    measure.name: measure
    for measure in (
        Measure("throughput", "throughput", "higher", lambda trial: trial.load.rate_rps.answered),
        *(_latency(name) for name in LATENCY_STATISTICS),
        _resource("cpu_per_request_us", "CPU time per request", "lower"),
        _resource("cpu_share", "CPUs in use", None),
        _resource("memory_mean_mib", "mean memory", "lower"),
        _resource("memory_peak_mib", "peak memory", "lower"),
        _resource("processes_max", "number of processes", None),
    )
}

Values = dict[str, dict[int, dict[PointKey, float]]]
"""A measure by server, block and point; what is not there was not measured, or is not usable."""


def usable_values(run: Run, measure: Measure) -> Values:
    """Return the measure's positive values of all usable points, by server, block and point.

    A server that was found and has none is there without blocks. Zero has no ratio to anything, so a figure
    that is too small to be told from it counts as not measured.
    """
    values: Values = {name: {} for name, server in run.run.servers.items() if server.status == "found"}
    for record in run.points:
        value = measure.value(record) if is_usable(record) else None
        if value:
            values[record.server].setdefault(record.block, {})[point_key(record.point)] = value
    return values


def at_point(values: Values, point: PointKey) -> Values:
    """Return the values at one point alone."""
    return {
        server: {block: {point: points[point]} for block, points in blocks.items() if point in points}
        for server, blocks in values.items()
    }
