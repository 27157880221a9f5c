"""What ApacheBench 2.0 to 2.3 prints, as text or HTML (-w), and its tables of requests and of percentiles.

It counts a connection that is closed without a byte as a complete request, and as one of another length
unless the first was so, too. Redirections and error statuses are one count, of all that are not 2xx.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Final

import polars

from loadcurve.result.distribution import Distribution
from loadcurve.tools.delimited import ANY_TEXT, WHOLE_NUMBER, Table, tables
from loadcurve.tools.figures import Asked, Doubt, Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.printed import Printed, Window, window_of
from loadcurve.tools.requests import (
    ANSWERED,
    BEGIN,
    CONNECT,
    FIRST_BYTE,
    STATUS,
    TIME,
    Form,
    figures_of,
    require_long_window,
    whole_nanoseconds,
)
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

_NS_PER_S, _NS_PER_MS = 10**9, 10**6
TESTED = {
    "ab-text": ("2.3",),
    "ab-html": ("2.3",),
    "ab-requests": ("2.3",),
}
"""By format, the versions whose real output it is tested with."""
_TABLE_EXPECTED: Final = 'a line of ab\'s table of percentiles (-e), such as "50,0.412"'
_REQUESTS = Table(
    what="a line of ab's table of requests (-g)",
    columns=("starttime", "seconds", "ctime", "dtime", "ttime", "wait"),
    used={
        "starttime": ANY_TEXT,
        "seconds": WHOLE_NUMBER,
        "ctime": WHOLE_NUMBER,
        "ttime": WHOLE_NUMBER,
        "wait": WHOLE_NUMBER,
    },
    separator="\t",
)
_REQUESTS_FORM = Form(
    tool="ab", resolution_ms=1.0, is_epoch=True, has_failures=False, knows_ok=False
)  # fmt: skip
NO_TIMES: Final = "latencies of answers: ab summarises those of failures with them"
_MICROSECOND_DIGITS = 6
_SHOWN = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}
_GIVEN_UP = r"(?:Benchmarking \S{1,300} \(be patient\)\.\.\.)?((?:apr|SSL)_\w{1,40}: .{1,200} \(\d{1,9}\))$"
_PERCENTILES_SHOWN = r" +(\d{1,3})% +(\d{1,15})(?: \((?:longest|last) request\))?$"
_CLASSES = (
    r"\s*\(Connect: (\d{1,15}), (?:Receive: (\d{1,15}), )?Length: (\d{1,15}), Exceptions: (\d{1,15})\)$"
)


def is_text(head: bytes) -> bool:
    """Say whether a file begins as the text of ab."""
    return b"This is ApacheBench" in head and not is_html(head)


def is_html(head: bytes) -> bool:
    """Say whether a file begins as what ab writes with ``-w``."""
    return re.search(rb"This is ApacheBench, Version \S{1,40} <i>", head) is not None


def is_requests(head: bytes) -> bool:
    """Say whether a file begins as the table of requests of ``-g``."""
    return head.startswith("\t".join(_REQUESTS.columns).encode())


def is_percentiles(head: bytes) -> bool:
    """Say whether a file begins as the table of percentiles of ``-e``."""
    return head.startswith(b"Percentage served,Time in ms")


def read_text(source: Source, percentiles: Mapping[int, float] | None = None) -> ToolFigures:
    """Return the figures of the text, with the percentiles of a table in ms where there is one.

    Without it those of the text, in whole ms, of which 0 is none.

    Raises ``Unreadable``.
    """
    lines = Lines(source)
    complete = _complete(lines)
    printed = _percentiles_shown(lines, complete)
    latency = _of_percentiles(percentiles, complete, 0.001) if percentiles else printed
    return _figures(lines, complete, latency)


def read_html(source: Source) -> ToolFigures:
    """Return the figures of the table of ``-w``: of times the mean and extremes, in whole ms, 0 being none.

    Raises ``Unreadable``.
    """
    lines = Lines(source)
    lines.lines = [unescape(re.sub(r"<[^<>]*>", " ", line)).strip() or line for line in lines.lines]
    complete = _complete(lines)
    lines.once(r"</table>$", "the end of ab's table")
    return _figures(lines, complete, _extremes_shown(lines, complete))


def _complete(lines: Lines) -> int:
    """Return how many requests were complete; raises ``Unreadable`` where ab gave the load up."""
    if lines.count_or_none("Complete requests") is None and (errors := lines.all_of(_GIVEN_UP)):
        number, found = errors[-1]
        raise lines.source.unreadable(
            number,
            f"{shown(found[1])}, at which ab gave its load up without figures",
            "ab's figures, which it prints when it has completed a load: an error that -r does not cover, or "
            "a request without an answer within -s, ends one",
        )
    return lines.count("Complete requests")


def _figures(lines: Lines, complete: int, latency: Times | None) -> ToolFigures:
    """Return the figures that text and HTML have alike; ``latency`` is of all that ab calls complete."""
    failures = _failures(lines)
    received, body = (
        int(lines.number(rf"{label} transferred: +(\S+) bytes$", f'ab\'s line "{label} transferred:"'))
        for label in ("Total", "HTML")
    )
    concurrency = lines.count("Concurrency Level")
    host, port, path = (
        lines.optional(rf"{label}: +(\S+)$", f'ab\'s line "{label}:"')
        for label in ("Server Hostname", "Server Port", "Document Path")
    )
    not_2xx = lines.count_or_none("Non-2xx responses") or 0
    length = lines.optional(r"Document Length: +(\d{1,15}) bytes$", 'ab\'s line "Document Length:"')
    server = lines.optional(r"Server Software: +(\S.*)$", 'ab\'s line "Server Software:"')
    version = lines.optional(r"This is ApacheBench, Version (\S+)", "ab's first line")
    window = _window(lines, complete, version[1][1] if version else "")
    if window.duration_s <= 0:
        raise lines.source.unreadable(None, "a test that took no time", "the requests of a load")
    errors = failures.connect + failures.broken
    exchanged = _Exchanged(
        complete=max(complete - errors, 0),
        other_length=min(max(failures.length - failures.broken, 0), max(complete - errors, 0)),
        not_2xx=not_2xx,
        received=received,
        body=body,
        length=int(length[1][1]) if length else None,
        server_name=server[1][1].strip() if server else "",
    )
    empty = exchanged.unanswered()
    answered = exchanged.complete - empty
    return ToolFigures(
        tool="ab",
        version=version[1][1] if version else None,
        basis="send",
        duration_s=window.duration_s,
        answered=answered,
        ok=None if not_2xx else answered,
        failed=errors + empty,
        other_length=max(exchanged.other_length - empty, 0),
        doubts=list(_doubts(answered, not_2xx, 0 if empty else exchanged.bodiless_at_first())),
        # Its times are of all that it calls complete.
        latency=None if errors + empty else latency,
        not_measured=[NO_TIMES] if errors + empty else [],
        bytes_received=received,
        bytes_body=body,
        asked=Asked(
            target=f"{host[1][1]}:{port[1][1]}" if host and port else None,
            paths=[path[1][1]] if path else [],
            connections=concurrency,
            http="1.0",
        ),
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _window(lines: Lines, complete: int, version: str) -> Window:
    """Return how long it took, by its rate or by its time, whichever has more digits.

    Version 2.0 prints the microseconds behind the seconds without zeros in front: 3.7500 are 3.0075 s.
    """
    what = 'ab\'s line "Time taken for tests:"'
    number, taken = lines.once(r"Time taken for tests: +(\S+) seconds$", what)
    taken_s = lines.printed(number, taken[1], what)
    what = 'ab\'s line "Requests per second:"'
    rate_line, rate = lines.once(r"Requests per second: +(\S+)(?: \[#/sec\] \(mean\))?$", what)
    rate_rps = lines.printed(rate_line, rate[1], what)
    seconds, _, behind = taken[1].partition(".")
    times = [taken_s]
    if version.startswith("2.0") and behind.isdecimal() and len(behind) <= _MICROSECOND_DIGITS:
        times.insert(0, Printed(int(seconds) + int(behind) / 1e6, 1e-6))
    windows = [window_of(complete, rate_rps, time) for time in times]
    return next((one for one in windows if one.contradiction is None), windows[0])


@dataclass(frozen=True, slots=True)
class _Exchanged:
    """What was complete without an error, by the number of bytes."""

    complete: int
    other_length: int
    """Of these: with a body of another length than the first one."""
    not_2xx: int
    received: int
    """Bytes of heads and bodies."""
    body: int
    """Bytes of bodies."""
    length: int | None
    """Of the first body."""
    server_name: str
    """What ``Server`` has in the first answer; empty without it."""

    @property
    def of_first_length(self) -> int:
        """How many have a body as long as the first one."""
        return self.complete - self.other_length

    def unanswered(self) -> int:
        """Return how many cannot have been answered, or came without a body where the first had one.

        Heads have a least length. What has neither a body nor an error status is taken for a connection that
        was closed without an answer.
        """
        head_bytes = self.received - self.body
        least = len("HTTP/1.0 200\r\n\r\n")
        if self.server_name:
            least += len("Server: \r\n") + len(self.server_name)
        if head_bytes < least * self.complete:
            return self.complete - min(self.of_first_length, head_bytes // least)
        is_without_bodies = bool(self.length) and self.body <= self.of_first_length * (self.length or 0)
        return max(self.other_length - self.not_2xx, 0) if is_without_bodies else 0

    def bodiless_at_first(self) -> int:
        """Return how many came without a body as the first one did, whose head nothing is known of."""
        is_doubtful = self.length == 0 and not self.server_name and self.other_length > 0
        return self.of_first_length if is_doubtful else 0


def _doubts(answered: int, not_2xx: int, bodiless: int) -> Iterator[Doubt]:
    if not_2xx:
        yield Doubt(
            "error_status",
            f"{min(not_2xx, answered):,} of {answered:,} answers have another status than 2xx: redirections "
            "or errors, which ab counts together, so that it is not known how many answers were right",
        )
    if bodiless:
        yield Doubt(
            "errors",
            f"up to {bodiless:,} of the {answered:,} requests that ab calls complete were not answered: it "
            "counts a connection that is closed without a byte as an answer without a body, and the first "
            "one was such",
        )


def read_percentiles(source: Source) -> dict[int, float]:
    """Return the times in ms of the percentages 0 to 100 of the table of ``-e``; raises ``Unreadable``."""
    lines = Lines(source)
    table: dict[int, float] = {}
    for number, line in enumerate(lines.lines[1:], start=2):
        percent, _, time_ms = line.partition(",")
        if percent != str(len(table)):
            found = f'"{line[:60]}"'
            raise source.unreadable(
                number, found, f"{_TABLE_EXPECTED}, for {len(table)} %", lines.read(number)
            )
        table[len(table)] = lines.value(number, time_ms, _TABLE_EXPECTED)
    if len(table) <= 100:  # noqa: PLR2004 -- percent
        raise lines.cut_off(f"{_TABLE_EXPECTED}, for {len(table)} %")
    lines.require_line_end("after the time of 100 %")
    return table


def read_requests(source: Source) -> ToolFigures:
    """Return the figures of the table of ``-g``, which has failures and statuses of none.

    It has whole milliseconds, and begins in whole seconds; the first byte counts from when the request was
    sent. A connection is opened in no time where an open one is used.
    """
    left_out = LeftOut(source)
    blocks = (
        block.select(
            whole_nanoseconds("seconds", _NS_PER_S).alias(BEGIN),
            whole_nanoseconds("ttime", _NS_PER_MS).alias(TIME),
            polars.lit(ANSWERED, polars.Int16).alias(STATUS),
            polars.when(polars.col("ctime") > 0).then(whole_nanoseconds("ctime", _NS_PER_MS)).alias(CONNECT),
            whole_nanoseconds("wait", _NS_PER_MS).alias(FIRST_BYTE),
        )
        for block in tables(source, _REQUESTS, left_out)
    )
    figures = figures_of(source, _REQUESTS_FORM, blocks, left_out)
    require_long_window(source, figures.duration_s, "import ab's text, which has its time")
    return figures


@dataclass(frozen=True, slots=True)
class _Failures:
    """What ab calls failed."""

    connect: int = 0
    broken: int = 0
    length: int = 0
    """With another length than the first one; those that broke off are among them."""


def _failures(lines: Lines) -> _Failures:
    """Return what ab calls failed by its reasons."""
    failed = lines.count("Failed requests")
    what = "ab's failed requests by their reason"
    by_reason = lines.optional(_CLASSES, what)
    if by_reason is None:
        if failed:
            raise lines.cut_off(what)
        return _Failures()
    connect, receive, length, exceptions = (int(count or 0) for count in by_reason[1].groups())
    # A connection that is reset counts as both, and once more as an answer of another length.
    return _Failures(connect, max(receive, exceptions), length)


def _percentiles_shown(lines: Lines, count: int) -> Times | None:
    """Return the percentiles that the text has for people; ``None`` where it has none but zeros.

    They are the end of the text, so a text of several requests without them is cut off.
    """
    found = {int(match[1]): float(match[2]) for _, match in lines.all_of(_PERCENTILES_SHOWN)}
    if count > 1:
        lines.once(
            r" +100% +\d+ \((?:longest|last) request\)$",
            "the last line of ab's percentiles (100%), which -d leaves out",
        )
    elif count == 1:
        last, _ = lines.once(r"Total: +\d+ .*\d$", 'ab\'s line "Total:" of its connection times')
        lines.require_line_end("after ab's connection times", last)
    else:
        lines.once(r"Transfer rate: .* received$", 'ab\'s line "Transfer rate:"')
    table = {percent: time_ms for percent, time_ms in found.items() if time_ms}
    return _of_percentiles(table, count, 1.0) if table else None


def _extremes_shown(lines: Lines, count: int) -> Times | None:
    """Return the mean and the extremes that the HTML has; ``None`` where it has none but zeros."""
    if not count:
        return None
    what = 'ab\'s row "Total:" of its connection times'
    _, found = lines.once(r"Total: +(\d{1,15}) +(\d{1,15}) +(\d{1,15})$", what)
    shortest, mean, longest = (float(time_ms) or None for time_ms in found.groups())
    figures = {**dict.fromkeys(_SHOWN), "p99_9": None, "p99_99": None}
    distribution = Distribution(count=count, min=shortest, mean=mean, stddev=None, **figures, max=longest)
    return Times(distribution=distribution, completeness="summary", resolution_ms=1.0) if longest else None


def _of_percentiles(table: Mapping[int, float], count: int, resolution_ms: float) -> Times:
    figures = {name: table.get(percent) for name, percent in _SHOWN.items()}
    distribution = Distribution(
        count=count,
        min=table.get(0),
        mean=None,
        stddev=None,
        **figures,
        p99_9=None,
        p99_99=None,
        max=table.get(100),
    )
    return Times(distribution=distribution, completeness="percentiles", resolution_ms=resolution_ms)
