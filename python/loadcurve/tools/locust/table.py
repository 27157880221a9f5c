"""The columns of locust's CSV files, by one name each: versions differ in their names, and in their numbers.

Until 1.2 the names stood in quotes, and the times were cut off to whole ms, so that 0 is none.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.tools.delimited import header_of, require_each_once
from loadcurve.tools.figures import Times
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

TYPE, NAME, REQUESTS, FAILURES = "type", "name", "request count", "failure count"
MEDIAN, MEAN, SHORTEST, LONGEST = (
    "median response time",
    "average response time",
    "min response time",
    "max response time",
)
RATE, TIMESTAMP, ALL_TIMES = "requests/s", "timestamp", "100%"
USERS = "user count"
TOTAL_UNTIL_0_11 = "Total"
TOTALS = {"Aggregated", TOTAL_UNTIL_0_11}
"""What locust calls the sum of all requests."""
_STEPS_MS = ((10_000.0, 1_000.0), (1_000.0, 100.0), (100.0, 10.0))
"""From which time on percentiles are multiples of how much; below they are whole ms."""
_RENAMED = {"method": TYPE, "# requests": REQUESTS, "# failures": FAILURES}
_PERCENTILES = {
    "50%": "p50", "75%": "p75", "90%": "p90", "95%": "p95", "99%": "p99",
    "99.9%": "p99_9", "99.99%": "p99_99",
}  # fmt: skip
_KEPT_OF_LONGEST = 0.5
"""The least share of the longest time that the percentile for all has; locust rounds that to two digits."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line, with its number."""

    lines: Lines
    number: int
    fields: dict[str, str]

    def value(self, name: str) -> float:
        """Return a number of 0 or more; raises ``Unreadable``."""
        value = self.lines.value(self.number, self.fields[name], f"a number as {name}")
        if value < 0:
            raise self.unreadable(f"{name} {self.fields[name]}", "a number of 0 or more")
        return value

    def count(self, name: str) -> int:
        """Return a whole number; raises ``Unreadable``."""
        value = self.value(name)
        if value != int(value):
            raise self.unreadable(f"{name} {self.fields[name]}", "a whole number")
        return int(value)

    def outcomes(self) -> tuple[int, int]:
        """Return how many requests there were, and how many failed; raises ``Unreadable``."""
        requests, failed = self.count(REQUESTS), self.count(FAILURES)
        if failed > requests:
            raise self.unreadable(f"{failed:,} failures of {requests:,}", "fewer failures than requests")
        return requests, failed

    def time_ms(self, name: str) -> float | None:
        """Return a time; ``None`` where it is below a ms and was rounded to 0."""
        return self.value(name) or None

    def times(self, count: int, percentiles: dict[str, float]) -> Times:
        """Return the figures of the times of all requests."""
        return Times(
            distribution=distribution(
                count,
                minimum=self.time_ms(SHORTEST),
                mean=self.time_ms(MEAN),
                maximum=self.time_ms(LONGEST),
                percentiles=percentiles,
            ),
            completeness="percentiles",
            resolution_ms=step_ms(max(percentiles.values(), default=0.0)),
        )

    def percentiles(self) -> dict[str, float]:
        """Return those that it has, in ms; the oldest tables have the median alone."""
        found = {
            ours: self.time_ms(theirs)
            for theirs, ours in _PERCENTILES.items()
            if self.fields.get(theirs, "N/A") not in {"N/A", ""}
        }
        if "50%" not in self.fields and MEDIAN in self.fields:
            found["p50"] = self.time_ms(MEDIAN)
        return {name: time_ms for name, time_ms in found.items() if time_ms is not None}

    def unreadable(self, found: str, expected: str) -> Exception:
        """Return the error that it is not what was expected."""
        return self.lines.source.unreadable(self.number, found, expected, self.lines.read(self.number))


@dataclass(frozen=True, slots=True)
class LocustTable:
    """A file, read as a whole."""

    lines: Lines
    names: Sequence[str]
    rows: Sequence[Row]
    is_rounded: bool
    """Whether it is of a version until 1.2, which wrote whole ms, and did not end the last line."""

    def require_end(self) -> None:
        """Raise ``Unreadable`` where the last line may be cut off."""
        if not self.is_rounded:
            self.lines.require_line_end("of the sum of all requests")
            return
        last, name = self.rows[-1], self.names[-1]
        text = last.fields[name]
        if name == RATE:
            is_whole = text[-3:-2] == "."
        elif name == ALL_TIMES and text.isdecimal():
            is_whole = float(text) >= last.value(LONGEST) * _KEPT_OF_LONGEST
        else:
            is_whole = bool(text)
        if not is_whole:
            raise last.unreadable(f"{name} {shown(text)}", "a whole last line: it is truncated")


def step_ms(time_ms: float) -> float:
    """Return the step between two percentiles near this one.

    Source: ``locust/stats.py`` of locust 2.47, where each time is rounded before it is counted.
    """
    return next((step for least, step in _STEPS_MS if time_ms >= least), 1.0)


def begins_with(head: bytes, *columns: str) -> bool:
    """Say whether a file begins with the names of these columns, in quotes or without."""
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].replace(b'"', b"")
    return first.startswith(",".join(columns).encode() + b",")


def table_of(source: Source, required: Sequence[str]) -> LocustTable:
    """Return a CSV file of locust; raises ``Unreadable`` where a column is missing or a line is not whole."""
    lines = Lines(source)
    names = [_name(name) for name in header_of(source)]
    if missing := [name for name in required if name not in names]:
        raise source.unreadable(1, f"no column {missing[0]}", f"the columns {', '.join(required)}")
    require_each_once(source, names, "locust")
    is_rounded = lines.lines[0].lstrip("\ufeff").startswith('"')
    return LocustTable(lines, names, _rows(lines, names), is_rounded)


def _name(written: str) -> str:
    name = written.lower().removeprefix("total ")
    return _RENAMED.get(name, name)


def _rows(lines: Lines, names: Sequence[str]) -> list[Row]:
    reader = csv.reader(io.StringIO("\n".join(lines.lines[1:]), newline=""))
    rows = []
    number = 2
    try:
        for fields in reader:
            if fields:
                if len(fields) != len(names):
                    found = f"{len(fields)} columns, {shown(','.join(fields))}"
                    raise lines.source.unreadable(number, found, f"{len(names)} columns", lines.read(number))
                rows.append(Row(lines, number, dict(zip(names, fields, strict=True))))
            number = reader.line_num + 2
    except csv.Error as error:
        raise lines.source.unreadable(
            number, str(error), "a line of locust's table", lines.read(number)
        ) from error
    return rows
