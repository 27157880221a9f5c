"""Figures of a table with one row for each request, whichever tool wrote it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy
import polars

from loadcurve.generate.tools.errors import errors_of
from loadcurve.generate.tools.figures import Asked, LatencyBasis, Times, ToolFigures
from loadcurve.generate.tools.samples import Nanoseconds, series_of, times_of
from loadcurve.generate.tools.source import Source
from loadcurve.result.load import Operation

BEGIN, TIME, STATUS = "begin_ns", "time_ns", "status"
"""When each began, since any moment; how long it took; its status, 0 without an answer."""
CONNECT, FIRST_BYTE, BODY, ERROR, OPERATION = (
    "connect_ns",
    "first_byte_ns",
    "body_bytes",
    "error",
    "operation",
)
"""What a table may have beside; a time is null where there was none."""
ANSWERED = 200
"""The status of an answer of which the tool only says that it was right."""

TIME_MAX_NS = 10**18
"""Thirty years: no time is longer, and sums of two still fit."""
STATUS_MIN, STATUS_MAX = 100, 599
_NS_PER_S = 1e9


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a format says of all its files."""

    tool: str
    basis: LatencyBasis = "send"
    resolution_ms: float
    is_epoch: bool
    """Whether moments are of the wall clock."""
    has_failures: bool
    has_status: bool = True
    version: str | None = None
    asked: Asked = field(default_factory=Asked)
    has_body: bool = False
    window: tuple[int, int] | None = None
    """When the measured window began and ended, where the file says so."""


def nanoseconds(column: str, per_unit: int) -> polars.Expr:
    """Return times in a unit of so many ns as whole ns; what cannot be one is null."""
    return (polars.col(column) * per_unit).round().cast(polars.Int64, strict=False)


def together(blocks: Iterable[polars.DataFrame]) -> polars.DataFrame | None:
    """Return the rows of all blocks; ``None`` without any."""
    parts = [block for block in blocks if len(block)]
    return polars.concat(parts, rechunk=True) if parts else None


def figures_of(source: Source, form: Form, table: polars.DataFrame | None) -> ToolFigures:
    """Return the figures; raises ``Unreadable`` where there is no request, or a value cannot be."""
    if table is None:
        raise source.unreadable(None, "no request", "a line for each request")
    _require_possible(source, table)
    begins, times = _column(table, BEGIN), _column(table, TIME)
    begin = int(begins.min()) if form.window is None else form.window[0]
    end = int((begins + times).max()) if form.window is None else form.window[1]
    if end <= begin:
        raise source.unreadable(
            None, f"requests within {form.resolution_ms:g} ms", "requests that took longer together"
        )
    is_answered = table[STATUS] > 0
    answered = table.filter(is_answered)
    failed = table.filter(~is_answered)
    done = _column(answered, BEGIN) + _column(answered, TIME) - begin
    return ToolFigures(
        tool=form.tool,
        version=form.version,
        basis=form.basis,
        duration_s=(end - begin) / _NS_PER_S,
        answered=len(answered),
        failed=len(failed) if form.has_failures else None,
        began_unix_s=begin / _NS_PER_S if form.is_epoch else None,
        errors=_errors(failed),
        status=_status(answered) if form.has_status else None,
        latency=times_of(_column(answered, TIME), form.resolution_ms),
        connect=_some(answered, CONNECT, form),
        first_byte=_some(answered, FIRST_BYTE, form),
        bytes_body=int(answered[BODY].sum()) if form.has_body else None,
        series=series_of(
            done,
            _column(answered, TIME),
            end - begin,
            failed_ns=_column(failed, BEGIN) + _column(failed, TIME) - begin,
            body_bytes=_column(answered, BODY) if form.has_body else None,
        ),
        operations=_operations(table),
        asked=form.asked,
    )


def _column(table: polars.DataFrame, name: str) -> Nanoseconds:
    return table[name].to_numpy().astype(numpy.int64, copy=False)


def _require_possible(source: Source, table: polars.DataFrame) -> None:
    for name, low, high in (
        (TIME, 0, TIME_MAX_NS),
        (BEGIN, 0, 4 * TIME_MAX_NS),
        (STATUS, 0, STATUS_MAX),
    ):
        wrong = table[name].is_null() | (table[name] < low) | (table[name] > high)
        if name == STATUS:
            wrong |= (table[name] > 0) & (table[name] < STATUS_MIN)
        place = wrong.arg_max()
        if place is not None and wrong[place]:
            raise source.unreadable(
                None,
                f"{name} = {table[name][place]} of request {place + 1:,}",
                f"a number from {low} to {high}" if name != STATUS else "a status from 100 to 599",
                f"{place:,} requests",
            )


def _status(answered: polars.DataFrame) -> dict[str, int]:
    classes = numpy.bincount(_column(answered, STATUS) // 100, minlength=6)
    return {f"{digit}xx": int(classes[digit]) for digit in range(1, 6)}


def _errors(failed: polars.DataFrame) -> Mapping[str, int]:
    if ERROR not in failed.columns:
        return {}
    return errors_of({text: count for text, count in failed.group_by(ERROR).len().iter_rows() if text})


def _some(answered: polars.DataFrame, name: str, form: Form) -> Times | None:
    if name not in answered.columns:
        return None
    times = answered[name].drop_nulls()
    return times_of(times.to_numpy().astype(numpy.int64), form.resolution_ms)


def _operations(table: polars.DataFrame) -> list[Operation]:
    if OPERATION not in table.columns:
        return []
    parts = table.partition_by(OPERATION, as_dict=True, maintain_order=True)
    return [
        Operation(
            operation=str(key[0]),
            answered=int((part[STATUS] > 0).sum()),
            failed=int((part[STATUS] == 0).sum()),
            latency_ms=times_of(_column(part.filter(part[STATUS] > 0), TIME), None).distribution,
        )
        for key, part in sorted(parts.items(), key=lambda one: str(one[0][0]))
    ]
