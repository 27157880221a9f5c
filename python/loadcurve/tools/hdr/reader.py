"""Logs of HdrHistograms (``.hlog``): what HistogramLogWriter writes, in any of its versions.

A log does not say in which unit its values are. Where a comment of its writer does, as in ours and in YCSB's,
that counts; otherwise whoever gives the file has to say it. The window is all intervals together, which may
be of several trials. Tags, each of which would have its own window, are refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.result.histograms import Counted, NoHistogramError, decoded
from loadcurve.result.histograms import merged as merged_counts
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.samples import times_of_counts
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

UNITS: Mapping[str, int] = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""The length of each unit in ns."""
UNIT_COMMENT = "[Values are in nanoseconds]"
"""By which logs that this project writes say their unit."""
_YCSB_COMMENT = "[Logging for: "
_LINE = re.compile(
    r"(?:Tag=([^,\s]{1,200}),)?(\d{1,12}(?:\.\d{1,9})?),(\d{1,12}(?:\.\d{1,9})?),([^,]{1,40}),(\S+)"
)
_VERSIONS = {"1.00", "1.01", "1.1", "1.2", "1.3"}
LONGEST_NS = 10**18


@dataclass(frozen=True, slots=True)
class Interval:
    """What was counted between two moments of a log."""

    begin_s: float
    """As the log has it: since its start, or by the wall clock."""
    length_s: float
    counted: Counted
    """In ns."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it was written."""

    began_unix_s: float | None
    """When it began, by the wall clock."""
    intervals: Sequence[Interval]


def read_log(source: Source, unit_ns: int) -> Log:
    """Return the intervals of a log whose values have this unit; raises ``Unreadable``."""
    lines = Lines(source)
    lines.optional(r"#\[StartTime: ", "when the log begins")
    lines.optional(r'"StartTimestamp"', "the names of the log's columns")
    began, base = None, 0.0
    intervals: list[Interval] = []
    for number, line in enumerate(lines.lines, start=1):
        if line.startswith("#"):
            began = _comment(lines, number, line, "StartTime", began)
            base = _comment(lines, number, line, "BaseTime", base) or 0.0
            _require_version(lines, number, line)
            continue
        if line.strip() and not line.startswith('"StartTimestamp"'):
            intervals.append(_interval(lines, number, line, unit_ns))
    if not any(one.counted.total for one in intervals):
        raise source.unreadable(max(len(lines.lines), 1), "no time", "intervals with times")
    lines.require_line_end("as each interval has one")
    return Log(began if began is not None else base or None, intervals)


def is_log(head: bytes) -> bool:
    """Say whether a file begins as such a log."""
    return b"[Histogram log format version" in head or b'"Interval_Compressed_Histogram"' in head


def is_of_ycsb(head: bytes) -> bool:
    """Say whether a file begins as a log of YCSB, whose values are microseconds."""
    return is_log(head) and _YCSB_COMMENT.encode() in head


def is_in_ns(head: bytes) -> bool:
    """Say whether a file begins as a log that says that its values are nanoseconds."""
    return is_log(head) and UNIT_COMMENT.encode() in head


def read_ns(source: Source) -> ToolFigures:
    """Return the figures of a log of nanoseconds."""
    return _read(source, "hdr", UNITS["ns"])


def read_us(source: Source) -> ToolFigures:
    """Return the figures of a log of microseconds."""
    return _read(source, "hdr", UNITS["us"])


def read_ms(source: Source) -> ToolFigures:
    """Return the figures of a log of milliseconds."""
    return _read(source, "hdr", UNITS["ms"])


def read_ycsb(source: Source) -> ToolFigures:
    """Return the figures of a log that YCSB writes for one operation (``hdrhistogram.fileoutput=true``)."""
    return _read(source, "ycsb", UNITS["us"])


def _read(source: Source, tool: str, unit_ns: int) -> ToolFigures:
    log = read_log(source, unit_ns)
    duration_s = sum(one.length_s for one in log.intervals)
    if duration_s <= 0:
        raise source.unreadable(None, "intervals of no length", "intervals that take some time")
    parts = [one.counted for one in log.intervals if one.counted.total]
    merged = merged_counts(parts)
    latency: Times = times_of_counts(merged, unit_ns / UNITS["ms"])
    return ToolFigures(
        tool=tool,
        basis="send",
        duration_s=duration_s,
        answered=merged.total,
        failed=None,
        began_unix_s=log.began_unix_s,
        latency=latency,
    )


def _comment(lines: Lines, number: int, line: str, name: str, before: float | None) -> float | None:
    """Return a moment that a comment gives in seconds."""
    found = re.match(rf"#\[{name}: ([^ \]]+)", line)
    return before if found is None else lines.value(number, found[1], f"the {name} of a log in seconds")


def _require_version(lines: Lines, number: int, line: str) -> None:
    found = re.match(r"#\[Histogram log format version ([^ \]]+)", line)
    if found is not None and found[1] not in _VERSIONS:
        known = ", ".join(sorted(_VERSIONS))
        raise lines.source.unreadable(number, f"version {found[1]} of the format", f"one of {known}")


def _interval(lines: Lines, number: int, line: str, unit_ns: int) -> Interval:
    what = "an interval of a log of HdrHistograms: begin, length, longest time, histogram"
    found = _LINE.fullmatch(line.strip())
    if found is not None and found[1]:
        raise lines.source.unreadable(
            number, f"the tag {shown(found[1])}", "a log without tags: split it into one per tag"
        )
    if found is None:
        columns = line.count(",") + 1
        raise lines.source.unreadable(number, f"{columns} columns, {shown(line)}", what, lines.read(number))
    try:
        counted = decoded(found[5])
    except NoHistogramError as error:
        raise lines.source.unreadable(
            number, f"a histogram that cannot be read: {error}", what, lines.read(number)
        ) from error
    if len(counted.highest) and int(counted.highest[-1]) > LONGEST_NS // unit_ns:
        raise lines.source.unreadable(number, "times of more than thirty years", what, lines.read(number))
    # A time of 3 µs is between 3 and 4, and 3 is what its writer calls it.
    in_ns = Counted(counted.lowest * unit_ns, counted.highest * unit_ns, counted.counts)
    return Interval(float(found[2]), float(found[3]), in_ns)
