"""What a database's load consists of: throughput and latency of each kind of operation, and of loading."""

from collections.abc import Sequence

from loadcurve.result.folder import Run
from loadcurve.result.load import Operation
from loadcurve.result.records import PointRecord
from loadcurve.stats.curves import LatencyStatistic

OPERATION_STATISTICS: tuple[LatencyStatistic, ...] = ("p50", "p99", "max")
"""The statistics of latency that are told by kind of operation."""


def kinds_of(run: Run) -> list[str]:
    """Return the kinds of operations of a run on databases, such as ``read``; none of one on web servers."""
    if not run.words.of_database:
        return []
    return list(dict.fromkeys(one.operation for record in run.points for one in record.load.operations))


def operation_rps(record: PointRecord, kind: str) -> float | None:
    """Return how many operations of a kind were answered per second: their share of the throughput."""
    throughput_rps, answered = record.load.rate_rps.answered, _answered(record.load.operations)
    one = _of_kind(record, kind)
    if throughput_rps is None or one is None or not answered:
        return None
    return throughput_rps * one.answered / answered


def operation_latency_ms(record: PointRecord, kind: str, statistic: LatencyStatistic) -> float | None:
    """Return a statistic of the latency of a kind of operation; ``None`` where it was not measured."""
    one = _of_kind(record, kind)
    value: float | None = None if one is None else getattr(one.latency_ms, statistic)
    return value


def loading_rps(record: PointRecord) -> float | None:
    """Return how many records were loaded per second before a point; ``None`` where none were."""
    return record.loading.rate_rps.answered if record.loading else None


def _of_kind(record: PointRecord, kind: str) -> Operation | None:
    return next((one for one in record.load.operations if one.operation == kind), None)


def _answered(operations: Sequence[Operation]) -> int:
    return sum(one.answered for one in operations)
