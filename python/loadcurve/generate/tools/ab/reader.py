"""What ApacheBench 2.3 prints, and its tables: of requests (-g), and of percentiles (-e)."""

from collections.abc import Mapping
from typing import Final

import polars

from loadcurve.generate.tools.delimited import ANY_TEXT, WHOLE_NUMBER, Table, tables
from loadcurve.generate.tools.figures import Asked, Times, ToolFigures
from loadcurve.generate.tools.left_out import LeftOut
from loadcurve.generate.tools.requests import (
    ANSWERED,
    BEGIN,
    CONNECT,
    FIRST_BYTE,
    STATUS,
    TIME,
    Form,
    figures_of,
    require_long_window,
    together,
)
from loadcurve.generate.tools.source import Source
from loadcurve.generate.tools.text_lines import Lines
from loadcurve.result.distribution import Distribution

_NS_PER_S, _NS_PER_MS = 10**9, 10**6
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
_SHOWN = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}
_PERCENTILES_SHOWN = r" +(\d{1,3})% +(\d{1,15})(?: \((?:longest|last) request\))?$"
_CLASSES = r"\s*\(Connect: (\d+), (?:Receive: (\d+), )?Length: (\d+), Exceptions: (\d+)\)$"


def is_text(head: bytes) -> bool:
    """Say whether a file begins as the text of ab."""
    return b"This is ApacheBench" in head


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
    answered = lines.count("Complete requests")
    connect, broken, other_length = _failures(lines)
    errors = connect + broken
    duration_s = lines.number(r"Time taken for tests: +(\S+) seconds$", 'ab\'s line "Time taken for tests:"')
    received, body = (
        int(lines.number(rf"{label} transferred: +(\S+) bytes$", f'ab\'s line "{label} transferred:"'))
        for label in ("Total", "HTML")
    )
    concurrency = lines.count("Concurrency Level")
    host, port, path = (
        lines.optional(rf"{label}: +(\S+)$", f'ab\'s line "{label}:"')
        for label in ("Server Hostname", "Server Port", "Document Path")
    )
    wrong = lines.count_or_none("Non-2xx responses") or 0
    shown = _percentiles_shown(lines, answered)
    if duration_s <= 0:
        raise source.unreadable(None, "a test that took no time", "the requests of a load")
    version = lines.optional(r"This is ApacheBench, Version (\S+)", "ab's first line")
    return ToolFigures(
        tool="ab",
        version=version[1][1] if version else None,
        basis="send",
        duration_s=duration_s,
        answered=max(answered - errors, 0),
        ok=max(answered - errors - wrong, 0),
        failed=errors,
        other_length=max(other_length - broken, 0),
        latency=_of_percentiles(percentiles, answered, 0.001) if percentiles else shown,
        bytes_received=received,
        bytes_body=body,
        asked=Asked(
            target=f"{host[1][1]}:{port[1][1]}" if host and port else None,
            paths=[path[1][1]] if path else [],
            connections=concurrency,
            http="1.0",
        ),
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
            (polars.col("seconds") * _NS_PER_S).alias(BEGIN),
            (polars.col("ttime") * _NS_PER_MS).alias(TIME),
            polars.lit(ANSWERED, polars.Int16).alias(STATUS),
            polars.when(polars.col("ctime") > 0).then(polars.col("ctime") * _NS_PER_MS).alias(CONNECT),
            (polars.col("wait") * _NS_PER_MS).alias(FIRST_BYTE),
        )
        for block in tables(source, _REQUESTS, left_out)
    )
    figures = figures_of(source, _REQUESTS_FORM, together(blocks), left_out)
    require_long_window(source, figures.duration_s, "import ab's text, which has its time")
    return figures


def _failures(lines: Lines) -> tuple[int, int, int]:
    """Return how many could not connect, broke off, and had another length, of those that ab calls failed."""
    failed = lines.count("Failed requests")
    what = "ab's failed requests by their reason"
    by_reason = lines.optional(_CLASSES, what)
    if by_reason is None:
        if failed:
            raise lines.cut_off(what)
        return 0, 0, 0
    connect, receive, length, exceptions = (int(count or 0) for count in by_reason[1].groups())
    # A connection that is reset counts as both, and once more as an answer of another length.
    return connect, max(receive, exceptions), length


def _percentiles_shown(lines: Lines, count: int) -> Times | None:
    """Return the percentiles that the text has for people; ``None`` where it has none but zeros.

    They are the end of the text, so a text of several requests without them is cut off.
    """
    found = {int(match[1]): float(match[2]) for _, match in lines.all_of(_PERCENTILES_SHOWN)}
    if count > 1:
        lines.once(r" +100% +\d+ \((?:longest|last) request\)$", "the last line of ab's percentiles (100%)")
    elif count == 1:
        lines.once(r"Total: +\d+ .*\d$", 'ab\'s line "Total:" of its connection times')
        lines.require_line_end("after ab's connection times")
    else:
        lines.once(r"Transfer rate: .* received$", 'ab\'s line "Transfer rate:"')
    table = {percent: time_ms for percent, time_ms in found.items() if time_ms}
    return _of_percentiles(table, count, 1.0) if table else None


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
