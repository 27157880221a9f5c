"""Gatling's ``simulation.log`` in text, as versions 2 and 3.0 to 3.11 write it; later ones write a binary."""

import re

import numpy
import polars

from loadcurve.generate.tools.figures import ToolFigures
from loadcurve.generate.tools.requests import (
    ANSWERED,
    BEGIN,
    ERROR,
    OPERATION,
    STATUS,
    TIME,
    Form,
    figures_of,
)
from loadcurve.generate.tools.source import Source, shown
from loadcurve.generate.tools.text_lines import Lines

_NS_PER_MS = 10**6
_FIRST = r"RUN\t.*\t(\d{1,2}\.\d{1,2})(?:\.\S{1,20})?$"
_FORMS = ((2, 0, 3), (3, 0, 2), (3, 4, 1))
"""From which version on, and how many columns a request has before its name: scenario, user, groups."""
_LAST = (3, 11)
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
        raise source.unreadable(number, f"version {version}", "a log of Gatling 2.0 to 3.11")
    lines.require_line_end("as Gatling ends each")
    begins, ends, statuses, names, errors = [], [], [], [], []
    for line_number, line in enumerate(lines.lines, start=1):
        kind, *fields = line.split("\t")
        if kind not in _KINDS:
            expected = f"a line of Gatling's log, which begins with one of {', '.join(sorted(_KINDS))}"
            raise source.unreadable(line_number, shown(line), expected, lines.read(line_number))
        if kind != "REQUEST":
            continue
        name, begin, end, status, message, *_ = [*fields[before[-1] :], *[""] * 5]
        if not (_MOMENT.fullmatch(begin) and _MOMENT.fullmatch(end) and status in {"OK", "KO"}):
            expected = f"a request of Gatling {version}: name, begin, end (ms), OK or KO"
            raise source.unreadable(line_number, shown(line), expected, lines.read(line_number))
        begins.append(int(begin))
        ends.append(int(end))
        statuses.append(ANSWERED if status == "OK" else 0)
        names.append(name)
        errors.append(message)
    moments = numpy.array(begins, numpy.int64) * _NS_PER_MS
    table = polars.DataFrame(
        {
            BEGIN: moments,
            TIME: numpy.array(ends, numpy.int64) * _NS_PER_MS - moments,
            STATUS: numpy.array(statuses, numpy.int16),
            OPERATION: names,
            ERROR: errors,
        },
        schema_overrides={OPERATION: polars.String, ERROR: polars.String},
    )
    form = Form(
        tool="gatling",
        version=version,
        resolution_ms=1.0,
        is_epoch=True,
        has_failures=True,
        has_status=False,
    )
    return figures_of(source, form, table if len(table) else None)
