"""The operations of a load: requests by their labels, such as ``GET /json``, or kinds such as ``read``."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from loadcurve.loads.kinds import LoadKind
from loadcurve.result.load import LoadResult, Operation
from loadcurve.result.measures import LATENCIES, THROUGHPUT, Measure, statistic_of, wrong_answers
from loadcurve.result.records import PointRecord

STATISTICS = ("p50", "p99", "max")
"""The statistics of latency that are given by operation."""
MOST_MEASURED = 20
"""Of more requests, those that were answered most often have curves; records have the figures of all."""
_READ_MODIFY_WRITE = "read_modify_write"
"""What YCSB and go-ycsb call a read and an update that are one operation; they list its parts once more."""


def operations_of(load: LoadResult) -> list[Operation]:
    """Return the operations of a load that have their own figures.

    Another generator counts all requests under the name of the first: these are no operation.
    """
    if load.tool is not None and len(load.operations) == 1 and not load.load.kind.by_operation:
        return []
    return load.operations


def operation_of(load: LoadResult, label: str) -> Operation | None:
    """Return one operation of a load; ``None`` where the load has none of this label."""
    return next((one for one in operations_of(load) if one.operation == label), None)


def answered_once(load: LoadResult) -> int:
    """Return how many operations of all kinds were answered, without those that are parts of others."""
    others = load.tool is not None and load.load.kind.by_operation
    whole = sum(one.answered for one in load.operations if others and one.operation == _READ_MODIFY_WRITE)
    return sum(one.answered for one in load.operations) - 2 * whole


def labels_of(loads: Iterable[LoadResult]) -> list[str]:
    """Return the labels of all operations, in the order in which they first appear."""
    return list(dict.fromkeys(one.operation for load in loads for one in operations_of(load)))


def measured_labels(kind: LoadKind, records: Sequence[PointRecord]) -> list[str]:
    """Return the labels that have curves: every kind of operation, or the most frequent of several requests.

    Where no load has more than one request, its figures are those of the load.
    """
    loads = [record.load for record in records]
    if kind.by_operation:
        return labels_of(loads)
    several = [load for load in loads if len(operations_of(load)) > 1]
    answered = Counter[str]()
    for load in several:
        answered.update({one.operation: one.ended for one in load.operations})
    most = {label for label, _ in answered.most_common(MOST_MEASURED)}
    return [label for label in labels_of(several) if label in most]


def operation_measures(kind: LoadKind, label: str) -> list[Measure]:
    """Return the measures of one operation; the throughputs of all of them add up to the load's."""
    errors = [] if kind.by_operation else [errors_of(label)]
    return [throughput_of(kind, label), *(latency_of(kind, label, one) for one in STATISTICS), *errors]


def measure_of(kind: LoadKind, label: str, name: str) -> Measure:
    """Return an operation's throughput, its share of errors, or a statistic of its latency.

    ``name`` is that of the load's measure.
    """
    if name == "errors":
        return error_share_of(label)
    return throughput_of(kind, label) if name == THROUGHPUT.name else latency_of(kind, label, name)


def throughput_of(kind: LoadKind, label: str) -> Measure:
    """Return how many of an operation were answered per second: its share of the throughput."""
    name, column = _names(kind, label, "rps", THROUGHPUT.column, "throughput")
    return Measure(
        name,
        column=column,
        title=f"throughput of {label}",
        heading=kind.per_second,
        unit=kind.per_second,
        better="higher",
        from_zero=True,
        value=partial(_rps, label=label),
        operation=label,
        column_of_operation=THROUGHPUT.column,
    )


def latency_of(kind: LoadKind, label: str, statistic: str) -> Measure:
    """Return one of the statistics of an operation's latency."""
    words = statistic.replace("_", ".")
    in_table = LATENCIES[statistic].column
    name, column = _names(kind, label, in_table, in_table, words)
    return Measure(
        name,
        column=column,
        title=f"{words} of {label}",
        heading=f"latency {words}, ms",
        unit="ms",
        better="lower",
        from_zero=False,
        value=partial(_latency, label=label, statistic=statistic),
        operation=label,
        column_of_operation=in_table,
    )


def errors_of(label: str) -> Measure:
    """Return how many of a request failed or were answered with another status than is expected of them."""
    return Measure(
        f'errors of "{label}"',
        column=f"errors of {label}",
        title=f"errors of {label}",
        heading="errors",
        unit="",
        better=None,
        from_zero=True,
        value=partial(_errors, label=label),
        operation=label,
        column_of_operation="errors",
    )


def ended_of(label: str) -> Measure:
    """Return how many of a request were answered or failed, which its errors are a share of."""
    return replace(
        errors_of(label),
        name=f'ended of "{label}"',
        column=f"ended of {label}",
        title=f"answered or failed of {label}",
        value=partial(_ended, label=label),
        column_of_operation="ended",
    )


def error_share_of(label: str | None) -> Measure:
    """Return the share of a request's errors among those that have ended, or of the whole load's, if none.

    See :func:`error_count`.
    """
    of_one = "" if label is None else f" of {label}"
    return replace(
        errors_of(label or ""),
        name="errors" if label is None else f'errors of "{label}"',
        column=f"error_share{of_one}",
        title=f"errors{of_one}",
        unit="share",
        better="lower",
        value=partial(_error_share, label=label),
        operation=label,
        column_of_operation="error_share",
    )


def error_count(trial: PointRecord, label: str | None) -> tuple[int, int] | None:
    """Return the errors of a request and how many have ended, or of the whole load and how many were due.

    ``None`` where the load has no such request, nothing of it ended, or its counts contradict each other.
    """
    if label is None:
        return share_of(wrong_answers(trial), trial.load.requests.due)
    one = operation_of(trial.load, label)
    return None if one is None else share_of(one.errors, one.ended)


def share_of(part: float | None, whole: float | None) -> tuple[int, int] | None:
    """Return a part and its whole as counts; ``None`` where one is not known, or the two are no share."""
    if part is None or whole is None or not 0 <= part <= whole or whole == 0:
        return None
    return round(part), round(whole)


def _names(kind: LoadKind, label: str, of_kind: str, column: str, words: str) -> tuple[str, str]:
    """Return a measure's name and its column.

    The kinds of operations on databases are few and known, so that columns may begin with them.
    """
    if kind.by_operation:
        own = f"{label.replace('-', '_')}_{of_kind}"
        return own, own
    return f'{words} of "{label}"', f"{column} of {label}"


def _rps(trial: PointRecord, label: str) -> float | None:
    load, one = trial.load, operation_of(trial.load, label)
    if load.rate_rps.answered is None or one is None:
        return None
    answered = answered_once(load)
    return load.rate_rps.answered * one.answered / answered if answered else None


def _latency(trial: PointRecord, label: str, statistic: str) -> float | None:
    one = operation_of(trial.load, label)
    return None if one is None else statistic_of(one.latency_ms, statistic)


def _ended(trial: PointRecord, label: str) -> float | None:
    one = operation_of(trial.load, label)
    return None if one is None else one.ended


def _error_share(trial: PointRecord, label: str | None) -> float | None:
    counted = error_count(trial, label)
    return None if counted is None else counted[0] / counted[1]


def _errors(trial: PointRecord, label: str) -> float | None:
    one = operation_of(trial.load, label)
    return None if one is None else one.errors
