"""Figures of tables with one row for each request, whichever tool wrote them.

Of each block is kept what all figures need together, in as few bytes as that takes: ten million requests are
no reason for a machine to run out of memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy
import polars

from loadcurve.loads.limits import STATUS_MAX, STATUS_MIN
from loadcurve.result.distribution import Distribution
from loadcurve.result.load import Operation
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Asked, LatencyBasis, Times, ToolFigures, Unreadable
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.numbers import Numbers, Whole
from loadcurve.tools.samples import series_of, times_of, times_of_rising
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
_PER_CLASS: Final = 100
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


def nanoseconds_above_zero(column: str, per_unit: int) -> polars.Expr:
    """Return the same of a phase that is 0 where it did not take place; those are null."""
    return polars.when(polars.col(column) > 0).then(nanoseconds(column, per_unit))


def whole_nanoseconds(column: str, per_unit: int) -> polars.Expr:
    """Return whole times in a unit as ns; those that do not fit are greater than any that is read."""
    most = _INT64_MAX // per_unit
    return polars.col(column).clip(-most, most) * per_unit


def together(blocks: Iterable[polars.DataFrame]) -> polars.DataFrame | None:
    """Return the rows of all blocks; ``None`` without any."""
    parts = [block for block in blocks if len(block)]
    return polars.concat(parts, rechunk=False) if parts else None


def figures_of(
    source: Source, form: Form, blocks: Iterable[polars.DataFrame], left_out: LeftOut
) -> ToolFigures:
    """Return the figures; raises ``Unreadable`` where there is no request, or too much is left out."""
    return collected(source, blocks).figures(form, left_out)


def collected(source: Source, blocks: Iterable[polars.DataFrame]) -> "Requests":
    """Return the requests of all blocks."""
    requests = Requests(source)
    for block in blocks:
        requests.add(block)
    return requests


class Requests:
    """What is kept of the requests of a file."""

    def __init__(self, source: Source) -> None:
        """Begin without any."""
        self._source = source
        self._rows = 0
        self._impossible: list[tuple[Unreadable, int]] = []
        self._window: tuple[int, int] | None = None
        self._done, self._times, self._bodies, self._failed_at = (Numbers() for _ in range(4))
        self._some = {CONNECT: Numbers(), FIRST_BYTE: Numbers()}
        self._known: set[str] = set()
        self._statuses = numpy.zeros(STATUS_MAX + 1, numpy.int64)
        self._body_bytes = 0
        self._errors: Counter[str] = Counter()
        self._operations = _Operations()

    def add(self, block: polars.DataFrame) -> None:
        """Add those of a block, without those that cannot be."""
        block, found = _possible(self._source, block, self._rows)
        self._impossible += found
        self._rows += len(block)
        self._known.update(block.columns)
        if not len(block):
            return
        begin = block[BEGIN].to_numpy()
        end = begin + block[TIME].to_numpy()
        first, last = self._window or (int(begin[0]), int(end[0]))
        self._window = min(first, int(begin.min())), max(last, int(end.max()))
        is_answered = (block[STATUS] > 0).to_numpy()
        if is_answered.all():
            self._add_answered(block, end)
            return
        self._add_answered(block.filter(is_answered), end[is_answered])
        self._failed_at.add(end[~is_answered])
        failed = block.filter(~is_answered)
        if ERROR in failed.columns:
            self._errors.update(
                {text: count for text, count in failed.group_by(ERROR).len().iter_rows() if text}
            )
        if OPERATION in failed.columns:
            self._operations.add_failed(failed[OPERATION])

    def _add_answered(self, answered: polars.DataFrame, end: Whole) -> None:
        self._done.add(end)
        self._times.add(answered[TIME].to_numpy())
        self._statuses += numpy.bincount(answered[STATUS].to_numpy(), minlength=len(self._statuses))
        for name, numbers in self._some.items():
            if name in answered.columns:
                numbers.add(answered[name].drop_nulls().to_numpy())
        if BODY in answered.columns:
            self._bodies.add(answered[BODY].to_numpy())
            self._body_bytes += int(answered[BODY].sum())
        if OPERATION in answered.columns and len(answered):
            self._operations.add(answered[OPERATION])

    def figures(self, form: Form, left_out: LeftOut) -> ToolFigures:
        """Return the figures, for which the requests are used up; raises as :func:`figures_of`."""
        _leave_out(self._impossible, left_out)
        left_out.require_few()
        if self._window is None:
            raise left_out.nothing()
        begin, end = form.window or self._window
        if end <= begin:
            raise self._source.unreadable(
                None, f"requests within {form.resolution_ms:g} ms", "requests that took longer together"
            )
        done, times, failed_at = self._done.taken(), self._times.taken(), self._failed_at.taken()
        series = series_of(
            done,
            times,
            (begin, end),
            failed_at_ns=failed_at,
            body_bytes=self._bodies.taken() if form.has_body else None,
        )
        del done
        by_operation = self._operations.times(times)
        times.sort()
        latency = times_of_rising(times, form.resolution_ms)
        status, ok = _statuses(self._statuses)
        return ToolFigures(
            tool=form.tool,
            version=form.version,
            basis=form.basis,
            duration_s=(end - begin) / _NS_PER_S,
            answered=len(times),
            failed=len(failed_at) if form.has_failures else None,
            began_unix_s=begin / _NS_PER_S if form.is_epoch else None,
            errors=errors_of(self._errors),
            status=status,
            ok=ok if form.knows_ok else None,
            latency=latency,
            connect=self._times_of(CONNECT, form),
            first_byte=self._times_of(FIRST_BYTE, form),
            bytes_body=self._body_bytes if form.has_body else None,
            series=series,
            operations=self._operations.figures(by_operation, latency.distribution),
            asked=form.asked,
            notes=left_out.notes(),
        )

    def _times_of(self, name: str, form: Form) -> Times | None:
        if name not in self._known:
            return None
        times = self._some[name].taken()
        times.sort()
        return times_of_rising(times, form.resolution_ms)


class _Operations:
    """How often each operation was answered and failed."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._answered = Numbers()
        """The place of the operation of each answer."""
        self._failed: Counter[str] = Counter()

    def add(self, names: polars.Series) -> None:
        """Add the operations of answers."""
        named = _named(names)
        codes = named.to_physical().to_numpy()
        if (codes == codes[0]).all():
            self._answered.add(numpy.full(len(codes), self._place(str(named[0]))))
            return
        _, first, places = numpy.unique(codes, return_index=True, return_inverse=True)
        known = numpy.array([self._place(str(named[int(place)])) for place in first])
        self._answered.add(known[places])

    def add_failed(self, names: polars.Series) -> None:
        """Add the operations of failures."""
        counts = names.to_frame(OPERATION).group_by(OPERATION).len()
        self._failed.update({str(name): count for name, count in counts.iter_rows()})

    def _place(self, name: str) -> int:
        return self._places.setdefault(name, len(self._places))

    @property
    def _names(self) -> set[str]:
        return {*self._places, *self._failed}

    def times(self, times: Whole) -> Mapping[str, Whole]:
        """Return the times of each operation, of the times of all answers; nothing of a single one."""
        if len(self._names) <= 1:
            return {}
        of_answered = polars.DataFrame({OPERATION: self._answered.taken(), TIME: times})
        names = [*self._places]
        return {
            names[int(key[0])]: part[TIME].to_numpy()
            for key, part in of_answered.partition_by(OPERATION, as_dict=True).items()
        }

    def figures(self, times: Mapping[str, Whole], latency: Distribution) -> list[Operation]:
        """Return each with its times; of a single one the latency is that of all."""
        if len(self._names) == 1:
            [name] = self._names
            return [
                Operation(
                    operation=name, answered=latency.count, failed=self._failed[name], latency_ms=latency
                )
            ]
        nothing = numpy.zeros(0, numpy.int64)
        return [
            Operation(
                operation=name,
                answered=len(times.get(name, nothing)),
                failed=self._failed[name],
                latency_ms=times_of(times.get(name, nothing), None).distribution,
            )
            for name in sorted(self._names)
        ]


def _named(names: polars.Series) -> polars.Series:
    """Return names as places among those that differ."""
    if names.null_count():
        names = names.cast(polars.String).fill_null(str(None))
    return names.cast(polars.Categorical)


def require_long_window(source: Source, duration_s: float, instead: str) -> None:
    """Raise ``Unreadable`` where moments in whole seconds do not say within a tenth how long a load took."""
    if duration_s < WHOLE_SECONDS_MIN:
        raise source.unreadable(
            None,
            f"moments in whole seconds, and {duration_s:.1f} s between the first and the last",
            f"a longer load, or its rate is not known within a tenth ({instead})",
        )


def possible(source: Source, table: polars.DataFrame, left_out: LeftOut) -> polars.DataFrame:
    """Return a whole table without rows that cannot be: these are left out."""
    table, found = _possible(source, table, 0)
    _leave_out(found, left_out)
    return table


def _leave_out(found: Iterable[tuple[Unreadable, int]], left_out: LeftOut) -> None:
    for problem, count in found:
        left_out.rows -= count
        left_out.line(problem, count)


def _possible(
    source: Source, table: polars.DataFrame, before: int
) -> tuple[polars.DataFrame, list[tuple[Unreadable, int]]]:
    """Return the rows that can be, behind as many others, and why the others cannot, with their number."""
    found = []
    for name, limit in _LIMITS.items():
        if name not in table.columns or limit.is_kept(table[name]):
            continue
        wrong = limit.is_broken(table[name])
        place = wrong.arg_max() or 0
        problem = source.unreadable(
            None,
            f"{name} = {table[name][place]} of request {before + place + 1:,}",
            f"{limit.words} from {limit.low} to {limit.high}",
            f"{before + place:,} requests",
        )
        found.append((problem, int(wrong.sum())))
        table = table.filter(~wrong)
    return table, found


def _statuses(counts: Whole) -> tuple[dict[str, int] | None, int | None]:
    """Return the answers by the class of their status, or, where none has one, how many were right: all."""
    by_class = {
        f"{digit}xx": int(counts[digit * _PER_CLASS : (digit + 1) * _PER_CLASS].sum())
        for digit in range(1, (STATUS_MAX + 1) // _PER_CLASS)
    }
    answered = int(counts.sum())
    return (by_class, None) if any(by_class.values()) or not answered else (None, answered)
