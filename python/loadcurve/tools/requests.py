"""Figures of a table with one row for each request, whichever tool wrote it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy
import polars

from loadcurve.result.distribution import Distribution
from loadcurve.result.load import Operation
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Asked, LatencyBasis, Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.samples import Nanoseconds, series_of, times_of
from loadcurve.tools.source import Source

BEGIN, TIME, STATUS = "begin_ns", "time_ns", "status"
"""When each began, since any moment; how long it took; its status, 0 where it failed."""
CONNECT, FIRST_BYTE, BODY, ERROR, OPERATION = (
    "connect_ns",
    "first_byte_ns",
    "body_bytes",
    "error",
    "operation",
)
"""What a table may have beside; a time is null where there was none."""
ANSWERED = 1
"""In the place of a status, where the tool only says that the answer was right; no class counts it."""

TIME_MAX_NS = 10**18
"""Thirty years: no time is longer, and sums of two still fit."""
BODY_MAX = 10**12
"""Bytes of one answer: the sum of ten million of these still fits."""
_INT64_MAX = 2**63 - 1
STATUS_MIN, STATUS_MAX = 100, 599
_NS_PER_S = 1e9
WHOLE_SECONDS_MIN = 20.0
"""The shortest window between moments in whole seconds, each of whose ends may be off by one."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """What a column may hold."""

    high: int
    low: int = 0
    others: Sequence[int] = ()
    """What it may hold beside."""
    may_lack: bool = False
    """Whether it may be null."""
    words: str = "a number"

    def is_kept(self, column: polars.Series) -> bool:
        """Say whether no value is beyond it; mostly the least and the greatest one show that."""
        least, most = column.min(), column.max()
        if column.null_count() and not self.may_lack:
            return False
        if least is None or (self.low <= least and most <= self.high):  # type: ignore[operator]
            return True
        return not self.is_broken(column).any()

    def is_broken(self, column: polars.Series) -> polars.Series:
        """Return for each value whether it is beyond it."""
        right = column.is_between(self.low, self.high)
        if self.others:
            right |= column.is_in(self.others)
        return ~right.fill_null(value=self.may_lack)


_OF_TIMES = _Limit(TIME_MAX_NS)
_LIMITS = {
    TIME: _OF_TIMES,
    BEGIN: _Limit(4 * TIME_MAX_NS),
    STATUS: _Limit(STATUS_MAX, low=STATUS_MIN, others=(0, ANSWERED), words="a status"),
    CONNECT: replace(_OF_TIMES, may_lack=True),
    FIRST_BYTE: replace(_OF_TIMES, may_lack=True),
    BODY: _Limit(BODY_MAX),
}


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a format says of all its files."""

    tool: str
    basis: LatencyBasis = "send"
    resolution_ms: float
    is_epoch: bool
    """Whether moments are of the wall clock."""
    has_failures: bool
    knows_ok: bool = True
    """Whether it says which answers were right."""
    version: str | None = None
    asked: Asked = field(default_factory=Asked)
    has_body: bool = False
    window: tuple[int, int] | None = None
    """When the measured window began and ended, where the file says so."""


def nanoseconds(column: str, per_unit: int) -> polars.Expr:
    """Return times in a unit, given in ns, as whole ns; what cannot be one is null."""
    return (polars.col(column) * per_unit).round().cast(polars.Int64, strict=False)


def whole_nanoseconds(column: str, per_unit: int) -> polars.Expr:
    """Return whole times in a unit as ns; those that do not fit are greater than any that is read."""
    most = _INT64_MAX // per_unit
    return polars.col(column).clip(-most, most) * per_unit


def together(blocks: Iterable[polars.DataFrame]) -> polars.DataFrame | None:
    """Return the rows of all blocks; ``None`` without any."""
    parts = [block for block in blocks if len(block)]
    return polars.concat(parts, rechunk=False) if parts else None


def figures_of(source: Source, form: Form, table: polars.DataFrame | None, left_out: LeftOut) -> ToolFigures:
    """Return the figures; raises ``Unreadable`` where there is no request, or too much is left out.

    The table is used up: each column is taken out of it with its use, which makes room for what follows.
    """
    if table is not None:
        table = possible(source, table, left_out)
    left_out.require_few()
    if table is None or not len(table):
        raise left_out.nothing()
    is_answered = table[STATUS] > 0
    connect = _some(table, is_answered, CONNECT, form)
    first_byte = _some(table, is_answered, FIRST_BYTE, form)
    begin, end = form.window or _window(table)
    if end <= begin:
        raise source.unreadable(
            None, f"requests within {form.resolution_ms:g} ms", "requests that took longer together"
        )
    answered, failed = _parted(table, is_answered)
    status, ok = _statuses(answered)
    times = _taken(answered, TIME)
    done = _taken(answered, BEGIN) + times
    done -= begin
    latency = times_of(times, form.resolution_ms)
    return ToolFigures(
        tool=form.tool,
        version=form.version,
        basis=form.basis,
        duration_s=(end - begin) / _NS_PER_S,
        answered=len(times),
        failed=len(failed) if form.has_failures else None,
        began_unix_s=begin / _NS_PER_S if form.is_epoch else None,
        errors=_errors(failed),
        status=status,
        ok=ok if form.knows_ok else None,
        latency=latency,
        connect=connect,
        first_byte=first_byte,
        bytes_body=int(answered[BODY].sum()) if form.has_body else None,
        series=series_of(
            done,
            times,
            end - begin,
            failed_ns=_taken(failed, BEGIN) + _taken(failed, TIME) - begin,
            body_bytes=_taken(answered, BODY) if form.has_body else None,
        ),
        operations=_operations(answered, failed, times, latency.distribution),
        asked=form.asked,
        notes=left_out.notes(),
    )


def require_long_window(source: Source, duration_s: float, instead: str) -> None:
    """Raise ``Unreadable`` where moments in whole seconds do not say within a tenth how long a load took."""
    if duration_s < WHOLE_SECONDS_MIN:
        raise source.unreadable(
            None,
            f"moments in whole seconds, and {duration_s:.1f} s between the first and the last",
            f"a longer load, or its rate is not known within a tenth ({instead})",
        )


def _parted(table: polars.DataFrame, is_answered: polars.Series) -> tuple[polars.DataFrame, polars.DataFrame]:
    """Return those that were answered, and the others; where all were, nothing is copied."""
    failed = table.filter(~is_answered)
    if not len(failed):
        return table, failed
    answered = table.filter(is_answered)
    for name in table.columns:
        table.drop_in_place(name)
    return answered, failed


def _taken(table: polars.DataFrame, name: str) -> Nanoseconds:
    return table.drop_in_place(name).to_numpy().astype(numpy.int64, copy=False)


def possible(source: Source, table: polars.DataFrame, left_out: LeftOut) -> polars.DataFrame:
    """Return the table without rows that cannot be: these are left out."""
    for name, limit in _LIMITS.items():
        if name not in table.columns or limit.is_kept(table[name]):
            continue
        wrong = limit.is_broken(table[name])
        place = wrong.arg_max() or 0
        problem = source.unreadable(
            None,
            f"{name} = {table[name][place]} of request {place + 1:,}",
            f"{limit.words} from {limit.low} to {limit.high}",
            f"{place:,} requests",
        )
        count = int(wrong.sum())
        left_out.rows -= count
        left_out.line(problem, count)
        table = table.filter(~wrong)
    return table


def _statuses(answered: polars.DataFrame) -> tuple[dict[str, int] | None, int | None]:
    """Return the answers by the class of their status, or, where none has one, how many were right: all."""
    counts = dict(answered.group_by(STATUS).len().iter_rows())
    by_class = {
        f"{digit}xx": sum(count for status, count in counts.items() if status // 100 == digit)
        for digit in range(1, 6)
    }
    has_status = any(by_class.values()) or not len(answered)
    return (by_class, None) if has_status else (None, len(answered))


def _errors(failed: polars.DataFrame) -> Mapping[str, int]:
    if ERROR not in failed.columns:
        return {}
    return errors_of({text: count for text, count in failed.group_by(ERROR).len().iter_rows() if text})


def _window(table: polars.DataFrame) -> tuple[int, int]:
    """Return when the first request began and the last one ended."""
    found = table.lazy().select(
        polars.col(BEGIN).min().alias("begin"), (polars.col(BEGIN) + polars.col(TIME)).max().alias("end")
    )
    begin, end = found.collect().row(0)
    return int(begin), int(end)


def _some(table: polars.DataFrame, is_answered: polars.Series, name: str, form: Form) -> Times | None:
    if name not in table.columns:
        return None
    times = table.drop_in_place(name)
    if not is_answered.all():
        times = times.filter(is_answered)
    return times_of(times.drop_nulls().to_numpy().astype(numpy.int64, copy=False), form.resolution_ms)


def _operations(
    answered: polars.DataFrame, failed: polars.DataFrame, times: Nanoseconds, latency: Distribution
) -> list[Operation]:
    if OPERATION not in answered.columns:
        return []
    failures = {str(name): count for name, count in failed.group_by(OPERATION).len().iter_rows()}
    names = {*failures, *map(str, answered[OPERATION].unique())}
    if len(names) == 1:
        return [Operation(operation=names.pop(), answered=len(times), failed=len(failed), latency_ms=latency)]
    of_answered = polars.DataFrame({OPERATION: answered[OPERATION], TIME: times})
    parts = {
        str(key[0]): part[TIME].to_numpy()
        for key, part in of_answered.partition_by(OPERATION, as_dict=True).items()
    }
    nothing = numpy.zeros(0, numpy.int64)
    return [
        Operation(
            operation=name,
            answered=len(parts.get(name, nothing)),
            failed=failures.get(name, 0),
            latency_ms=times_of(parts.get(name, nothing), None).distribution,
        )
        for name in sorted(names)
    ]
