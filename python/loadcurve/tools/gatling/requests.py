"""Requests as either of Gatling's logs lists them, and their figures."""

from array import array

import numpy
import polars

from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.requests import (
    ANSWERED,
    BEGIN,
    ERROR,
    OPERATION,
    STATUS,
    TIME,
    Form,
    figures_of,
)
from loadcurve.tools.source import Source

_NS_PER_MS = 10**6
MOMENTS_MS = range(2**63 // _NS_PER_MS)
"""Since 1970: those that are known in ns, too, until the year 2262."""


class Requests:
    """Requests in the order of the log."""

    def __init__(self) -> None:
        """Begin without any."""
        self._begins_ms = array("q")
        self._ends_ms = array("q")
        self._statuses = array("h")
        self._names: list[str] = []
        self._messages: list[str] = []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._names)

    def add(self, begin_ms: int, end_ms: int, name: str, message: str, *, is_ok: bool) -> None:
        """Add the next one; moments are in ms since 1970."""
        self._begins_ms.append(begin_ms)
        self._ends_ms.append(end_ms)
        self._statuses.append(ANSWERED if is_ok else 0)
        self._names.append(name)
        self._messages.append(message)

    def table(self) -> polars.DataFrame:
        """Return a row for each of them."""
        begins_ms = numpy.frombuffer(self._begins_ms, numpy.int64)
        return polars.DataFrame(
            {
                BEGIN: begins_ms * _NS_PER_MS,
                TIME: (numpy.frombuffer(self._ends_ms, numpy.int64) - begins_ms) * _NS_PER_MS,
                STATUS: numpy.frombuffer(self._statuses, numpy.int16),
                OPERATION: self._names,
                ERROR: self._messages,
            },
            schema_overrides={OPERATION: polars.String, ERROR: polars.String},
        )


def figures_of_requests(source: Source, version: str, requests: Requests, left_out: LeftOut) -> ToolFigures:
    """Return the figures of the requests of a log; raises ``Unreadable`` where there is none."""
    form = Form(
        tool="gatling",
        version=version,
        resolution_ms=1.0,
        is_epoch=True,
        has_failures=True,
    )
    return figures_of(source, form, [requests.table()] if len(requests) else [], left_out)
