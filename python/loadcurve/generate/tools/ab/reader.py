"""What ApacheBench 2.3 prints, and its tables: of requests (-g), and of percentiles (-e)."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from loadcurve.generate.tools.counts import NS_PER_MS, times_of_counts
from loadcurve.generate.tools.figures import Asked, Times, ToolFigures, Unreadable
from loadcurve.generate.tools.lines import Lines
from loadcurve.result.distribution import Distribution

_TABLE_EXPECTED: Final = 'lines of a percentage and a time in ms, such as "50,0.412"'
_REQUESTS_EXPECTED: Final = "six columns: starttime, seconds, ctime, dtime, ttime and wait"
_REQUESTS_HEAD: Final = ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]
_SHOWN = {"p50": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}


def read_text(text: str, file: str, percentiles: Mapping[int, float] | None = None) -> ToolFigures:
    """Return the figures of the text, with the percentiles of a table in ms where there is one.

    Without it those of the text, in whole ms, of which 0 is none.

    Raises ``Unreadable``.
    """
    lines = Lines(text, file)
    answered = lines.count("Complete requests")
    of_class = lines.optional(r"\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)")
    failed = lines.count("Failed requests")
    connect, receive, length, exceptions = map(int, of_class) if of_class else (failed, 0, 0, 0)
    # A connection that is reset counts as both, and once more as an answer of another length.
    broken = max(receive, exceptions)
    errors = connect + broken
    found = lines.optional(r"^This is ApacheBench, Version (\S+)")
    seconds = 'a line "Time taken for tests:" with seconds'
    host, port, path = (
        lines.optional(rf"^{label}: +(\S+)") for label in ("Server Hostname", "Server Port", "Document Path")
    )
    kept = lines.optional(r"^(Keep-Alive) requests:")
    return ToolFigures(
        tool="ab",
        version=found[0] if found else None,
        basis="send",
        duration_s=lines.number(r"^Time taken for tests: +(\S+) seconds", seconds, float),
        answered=max(answered - errors, 0),
        ok=max(answered - errors - lines.count_or_none("Non-2xx responses"), 0),
        failed=errors,
        other_length=max(length - broken, 0),
        latency=_of_percentiles(percentiles, answered, 0.001) if percentiles else _of_text(text, answered),
        bytes_received=int(lines.groups(r"^Total transferred: +(\d+) bytes", "the bytes transferred")[0]),
        bytes_body=int(lines.groups(r"^HTML transferred: +(\d+) bytes", "the bytes of bodies")[0]),
        asked=Asked(
            target=f"{host[0]}:{port[0]}" if host and port else None,
            paths=[path[0]] if path else [],
            connections=lines.count("Concurrency Level"),
            http="1.0",
            is_kept_alive=kept is not None,
        ),
    )


def read_percentiles(text: str, file: str) -> dict[int, float]:
    """Return the times in ms of the percentages 0 to 100 of the table of ``-e``; raises ``Unreadable``."""
    table = {}
    for number, line in enumerate(text.splitlines()[1:], start=2):
        percent, _, time_ms = line.partition(",")
        try:
            table[int(percent)] = float(time_ms)
        except ValueError as error:
            raise Unreadable(file, number, f'"{line}"', _TABLE_EXPECTED) from error
    if not table:
        raise Unreadable(file, None, "no line", _TABLE_EXPECTED)
    return table


def read_requests(text: str, file: str) -> Mapping[str, Times]:
    """Return the distributions of the table of ``-g``: ``latency``, ``connect`` and ``first_byte``.

    It has whole milliseconds; the first byte counts from when the request was sent. Raises ``Unreadable``.
    """
    first, *rows = text.splitlines() or [""]
    if first.split("\t") != _REQUESTS_HEAD:
        raise Unreadable(file, 1, f'"{first[:200]}"', _REQUESTS_EXPECTED)
    counted: dict[str, Counter[int]] = {"connect": Counter(), "latency": Counter(), "first_byte": Counter()}
    for number, row in enumerate(rows, start=2):
        try:
            _, _, connect_ms, _, total_ms, wait_ms = row.split("\t")
            for name, time_ms in (("connect", connect_ms), ("latency", total_ms), ("first_byte", wait_ms)):
                counted[name][int(time_ms)] += 1
        except ValueError as error:
            read = f"{number - 2:,} requests"
            raise Unreadable(file, number, f'"{row[:200]}"', _REQUESTS_EXPECTED, read) from error
    return {name: times_of_counts(counts, NS_PER_MS) for name, counts in counted.items()}


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


def _of_text(text: str, count: int) -> Times | None:
    """Return the percentiles that the text has for people; ``None`` where it has none but zeros."""
    found = re.findall(r"^ +(\d+)% +(\d+)(?: \(longest request\))?$", text, re.MULTILINE)
    table = {int(percent): float(time_ms) for percent, time_ms in found if int(time_ms)}
    return _of_percentiles(table, count, 1.0) if table else None
