"""Gatling's ``simulation.log`` in text, as versions 2 and 3.0 to 3.12 write it; later ones write a binary."""

import re

from loadcurve.generate.tools.figures import ToolFigures
from loadcurve.generate.tools.gatling.requests import MOMENTS_MS, Requests, figures_of_requests
from loadcurve.generate.tools.source import Source, shown
from loadcurve.generate.tools.text_lines import Lines

_FIRST = r"RUN\t.*\t(\d{1,2}\.\d{1,2})(?:\.\S{1,20})?$"
_FORMS = ((2, 0, 3), (3, 0, 2), (3, 4, 1))
"""From which version on, and how many columns a request has before its name: scenario, user, groups."""
_LAST = (3, 12)
_KINDS = {"RUN", "USER", "REQUEST", "GROUP", "ERROR", "ASSERTION"}
_MOMENT = re.compile(r"\d{1,15}", re.ASCII)


def is_log(head: bytes) -> bool:
    """Say whether a file begins as Gatling's log in text."""
    return any(line.startswith(b"RUN\t") for line in head.split(b"\n")[:50])


def read_log(source: Source) -> ToolFigures:
    """Return the figures of Gatling's log."""
    lines = Lines(source)
    number, first = lines.once(_FIRST, "Gatling's line RUN, with its version")
    version = first[1]
    major, minor = map(int, version.split("."))
    before = [columns for *since, columns in _FORMS if (major, minor) >= tuple(since)]
    if not before or (major, minor) > _LAST:
        raise source.unreadable(number, f"version {version}", "a log in text of Gatling 2.0 to 3.12")
    lines.require_line_end("as Gatling ends each")
    requests = Requests()
    for line_number, line in enumerate(lines.lines, start=1):
        kind, *fields = line.split("\t")
        if kind not in _KINDS:
            expected = f"a line of Gatling's log, which begins with one of {', '.join(sorted(_KINDS))}"
            raise source.unreadable(line_number, shown(line), expected, lines.read(line_number))
        if kind != "REQUEST":
            continue
        name, begin, end, status, message, *_ = [*fields[before[-1] :], *[""] * 5]
        if not (_is_moment(begin) and _is_moment(end) and status in {"OK", "KO"}):
            expected = f"a request of Gatling {version}: name, begin, end (ms), OK or KO"
            raise source.unreadable(line_number, shown(line), expected, lines.read(line_number))
        requests.add(int(begin), int(end), name, message, is_ok=status == "OK")
    return figures_of_requests(source, version, requests)


def _is_moment(text: str) -> bool:
    return _MOMENT.fullmatch(text) is not None and int(text) in MOMENTS_MS
