"""Curves: for every server and point, estimates over the trials.

A percentile is computed within each trial, from that trial's merged histogram, and its estimate is a
geometric mean over the trials with an interval over the trials: it says where the percentile of a fresh start
of the server would lie. It is not the percentile of all requests together: that comes from merging the
trials' histograms and has no interval.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.result.folder import Run
from loadcurve.result.records import Point, PointRecord
from loadcurve.stats.interval import Estimate, geometric_interval, mean_interval

LatencyStatistic = Literal["mean", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max"]
LATENCY_STATISTICS: tuple[LatencyStatistic, ...] = (
    "mean", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max",
)  # fmt: skip

ResourceStatistic = Literal[
    "cpu_share", "cpu_per_request_us", "memory_mean_mib", "memory_peak_mib", "processes_max"
]
RESOURCE_STATISTICS: tuple[ResourceStatistic, ...] = (
    "cpu_share", "cpu_per_request_us", "memory_mean_mib", "memory_peak_mib", "processes_max",
)  # fmt: skip
"""What the server used: CPUs, processor time for each answer, resident memory, and most processes at once."""
BYTES_PER_MIB = 1 << 20

VerdictStatus = Literal["valid", "suspect", "invalid"]
_SEVERITY: dict[VerdictStatus, int] = {"valid": 0, "suspect": 1, "invalid": 2}


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One server at one point, over its trials.

    The estimates are over ``usable``, the trials whose verdict is not invalid; an estimate is ``None`` where
    none of them measured the quantity, and its ``n`` is smaller than their number where only some did.
    """

    point: Point
    trials: list[PointRecord]
    usable: list[PointRecord]
    throughput_rps: Estimate | None
    latency_ms: dict[LatencyStatistic, Estimate | None]
    resources: dict[ResourceStatistic, Estimate | None]

    @property
    def latency_max_ms(self) -> float | None:
        """The longest latency of any usable trial: a maximum merges by taking the greatest."""
        return max((m for trial in self.usable if (m := trial.load.latency_ms.max) is not None), default=None)

    @property
    def failed_requests(self) -> int | None:
        """Failed requests of all trials together, or ``None`` where no trial measured this point."""
        return sum(trial.load.requests.failed for trial in self.trials) if self.trials else None

    @property
    def verdict(self) -> VerdictStatus | None:
        """The worst verdict of any trial, or ``None`` where no trial measured this point."""
        return max(
            (trial.load.verdict.status for trial in self.trials), key=_SEVERITY.__getitem__, default=None
        )


@dataclass(frozen=True, slots=True)
class Curve:
    """One server along the sweep; every planned point is present, measured or not."""

    server: str
    points: list[CurvePoint]


def curves(run: Run) -> list[Curve]:
    """Return the curve of every server that was found, in the order of the study."""
    measured: dict[tuple[str, PointKey], list[PointRecord]] = {}
    for record in run.points:
        measured.setdefault((record.server, point_key(record.point)), []).append(record)
    return [
        Curve(
            server=name,
            points=[
                _curve_point(point, measured.get((name, point_key(point)), [])) for point in run.sweep_points
            ],
        )
        for name, server in run.run.servers.items()
        if server.status == "found"
    ]


PointKey = tuple[tuple[str, float], ...]


def point_key(point: Point) -> PointKey:
    """Return the settings of a point as something hashable; the order of the settings does not matter."""
    return tuple(sorted(point.items()))


def _curve_point(point: Point, trials: Sequence[PointRecord]) -> CurvePoint:
    usable = [trial for trial in trials if is_usable(trial)]
    latencies = [trial.load.latency_ms for trial in usable]
    return CurvePoint(
        point=point,
        trials=list(trials),
        usable=usable,
        throughput_rps=estimate_over_trials(trial.load.rate_rps.answered for trial in usable),
        latency_ms={
            name: estimate_over_trials(getattr(latency, name) for latency in latencies)
            for name in LATENCY_STATISTICS
        },
        resources={
            name: estimate_over_trials(resource(trial, name) for trial in usable)
            for name in RESOURCE_STATISTICS
        },
    )


def is_usable(record: PointRecord) -> bool:
    """Say whether a point of a trial may enter an estimate: its verdict is not invalid."""
    return record.load.verdict.status != "invalid"


def resource(trial: PointRecord, name: ResourceStatistic) -> float | None:
    """Return what the server used in one trial; ``None`` where the probe did not measure it."""
    used = trial.probe.server
    if used is None:
        return None
    match name:
        case "cpu_share":
            return used.cpu_share
        case "cpu_per_request_us":
            return used.cpu_per_request_us
        case "memory_mean_mib":
            return None if used.memory_mean_bytes is None else used.memory_mean_bytes / BYTES_PER_MIB
        case "memory_peak_mib":
            return None if used.memory_peak_bytes is None else used.memory_peak_bytes / BYTES_PER_MIB
        case "processes_max":
            return None if used.processes is None else used.processes.max


def estimate_over_trials(values: Iterable[float | None]) -> Estimate | None:
    """Return the estimate from one figure per trial, ``None`` standing where a trial has not measured it.

    It is the geometric mean. The arithmetic mean is taken where a figure is zero, as processor time is where
    it is less than the kernel can tell. ``None`` where no trial has measured it.
    """
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    interval = geometric_interval if min(measured) > 0 else mean_interval
    return interval(measured)
