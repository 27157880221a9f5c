"""The text that YCSB prints; its logs of HdrHistograms are read by ``tools.hdr``, or by ``window``.

Percentiles are of single operations. Those of all together do not follow from them, so they are only known
where there was one operation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from loadcurve.generate.tools.figures import Times, ToolFigures
from loadcurve.generate.tools.percentiles import distribution
from loadcurve.generate.tools.source import Source, shown
from loadcurve.generate.tools.text_lines import Lines
from loadcurve.result.load import Operation

_US_PER_MS = 1e3
_MS_PER_S = 1e3
_LINE = re.compile(r"\[([A-Za-z0-9_%-]{1,60})\], ([^,]{1,80}), (\S{1,40})")
_PERCENTILE = re.compile(r"(\d{2}(?:\.\d{1,3})?)(?:st|nd|rd|th)?PercentileLatency\(us\)")
_NAMES = {
    "50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99", "99.9": "p99_9", "99.99": "p99_99",
}  # fmt: skip
INTENDED = "Intended-"
"""What precedes the name of an operation whose latencies count from when it was due."""
_FAILED, _RETURN, _UNIT = "-FAILED", "Return=", "(us)"
_OF_NOTHING = {"NaN", str(2**63 - 1)}
"""The mean and the least time of an operation of which none was answered."""
_BOTH = "READ-MODIFY-WRITE"
_NOT_OF_THE_LOAD = {"OVERALL", "CLEANUP", _BOTH}
"""The last one has its parts, which are counted, too."""


@dataclass
class Part:
    """What is said of one name: an operation, or its latencies from when it was due."""

    count: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    returned: dict[str, int] = field(default_factory=dict)
    """How often an operation had which status."""
    names: set[str] = field(default_factory=set)
    """Of all that is said of it; how its results are counted is the end of that."""


def is_text(head: bytes) -> bool:
    """Say whether a file has YCSB's text."""
    return b"[OVERALL], RunTime(ms), " in head or b"[OVERALL], Throughput(ops/sec), " in head


def read_text(source: Source) -> ToolFigures:
    """Return the figures of YCSB's text."""
    lines = Lines(source)
    runtime_ms = lines.number(r"\[OVERALL\], RunTime\(ms\), (\S+)$", "YCSB's line [OVERALL], RunTime(ms)")
    rate = lines.number(
        r"\[OVERALL\], Throughput\(ops/sec\), (\S+)$", "YCSB's line [OVERALL], Throughput(ops/sec)"
    )
    if runtime_ms <= 0 or rate <= 0:
        raise source.unreadable(None, "a run of no time, or without operations", "operations, and their time")
    parts = parts_of(lines)
    measured = {name: part for name, part in parts.items() if _is_of_load(name) and part.count}
    if not measured:
        raise source.unreadable(len(lines.lines), "no operation", "lines such as [READ], Operations, 1000")
    failed = sum(part.count for name, part in measured.items() if _is_failed(name, parts))
    answered = sum(part.count for part in measured.values()) - failed
    _require_all(lines, parts, answered + failed, round(rate * runtime_ms / _MS_PER_S))
    is_due = any(name.startswith(INTENDED) for name in parts)
    of_the_load = [name for name in measured if not _is_failed(name, parts)]
    operations = [_operation(name, parts, measured) for name in of_the_load]
    alone = of_the_load[0] if len(of_the_load) == 1 else None
    return ToolFigures(
        tool="ycsb",
        version=None,
        basis="due" if is_due else "send",
        duration_s=runtime_ms / _MS_PER_S,
        answered=answered,
        failed=failed,
        latency=_times(parts.get(INTENDED + alone, measured[alone])) if alone else None,
        operations=operations,
    )


def _require_all(lines: Lines, parts: Mapping[str, Part], measured: int, total: int) -> None:
    """Raise ``Unreadable`` where the text ends before it has said all of its operations.

    Each transaction measures one operation, but a modification two, which it counts once more together.
    Inserts that are tried again are measured each time.
    """
    lines.require_line_end("after YCSB's last figure")
    of_load = {name: part for name, part in parts.items() if _is_of_load(name) and part.count}
    for name, part in of_load.items():
        if not _is_failed(name, parts) and not any(one.startswith(_RETURN) for one in part.names):
            raise lines.cut_off(f"a line such as [{name}], Return=OK, 1000")
    for name in of_load if any(one.startswith(INTENDED) for one in parts) else ():
        intended = parts.get(INTENDED + name, Part())
        missing = [one for one in of_load[name].names if one.endswith(_UNIT) and one not in intended.names]
        if missing and not _is_failed(name, parts):
            raise lines.cut_off(f"[{INTENDED}{name}], {missing[0]}")
    modifications = parts.get(_BOTH, Part()).count
    if measured - modifications < total:
        found = f"{measured - modifications:,} operations"
        what = f"the {total:,} that follow from its throughput: it is truncated"
        place = len(lines.lines)
        raise lines.source.unreadable(place, found, what, lines.read(place + 1))


def _is_of_load(name: str) -> bool:
    return name not in _NOT_OF_THE_LOAD and not name.startswith(INTENDED)


def parts_of(lines: Lines) -> dict[str, Part]:
    """Return the lines by their operation."""
    parts: dict[str, Part] = {}
    for number, line in enumerate(lines.lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            if line.startswith("[") and "]," in line:
                raise lines.source.unreadable(
                    number, shown(line), "[OPERATION], figure, number", lines.read(number)
                )
            continue
        part = parts.setdefault(found[1], Part())
        name, text = found[2], found[3]
        if name in part.names:
            what = "the output of one run; split the file into one per run"
            raise lines.source.unreadable(number, f"{shown(line)} once more", what, lines.read(number))
        part.names.add(name)
        if name == "Operations":
            part.count = _count(lines, number, text)
        elif name.startswith(_RETURN):
            part.returned[name.removeprefix(_RETURN)] = _count(lines, number, text)
        elif name.endswith(_UNIT) and text not in _OF_NOTHING:
            part.figures[name] = lines.value(number, text, "a number of microseconds")
    return parts


def _count(lines: Lines, number: int, text: str) -> int:
    # Some versions write counts as 1000.0.
    value = lines.value(number, text, "a number of operations")
    if value < 0 or value != int(value):
        raise lines.source.unreadable(number, shown(text), "a number of operations", lines.read(number))
    return int(value)


def _is_failed(name: str, parts: Mapping[str, Part]) -> bool:
    """Say whether a name is of an operation's failures, of all together or of those with one status."""
    operation, _, status = name.rpartition("-")
    return name.endswith(_FAILED) or (operation in parts and status in parts[operation].returned)


def _operation(name: str, parts: dict[str, Part], measured: dict[str, Part]) -> Operation:
    failed = [
        part.count
        for other, part in measured.items()
        if other.rpartition("-")[0] == name and _is_failed(other, parts)
    ]
    return Operation(
        operation=name.lower(),
        answered=measured[name].count,
        failed=sum(failed),
        latency_ms=_times(parts.get(INTENDED + name, measured[name])).distribution,
    )


def _times(part: Part) -> Times:
    percentiles = {}
    for name, time_us in part.figures.items():
        found = _PERCENTILE.fullmatch(name)
        if found and time_us >= 0 and (ours := _NAMES.get(found[1])):
            percentiles[ours] = time_us / _US_PER_MS
    minimum, mean, maximum = (
        None if (value := part.figures.get(f"{name}Latency(us)")) is None or value < 0 else value / _US_PER_MS
        for name in ("Min", "Average", "Max")
    )
    return Times(
        distribution=distribution(
            part.count, minimum=minimum, mean=mean, maximum=maximum, percentiles=percentiles
        ),
        completeness="percentiles",
        resolution_ms=1e-3,
    )
