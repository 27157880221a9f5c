"""The logs of a driven load of YCSB: one for each operation and outcome, with a histogram for each second.

Every log has one interval for each time that YCSB has shown its status, from the one in which it began. So
intervals that are equally far from the ends of their logs belong together, and those of the window are added
up: no percentile is needed, and what was counted during the warm-up is left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.result.histograms import Counted, merged
from loadcurve.result.load import Operation, SeriesPeriod
from loadcurve.tools.driver import Output
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.hdr.reader import UNITS, Log, read_log
from loadcurve.tools.samples import period_of_counts, period_width_ns, times_of_counts
from loadcurve.tools.source import shown
from loadcurve.tools.text_lines import Lines
from loadcurve.tools.ycsb.reader import INTENDED, Part, parts_of

_OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN")
_OK, _NOT_FOUND = "OK", "NOT_FOUND"
_ENDED = "CLEANUP"
"""What each client does once, at its end."""
_NO_CLIENT = r"site\.ycsb\.DBException: (?:[\w$]+\.)*(.*)$"
"""Why a client could not begin, without the place of its class; the others go on without it."""
_RESOLUTION_MS = 1e-3
_CLOSING = 2
"""Intervals behind the last whole second: of the last status, and of what is written after it."""
_EARLY_S = 0.5
"""How much earlier than asked for a window of whole seconds may seem to end."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The intervals that count, by how far they are from the end of their log, and how long they took."""

    behind: int
    """Intervals after the last one that counts."""
    until: int | None
    """The number that count together with those behind; ``None`` for all."""
    began_unix_s: float
    duration_s: float

    def of(self, log: Log) -> list[Counted]:
        """Return what a log has counted in the window."""
        first = 0 if self.until is None else len(log.intervals) - self.until
        return self._between(log, first, len(log.intervals) - self.behind)

    def seconds_of(self, log: Log) -> list[list[Counted]]:
        """Return what a log has counted in each second of the window; none of a window of all intervals."""
        begin = len(log.intervals) - (self.until or 0)
        seconds = 0 if self.until is None else self.until - self.behind
        return [self._between(log, begin + second, begin + second + 1) for second in range(seconds)]

    @staticmethod
    def _between(log: Log, first: int, end: int) -> list[Counted]:
        """Return the intervals of these numbers in which something was counted; a log may begin later."""
        counted = (one.counted for one in log.intervals[max(first, 0) : max(end, 0)])
        return [one for one in counted if one.total]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One operation with one status."""

    operation: str
    status: str
    log: Log
    """From when it was due, where it keeps to a rate, and otherwise from when it was sent."""
    service: Log
    """From when it was sent."""


def read_load(output: Output, load: DatabaseLoad) -> ToolFigures:
    """Return the figures of a load's window; raises ``Unreadable`` where a log lacks what was counted."""
    lines = Lines(output.text)
    parts = parts_of(lines)
    _require_clients(lines, parts, load.threads)
    outcomes = list(_outcomes(output, lines, parts, is_due=load.rate_rps is not None))
    if not outcomes:
        raise lines.source.unreadable(None, "no operation", "lines such as [READ], Return=OK, 1000")
    window = _window(output, [one.log for one in outcomes], load)
    names = sorted({one.operation for one in outcomes})
    right = [one for one in outcomes if one.status == _OK]
    failed = [one for one in outcomes if one.status != _OK]
    not_found = sum(_count(window.of(one.log)) for one in failed if one.status == _NOT_FOUND)
    due = _times([part for one in right for part in window.of(one.log)])
    sent = _times([part for one in right for part in window.of(one.service)])
    return ToolFigures(
        tool="ycsb",
        basis="send" if load.rate_rps is None else "due",
        duration_s=window.duration_s,
        answered=due.distribution.known_count,
        failed=sum(_count(window.of(one.log)) for one in failed),
        began_unix_s=window.began_unix_s,
        errors={"not_found": not_found} if not_found else {},
        latency=due,
        service=sent,
        series=_series(right, failed, window),
        operations=[_operation(name, outcomes, window) for name in names],
    )


def _require_clients(lines: Lines, parts: Mapping[str, Part], clients: int) -> None:
    """Raise ``Unreadable`` where a client could not begin, or the text ends before it says so."""
    ended = parts[_ENDED].count if _ENDED in parts else None
    refused = lines.all_of(_NO_CLIENT)
    if refused:
        number, match = refused[0]
        raise lines.source.unreadable(
            number, shown(match[1]), f"a connection for each of {clients:,} clients"
        )
    if ended is None:
        needed = (
            "before which YCSB writes its logs: from Java 11 on with jaxb-api-2.3.1.jar in its folder lib"
        )
        raise lines.cut_off(f"[{_ENDED}], Operations, {clients}, {needed}")
    if ended != clients:
        what = f"{clients}, one for each client"
        raise lines.source.unreadable(None, f"[{_ENDED}], Operations, {ended}", what)
    lines.require_line_end("after YCSB's last figure")


def _outcomes(output: Output, lines: Lines, parts: Mapping[str, Part], *, is_due: bool) -> Iterator[_Outcome]:
    for operation in _OPERATIONS:
        returned = parts[operation].returned if operation in parts else {}
        for status, count in returned.items():
            name = operation if status == _OK else f"{operation}-{status}"
            service = _log(output, lines, name, count)
            due = _log(output, lines, f"{INTENDED}{name}", count) if is_due else service
            yield _Outcome(operation.lower(), status, due, service)


def _log(output: Output, lines: Lines, name: str, count: int) -> Log:
    """Return a log, which has as many times as the text says; raises ``Unreadable``."""
    source = output.required(f"{name}.hdr")
    log = read_log(source, UNITS["us"])
    found = sum(one.counted.total for one in log.intervals)
    if found != count or log.began_unix_s is None:
        what = f"{count:,} as {lines.source.name} says, and when it began"
        raise source.unreadable(None, f"{found:,} times", what)
    return log


def _window(output: Output, logs: Sequence[Log], load: DatabaseLoad) -> _Window:
    """Return from when to when operations count: all of them, or whole seconds behind the warm-up."""
    moments = [_moments_unix_s(log) for log in logs]
    first_s = min(one[0] for one in moments)
    ends_s = max((one[1:] for one in moments), key=len)
    if load.duration_s is None:
        # The interval behind the last status is of the end of the program, and has no operations.
        last_s = ends_s[-_CLOSING] if len(ends_s) >= _CLOSING else ends_s[-1]
        if last_s <= first_s:
            raise output.text.unreadable(None, "operations within 1 ms", "some that took longer together")
        return _Window(0, None, first_s, last_s - first_s)
    # The first status is shown at no whole second.
    seconds = [(place, at) for place, at in enumerate(ends_s) if place and place < len(ends_s) - _CLOSING]
    begin = next((one for one in seconds if one[1] >= first_s + load.warmup_s), None)
    end = next((one for one in seconds if begin and one[1] >= begin[1] + load.duration_s - _EARLY_S), None)
    if begin is None or end is None:
        raise output.text.unreadable(
            None, f"{len(seconds)} whole seconds", f"{load.warmup_s + load.duration_s:g} after it has begun"
        )
    count = len(ends_s)
    return _Window(count - 1 - end[0], count - 1 - begin[0], begin[1], end[1] - begin[1])


def _moments_unix_s(log: Log) -> list[float]:
    """Return when a log began, and when each of its intervals ended."""
    base_s = log.began_unix_s or 0.0
    first, *_ = log.intervals
    return [base_s + first.begin_s, *(base_s + one.begin_s + one.length_s for one in log.intervals)]


def _series(right: Sequence[_Outcome], failed: Sequence[_Outcome], window: _Window) -> list[SeriesPeriod]:
    """Return what ended in each second, as far as its status keeps to seconds: within some milliseconds."""
    answered, refused = _by_second(right, window), _by_second(failed, window)
    seconds = max(len(answered), len(refused))
    width = period_width_ns(seconds * 10**9) // 10**9
    return [
        period_of_counts(
            (first, min(first + width, max(window.duration_s, first))),
            _joined(answered[first : first + width]),
            _count(_joined(refused[first : first + width])),
        )
        for first in range(0, seconds, width)
    ]


def _by_second(outcomes: Sequence[_Outcome], window: _Window) -> list[list[Counted]]:
    """Return the intervals of all these outcomes together, for each second of the window."""
    return [_joined(parts) for parts in zip(*(window.seconds_of(one.log) for one in outcomes), strict=True)]


def _joined(parts: Iterable[Sequence[Counted]]) -> list[Counted]:
    return [one for part in parts for one in part]


def _count(parts: Sequence[Counted]) -> int:
    return sum(one.total for one in parts)


def _times(parts: Sequence[Counted]) -> Times:
    return times_of_counts(merged(parts), _RESOLUTION_MS)


def _operation(name: str, outcomes: Sequence[_Outcome], window: _Window) -> Operation:
    own = [one for one in outcomes if one.operation == name]
    times = _times([part for one in own if one.status == _OK for part in window.of(one.log)])
    return Operation(
        operation=name,
        answered=times.distribution.known_count,
        failed=sum(_count(window.of(one.log)) for one in own if one.status != _OK),
        latency_ms=times.distribution,
    )
