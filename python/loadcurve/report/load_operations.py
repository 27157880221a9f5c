"""The figures of each operation of one load, for the terminal: nothing here needs what analyses a run."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from rich.console import RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.loads.kinds import LoadKind
from loadcurve.report.column import WORDS, WRAPPED_FIGURES, Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.load import LoadResult, Operation
from loadcurve.result.operations import answered_once, operations_of

MOST_IN_TERMINAL = 10
"""The terminal has this many rows, of the slowest operations; the others are counted."""
LATENCIES = ("p50", "p99")

Row = TypeVar("Row")


def operations_of_load(result: LoadResult) -> list[RenderableType]:
    """Return a row for each operation of a load, the slowest first, in 80 columns.

    Nothing where the load has a single request, whose figures are its own. The rows that are too many are
    counted below.
    """
    kind, found = result.load.kind, operations_of(result)
    if len(found) < (1 if kind.by_operation else 2):
        return []
    ordered = slowest_first(found, lambda one, statistic: getattr(one.latency_ms, statistic))
    answered = answered_once(result)
    per_answer = (result.rate_rps.answered or 0.0) / answered if answered else 0.0
    columns: Sequence[Column[Operation]] = (
        Column(kind.request, lambda one: one.operation, WORDS),
        Column(kind.per_second, lambda one: units.rate(one.answered * per_answer), WRAPPED_FIGURES),
        Column("share", lambda one: _share(one.answered, answered)),
        Column("errors", lambda one: f"{one.errors:,}"),
        *(Column(f"{name}, ms", partial(_time_of, name)) for name in (*LATENCIES, "max")),
    )
    shown, rest = ordered[:MOST_IN_TERMINAL], ordered[MOST_IN_TERMINAL:]
    return [column_table(shown, columns), *_counted(kind, rest)]


def _counted(kind: LoadKind, rest: Sequence[Operation]) -> list[Text]:
    if not rest:
        return []
    answered, errors = sum(one.answered for one in rest), sum(one.errors for one in rest)
    more = units.plural(len(rest), f"more {kind.request}")
    return [Text(f"{more}, faster than these: {answered:,} answered, {units.plural(errors, 'error')}", "dim")]


def slowest_first(rows: Sequence[Row], latency_ms: Callable[[Row, str], float | None]) -> list[Row]:
    """Return operations by the highest percentile of the table that all of them have.

    One that no answer has is the slowest. Where a percentile is missing for some, the longest latency would
    put an operation with one slow answer before one whose answers are all slow.
    """
    answered = [row for row in rows if latency_ms(row, "max") is not None]
    shared = (one for one in reversed(LATENCIES) if all(latency_ms(row, one) is not None for row in answered))
    by = next(shared, "max")
    return sorted(rows, key=lambda row: -_or_endless(latency_ms(row, by)))


def _or_endless(latency_ms: float | None) -> float:
    return math.inf if latency_ms is None else latency_ms


def _share(answered: int, of_all: int) -> str:
    return units.percent(answered / of_all) if of_all else units.ABSENT


def _time_of(statistic: str, one: Operation) -> str:
    return units.milliseconds(getattr(one.latency_ms, statistic))
