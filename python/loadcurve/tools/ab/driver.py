"""ApacheBench: a closed loop on one thread, whose table of percentiles has times in µs (option ``-e``)."""

import math
from collections.abc import Sequence

from loadcurve.tools.ab.reader import read_percentiles, read_text
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import ToolFigures

_PERCENTILES = "percentiles.csv"
_REQUESTS_PER_S_MAX = 200_000
"""More than it can make: with a duration it needs room for all requests beforehand, 32 bytes for each."""


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    total = getattr(load, "requests_total", None)
    end = ["-n", str(total)]
    if load.duration_s is not None:
        end = ["-t", str(math.ceil(load.duration_s)), "-n", f"{load.duration_s * _REQUESTS_PER_S_MAX:.0f}"]
    return [
        "-q",
        "-r",
        *(["-k"] if load.calls is None else []),
        "-c", str(load.connections_at_once),
        *end,
        "-s", f"{load.timeout_s:.0f}",
        "-e", str(wanted.files / _PERCENTILES),
        *wanted.headers("-H"),
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its text and its table say."""
    table = output.written(_PERCENTILES)
    return read_text(output.text, None if table is None else read_percentiles(table))
