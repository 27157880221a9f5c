"""The text that YCSB prints; its logs of HdrHistograms are read by ``tools.hdr``, or by ``window``.

Percentiles are of single operations. Those of all together do not follow from them, so they are only known
where there was one operation.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadcurve.result.load import Operation
from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.figures import Asked, Times, ToolFigures
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.source import Source, shown
from loadcurve.tools.text_lines import Lines

TESTED = {
    "ycsb-text": ("0.17.0",),
    "ycsb-hdr": ("0.17.0",),
}
"""By format, the versions whose real output it is tested with."""
_MS_PER_S = 1e3
_LINE = re.compile(r"\[([A-Za-z0-9_%-]{1,60})\], ([^,]{1,80}), (\S{1,40})")
_PERCENTILE = re.compile(r"(\d{2}(?:\.\d{1,3})?)(?:st|nd|rd|th)?PercentileLatency")
_NAMES = {
    "50": "p50", "75": "p75", "90": "p90", "95": "p95", "99": "p99", "99.9": "p99_9", "99.99": "p99_99",
}  # fmt: skip
INTENDED = "Intended-"
"""What precedes the name of an operation whose latencies count from when it was due."""
_FAILED, _RETURN = "-FAILED", "Return="
_UNITS = {"(us)": 1e3, "(ms)": 1.0}
"""Of latencies, in one ms; versions until 0.1.4 have some in ms."""
_RIGHT = {"OK", "BATCHED_OK", "0"}
"""Statuses of operations that have not failed; the last one is that of versions until 0.1.4."""
_OF_NOTHING = {"NaN", str(2**63 - 1)}
"""The mean and the least time of an operation that was never answered."""
BOTH = "READ-MODIFY-WRITE"
"""One operation, whose read and update are measured by themselves, too."""
_NOT_OF_THE_LOAD = {"OVERALL", "CLEANUP"}
_COMMAND = r"Command line: .*"


@dataclass
class Part:
    """What is said of one name: an operation, or its latencies from when it was due."""

    count: int = 0
    figures: dict[str, float] = field(default_factory=dict)
    """Latencies in ms, by what they are, such as ``Average``."""
    returned: dict[str, int] = field(default_factory=dict)
    """How often an operation had which status."""
    names: set[str] = field(default_factory=set)
    """Of all that is said of it; how its results are counted is the end of that."""

    @property
    def failed(self) -> int:
        """How many ended with a status other than a right one."""
        return sum(count for status, count in self.returned.items() if status not in _RIGHT)

    @property
    def counts_failures(self) -> bool:
        """Whether those that failed are among its operations, as in versions until 0.1.4."""
        return self.failed > 0 and self.count == sum(self.returned.values())


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
    if runtime_ms <= 0 or rate < 0:
        raise source.unreadable(None, "a run of no time", "operations, and their time")
    parts = parts_of(lines)
    operations = [_operation(name, parts) for name, part in parts.items() if _is_operation(name, parts)]
    counted = [one for one in operations if one.operation != _operation_name(BOTH)]
    # A read and an update of each are measured once more by themselves.
    both = parts[BOTH].count if BOTH in parts else 0
    failed = sum(one.failed for one in counted)
    answered = sum(one.answered for one in counted) - both
    if answered + failed <= 0:
        raise source.unreadable(len(lines.lines), "no operation", "lines such as [READ], Operations, 1000")
    _require_all(lines, parts, answered + failed, round(rate * runtime_ms / _MS_PER_S))
    is_due = any(name.startswith(INTENDED) for name in parts)
    return ToolFigures(
        tool="ycsb",
        basis="due" if is_due else "send",
        duration_s=runtime_ms / _MS_PER_S,
        answered=answered,
        failed=failed,
        ok=answered,
        latency=_times_of_all(operations, parts),
        operations=operations,
        asked=_asked(lines),
        notes=_notes(parts),
    )


def _require_all(lines: Lines, parts: Mapping[str, Part], found: int, total: int) -> None:
    """Raise ``Unreadable`` where the text ends before it has said all of its operations.

    Inserts that are tried again are measured each time.
    """
    *_, (last, _) = lines.all_of(r"\[[A-Z]")
    lines.require_line_end("after YCSB's last figure", last)
    of_load = {name: part for name, part in parts.items() if _is_of_load(name) and part.count}
    for name, part in of_load.items():
        has_status = any(one.startswith(_RETURN) for one in part.names)
        if name != BOTH and not _is_failed(name, parts) and not has_status:
            raise lines.cut_off(f"a line such as [{name}], Return=OK, 1000")
    for name in of_load if any(one.startswith(INTENDED) for one in parts) else ():
        intended = parts.get(INTENDED + name, Part())
        missing = [one for one in of_load[name].names if one.endswith(")") and one not in intended.names]
        if missing and not _is_failed(name, parts):
            raise lines.cut_off(f"[{INTENDED}{name}], {missing[0]}")
    if found < total:
        what = f"the {total:,} that follow from its throughput: it is truncated"
        place = len(lines.lines)
        raise lines.source.unreadable(place, f"{found:,} operations", what, lines.read(place + 1))


def _is_operation(name: str, parts: Mapping[str, Part]) -> bool:
    """Say whether a name is of an operation of the load that was tried, right or not."""
    part = parts[name]
    return _is_of_load(name) and not _is_failed(name, parts) and (part.count + part.failed > 0)


def _operation_name(name: str) -> str:
    return name.lower().replace("-", "_")


def _notes(parts: Mapping[str, Part]) -> list[VerdictNote]:
    notes = []
    if BOTH in parts and parts[BOTH].count:
        text = (
            f"{parts[BOTH].count:,} operations were a read and an update: each counts once among all, and "
            "its two parts once more among read and update, as YCSB lists them"
        )
        notes.append(VerdictNote.of("figures_left_out", text))
    of_failures = [_operation_name(name) for name, part in parts.items() if part.counts_failures]
    if of_failures:
        names = " and ".join(of_failures)
        text = f"YCSB's latencies of {names} are of failed operations, too, so they are left out"
        notes.append(VerdictNote.of("figures_left_out", text))
    return notes


def _asked(lines: Lines) -> Asked:
    """Return what the line of its command says, where the file has what YCSB printed beside its figures."""
    found = lines.all_of(_COMMAND)
    if len(found) != 1:
        return Asked()
    command = found[0][1][0]
    threads = re.findall(r"(?:-threads |-p threadcount=)(\d{1,6})\b", command, re.ASCII)
    rate = re.findall(r"(?:-target |-p target=)(\d{1,9})\b", command, re.ASCII)
    return Asked(
        threads=int(threads[-1]) if threads else None,
        rate_rps=float(rate[-1]) if rate and int(rate[-1]) else None,
    )


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
        elif (per_ms := _UNITS.get(name[-4:])) and text not in _OF_NOTHING:
            part.figures[name[:-4]] = lines.value(number, text, "a time") / per_ms
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


def _operation(name: str, parts: Mapping[str, Part]) -> Operation:
    part = parts[name]
    by_name = [
        other.count
        for one, other in parts.items()
        if one.rpartition("-")[0] == name and _is_failed(one, parts) and _is_of_load(one)
    ]
    latency = (
        distribution(0) if part.counts_failures else _times(parts.get(INTENDED + name, part)).distribution
    )
    return Operation(
        operation=_operation_name(name),
        answered=part.count - part.failed if part.counts_failures else part.count,
        failed=sum(by_name) or part.failed,
        latency_ms=latency,
    )


def _times_of_all(operations: Sequence[Operation], parts: Mapping[str, Part]) -> Times | None:
    """Return the latencies of the only operation; those of several do not follow from them."""
    names = [name for name in parts if _is_operation(name, parts)]
    if len(names) != 1 or parts[names[0]].counts_failures or not operations[0].answered:
        return None
    return _times(parts.get(INTENDED + names[0], parts[names[0]]))


def _times(part: Part) -> Times:
    percentiles = {}
    for name, time_ms in part.figures.items():
        found = _PERCENTILE.fullmatch(name)
        if found and time_ms >= 0 and (ours := _NAMES.get(found[1])):
            percentiles[ours] = time_ms
    minimum, mean, maximum = (
        None if (value := part.figures.get(f"{name}Latency")) is None or value < 0 else value
        for name in ("Min", "Average", "Max")
    )
    return Times(
        distribution=distribution(
            part.count, minimum=minimum, mean=mean, maximum=maximum, percentiles=percentiles
        ),
        completeness="percentiles",
        resolution_ms=1.0 if any(name.endswith("(ms)") for name in part.names) else 1e-3,
    )
