"""What hey prints: its text, and the CSV of ``-o csv``.

Its latencies are of the first million requests, so that a CSV of a million may be a part, and times have
four decimals of a second. The CSV leaves out failures.
"""

import re

import polars

from loadcurve.tools.delimited import DECIMAL, WHOLE_NUMBER, Table, header_of, tables
from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.requests import (
    BEGIN,
    CONNECT,
    FIRST_BYTE,
    STATUS,
    TIME,
    Form,
    figures_of,
    nanoseconds,
    nanoseconds_above_zero,
)
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines

TESTED = {
    "hey-csv": ("0.1.1", "0.1.5"),
    "hey-text": ("0.1.0", "0.1.1", "0.1.5"),
}
"""By format, the versions whose real output it is tested with."""
RESOLUTION_MS = 0.1
KEPT_MAX = 1_000_000
"""The most requests of which hey keeps the times."""
_NS_PER_S = 10**9
_MS_PER_S = 1e3
COLUMNS = (
    "response-time", "DNS+dialup", "DNS", "Request-write", "Response-delay", "Response-read", "status-code",
    "offset",
)  # fmt: skip
CSV = Table(
    what="a line of hey's CSV",
    columns=COLUMNS,
    used={
        "response-time": DECIMAL,
        "DNS+dialup": DECIMAL,
        "Response-delay": DECIMAL,
        "status-code": WHOLE_NUMBER,
        "offset": DECIMAL,
    },
    is_of_one_load=True,
)
_HISTOGRAM, _STATUSES, _ERRORS = (
    "Response time histogram:",
    "Status code distribution:",
    "Error distribution:",
)
_PERCENTILES = {"50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99"}


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as hey's CSV."""
    return head.startswith((",".join(COLUMNS).encode(), b"response-time,", b"response-time\n"))


def is_text(head: bytes) -> bool:
    """Say whether a file begins as hey's text."""
    is_summary = re.search(rb"^[ \t]{0,20}Summary:[ \t]{0,20}$", head, re.MULTILINE) is not None
    is_hey = b"Response time histogram:" in head and b"secs" in head and b"Success rate:" not in head
    return is_summary and is_hey


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of a CSV of hey; raises ``Unreadable`` for that of 0.1.0, which has no moments."""
    names = header_of(source)
    if missing := [name for name in COLUMNS if name not in names]:
        expected = f"hey's columns {','.join(COLUMNS)}; without them import its text"
        raise source.unreadable(1, f"no column {missing[-1]}", expected)
    left_out = LeftOut(source)
    blocks = (
        block.select(
            nanoseconds("offset", _NS_PER_S).alias(BEGIN),
            nanoseconds("response-time", _NS_PER_S).alias(TIME),
            polars.col("status-code").cast(polars.Int16, strict=False).alias(STATUS),
            nanoseconds_above_zero("DNS+dialup", _NS_PER_S).alias(CONNECT),
            nanoseconds("Response-delay", _NS_PER_S).alias(FIRST_BYTE),
        )
        for block in tables(source, CSV, left_out)
    )
    form = Form(tool="hey", resolution_ms=RESOLUTION_MS, is_epoch=False, has_failures=False)
    return figures_of(source, form, blocks, left_out)


def read_text(source: Source) -> ToolFigures:
    """Return the figures of a text of hey."""
    lines = Lines(source)
    took, rate = (
        _printed(lines, rf"\s*{label}$", f"hey's line {name}")
        for label, name in ((r"Total:\s+(\S+) secs", "Total"), (r"Requests/sec:\s+(\S+)", "Requests/sec"))
    )
    status, failures, is_known = _outcomes(lines)
    answered = sum(status.values())
    total = answered + sum(failures.values())
    if not total or took.value <= 0:
        raise source.unreadable(len(lines.lines), "no response and no error", "the responses of a load")
    counted = total if is_known else answered
    require_all(lines, counted, rate, took)
    window = window_of(counted, rate, took)
    kept = min(answered, KEPT_MAX)
    # Where nothing was answered they are 0 and NaN.
    names = ("Slowest", "Fastest", "Average") if answered else ()
    figure = {
        name: lines.number(rf"\s*{name}:\s+(\d\S*) secs$", f"hey's line {name}") * _MS_PER_S for name in names
    }
    percentiles = {}
    for number, line in enumerate(lines.lines, start=1):
        if found := re.fullmatch(r"\s*(\d{1,2})%+ in (\S+) secs", line, re.ASCII):
            name = _PERCENTILES.get(found[1])
            value = lines.value(number, found[2], "a time of hey's text") * _MS_PER_S
            if name is not None and value > 0:
                percentiles[name] = value
    latency = Times(
        distribution=distribution(
            kept,
            minimum=figure.get("Fastest"),
            # Of more requests hey divides the sum of all by the number of those that it keeps.
            mean=figure.get("Average") if answered == kept else None,
            maximum=figure.get("Slowest"),
            percentiles=percentiles,
        ),
        completeness="percentiles" if answered == kept else "sampled",
        resolution_ms=RESOLUTION_MS,
    )
    found_bytes = lines.optional(r"\s*Total data:\s+(\d{1,18}) bytes$", "hey's line Total data")
    return ToolFigures(
        tool="hey",
        basis="send",
        duration_s=window.duration_s,
        answered=answered,
        failed=total - answered if is_known or failures else None,
        errors=errors_of(failures) if is_known or failures else {},
        status=status,
        latency=latency,
        bytes_body=int(found_bytes[1][1]) if found_bytes else None,
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _printed(lines: Lines, pattern: str, what: str) -> Printed:
    number, found = lines.once(pattern, what)
    return lines.printed(number, found[1], what)


def _outcomes(lines: Lines) -> tuple[dict[str, int], dict[str, int], bool]:
    """Return the answers by status, the failures by their texts, and whether all failures are there for sure.

    Version 0.1.0 has its statuses before its histogram, and its errors behind all: without them it is not
    known whether there were none, as its rate is that of the answers.
    """
    begin, _ = lines.once(_STATUSES + "$", "hey's part Status code distribution")
    histogram, _ = lines.once(_HISTOGRAM + "$", "hey's part Response time histogram")
    if is_newer := begin > histogram:
        return *counts_of(lines, begin, len(lines.lines), "hey"), is_newer
    status, _ = counts_of(lines, begin, histogram - 1, "hey")
    errors = lines.optional(_ERRORS + "$", "hey's part Error distribution")
    if errors is None:
        lines.once(r"\s+90% in \S+ secs$", "hey's percentiles")
        return status, {}, is_newer
    return status, counts_of(lines, errors[0], len(lines.lines), "hey")[1], is_newer


def counts_of(lines: Lines, begin: int, end: int, tool: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the answers by status and the failures by their texts that are between two lines.

    oha prints them likewise. Raises ``Unreadable``.
    """
    status: dict[str, int] = {}
    failures: dict[str, int] = {}
    is_whole = False
    for number, line in enumerate(lines.lines[begin:end], start=begin + 1):
        is_whole = line.endswith(" responses")
        if found := re.fullmatch(r"\s*\[([1-5])\d\d\]\s+(\d{1,15}) responses", line, re.ASCII):
            status[f"{found[1]}xx"] = status.get(f"{found[1]}xx", 0) + int(found[2])
        elif found := re.fullmatch(r"\s*\[(\d{1,15})\]\s+(.*)", line, re.ASCII):
            failures[found[2]] = failures.get(found[2], 0) + int(found[1])
        elif line and line != _ERRORS and not line[0].isspace():
            # The prompt of a shell, behind all that the tool prints.
            break
        elif line and line != _ERRORS:
            expected = f"a status with its responses, or an error, of {tool}'s text"
            raise lines.source.unreadable(number, repr(line[:60]), expected, lines.read(number))
    else:
        if not is_whole:
            lines.require_line_end(f"after {tool}'s last count")
    return status, failures


def require_all(lines: Lines, total: int, rate: Printed, took: Printed) -> None:
    """Raise ``Unreadable`` where the text ends before it has counted all of its requests."""
    expected = rate.value * took.value
    if total < expected - 1 - rate.step * took.value - took.step * rate.value:
        what = f"all of the {expected:,.0f} requests that follow from its rate, by status and by error"
        found = f"{total:,} requests by status and by error"
        raise lines.source.unreadable(
            len(lines.lines), found, f"{what}: it is truncated", lines.read(len(lines.lines) + 1)
        )
