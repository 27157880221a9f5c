"""The table of statistics that locust writes (``--csv PREFIX``: ``PREFIX_stats.csv``).

Its times are of all requests, those that failed included. Medians and percentiles are of times that locust
rounds: to 1 ms below 100 ms, then to two digits.
"""

import csv
import io

from loadcurve.generate.tools.delimited import header_of
from loadcurve.generate.tools.figures import Times, ToolFigures
from loadcurve.generate.tools.percentiles import distribution
from loadcurve.generate.tools.source import Source, shown
from loadcurve.generate.tools.text_lines import Lines
from loadcurve.result.load import Operation

REQUIRED = (
    "Type", "Name", "Request Count", "Failure Count", "Average Response Time", "Min Response Time",
    "Max Response Time", "Requests/s",
)  # fmt: skip
_NAMES = {
    "50%": "p50", "75%": "p75", "90%": "p90", "95%": "p95", "99%": "p99",
    "99.9%": "p99_9", "99.99%": "p99_99",
}  # fmt: skip
_ALL = "Aggregated"
RESOLUTION_MS = 1.0

Row = dict[str, str]


def is_csv(head: bytes) -> bool:
    """Say whether a file begins as locust's table of statistics."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"Type,Name,Request Count,Failure Count,")


def read_csv(source: Source) -> ToolFigures:
    """Return the figures of locust's table of statistics."""
    lines = Lines(source)
    names = header_of(source)
    if missing := [name for name in REQUIRED if name not in names]:
        raise source.unreadable(1, f"no column {missing[0]}", f"the columns {', '.join(REQUIRED)}")
    rows = _rows(lines, names)
    if not rows or rows[-1][1]["Name"] != _ALL:
        raise lines.cut_off(f"a last line named {_ALL}")
    lines.require_line_end(f"after the line {_ALL}")
    number, total = rows[-1]
    requests, failed = (
        _count(lines, number, total, "Request Count"),
        _count(lines, number, total, "Failure Count"),
    )
    rate = lines.value(number, total["Requests/s"], "Requests/s")
    if not requests or rate <= 0 or failed > requests:
        raise source.unreadable(
            number, f"{requests:,} requests at {rate:g}/s, {failed:,} failed", "some requests"
        )
    return ToolFigures(
        tool="locust",
        version=None,
        basis="send",
        duration_s=requests / rate,
        answered=requests - failed,
        failed=failed,
        latency=_times(lines, number, total, requests) if not failed else None,
        operations=[_operation(lines, number, row) for number, row in rows if row["Name"] != _ALL],
    )


def _rows(lines: Lines, names: list[str]) -> list[tuple[int, Row]]:
    reader = csv.reader(io.StringIO("\n".join(lines.lines[1:]), newline=""))
    rows = []
    number = 2
    try:
        for fields in reader:
            if fields:
                if len(fields) != len(names):
                    found = f"{len(fields)} columns, {shown(','.join(fields))}"
                    raise lines.source.unreadable(number, found, f"{len(names)} columns", lines.read(number))
                rows.append((number, dict(zip(names, fields, strict=True))))
            number = reader.line_num + 2
    except csv.Error as error:
        raise lines.source.unreadable(
            number, str(error), "a line of locust's table", lines.read(number)
        ) from error
    return rows


def _count(lines: Lines, number: int, row: Row, name: str) -> int:
    value = lines.value(number, row[name], f"a whole number as {name}")
    if value < 0 or value != int(value):
        raise lines.source.unreadable(number, f"{name} {row[name]}", "a whole number", lines.read(number))
    return int(value)


def _operation(lines: Lines, number: int, row: Row) -> Operation:
    requests, failed = (
        _count(lines, number, row, "Request Count"),
        _count(lines, number, row, "Failure Count"),
    )
    if failed > requests:
        raise lines.source.unreadable(
            number, f"{failed:,} failures of {requests:,}", "fewer failures than requests"
        )
    return Operation(
        operation=f"{row['Type']} {row['Name']}".strip(),
        answered=requests - failed,
        failed=failed,
        latency_ms=(
            _times(lines, number, row, requests).distribution
            if not failed
            else distribution(requests - failed)
        ),
    )


def _times(lines: Lines, number: int, row: Row, count: int) -> Times:
    def figure(name: str) -> float:
        value = lines.value(number, row[name], f"a time in ms as {name}")
        if value < 0:
            raise lines.source.unreadable(
                number, f"{name} {row[name]}", "a time of 0 or more", lines.read(number)
            )
        return value

    given = {
        ours: figure(theirs) for theirs, ours in _NAMES.items() if row.get(theirs, "N/A") not in {"N/A", ""}
    }
    return Times(
        distribution=distribution(
            count,
            minimum=figure("Min Response Time"),
            mean=figure("Average Response Time"),
            maximum=figure("Max Response Time"),
            percentiles=given,
        ),
        completeness="percentiles",
        resolution_ms=RESOLUTION_MS,
    )
