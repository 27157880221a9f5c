"""The text of oha, for people: the same lines in all versions, newer ones in a unit that fits the longest."""

import re

from loadcurve.tools.errors import errors_of
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.hey.reader import counts_of, require_all
from loadcurve.tools.oha.reader import AT_THE_END, PERCENTILES
from loadcurve.tools.percentiles import distribution
from loadcurve.tools.printed import Printed, window_of
from loadcurve.tools.source import Source
from loadcurve.tools.text_lines import Lines

_UNITS_MS = {
    "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "secs": 1e3,
    "10 sec": 1e4, "min": 6e4, "10 min": 6e5, "hr": 3.6e6,
}  # fmt: skip
_UNIT = f"({'|'.join(sorted(_UNITS_MS, key=len, reverse=True))})"
_STEP = 1e-4
"""Times have four decimals, in their unit."""
_STATUSES = "Status code distribution:"


def is_text(head: bytes) -> bool:
    """Say whether a file has the lines of oha's text in its start."""
    return b"Summary:" in head and b"Success rate:" in head and b"Requests/sec:" in head


def read_text(source: Source) -> ToolFigures:
    """Return the figures of a text of oha; raises ``Unreadable``."""
    lines = Lines(source)
    place, found = lines.once(rf"\s*Total:\s+(\S+) {_UNIT}$", "oha's line Total")
    took = lines.printed(place, found[1], "oha's line Total", _UNITS_MS[found[2]] / 1e3)
    place, found = lines.once(r"\s*Requests/sec:\s+(\S+)$", "oha's line Requests/sec")
    rate = lines.printed(place, found[1], "oha's line Requests/sec")
    begin, _ = lines.once(_STATUSES + "$", f"oha's part {_STATUSES[:-1]}")
    status, errors = counts_of(lines, begin, len(lines.lines), "oha")
    answered = sum(status.values())
    # Its rate is that of all, those among them that it gave up when its time was over.
    ended = answered + sum(errors.values())
    if not ended or took.value <= 0:
        raise source.unreadable(len(lines.lines), "no response and no error", "the responses of a load")
    require_all(lines, ended, rate, took)
    failures = {text: count for text, count in errors.items() if AT_THE_END not in text}
    window = window_of(ended, rate, took)
    size = lines.optional(r"\s*Total data:\s+(\d{1,18}) B$", "oha's line Total data")
    return ToolFigures(
        tool="oha",
        basis="send",
        duration_s=window.duration_s,
        answered=answered,
        failed=sum(failures.values()),
        errors=errors_of(failures),
        status=status,
        latency=_latency(lines, answered),
        bytes_body=int(size[1][1]) if size else None,
        contradictions=[window.contradiction] if window.contradiction else [],
    )


def _latency(lines: Lines, answered: int) -> Times:
    # Of no answer they are no numbers.
    names = ("Slowest", "Fastest", "Average") if answered else ()
    shown = {name: _time(lines, rf"\s*{name}:\s+(\S+) {_UNIT}$", f"oha's line {name}") for name in names}
    percentiles = _percentiles(lines) if answered else {}
    known = [*shown.values(), *percentiles.values()]
    return Times(
        distribution=distribution(
            answered,
            minimum=shown["Fastest"].value if shown else None,
            mean=shown["Average"].value if shown else None,
            maximum=shown["Slowest"].value if shown else None,
            percentiles={name: one.value for name, one in percentiles.items()},
        ),
        completeness="percentiles",
        resolution_ms=max((one.step for one in known), default=None),
    )


def _time(lines: Lines, pattern: str, what: str) -> Printed:
    number, found = lines.once(pattern, what)
    return _in_ms(lines, number, found)


def _in_ms(lines: Lines, number: int, found: re.Match[str]) -> Printed:
    *_, text, unit = found.groups()
    value = lines.value(number, text, "a time of oha's text")
    return Printed(value * _UNITS_MS[unit], _STEP * _UNITS_MS[unit])


def _percentiles(lines: Lines) -> dict[str, Printed]:
    """Return those of all answers: what ``--stats-success-breakdown`` adds is of some of them."""
    begin, _ = lines.once(
        r"(?:Response time|Latency) distribution:$", "oha's part Response time distribution"
    )
    percentiles: dict[str, Printed] = {}
    for number, line in enumerate(lines.lines[begin:], start=begin + 1):
        found = re.fullmatch(rf"\s*(\d{{1,2}}(?:\.\d\d)?)% in (\S+) {_UNIT}", line, re.ASCII)
        if not found and line.strip():
            break
        if not found:
            continue
        name = PERCENTILES.get(f"p{float(found[1]):g}")
        if name is not None:
            percentiles[name] = _in_ms(lines, number, found)
    return percentiles
