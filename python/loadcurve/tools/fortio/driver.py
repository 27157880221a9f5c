"""fortio: a closed loop, or a rate that its connections share; its JSON has percentiles of intervals."""

from collections.abc import Sequence

from loadcurve.loads.http import OpenLoad
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.fortio.reader import read_json

_JSON = "result.json"
_PERCENTILES = "50,75,90,95,99,99.9,99.99"
_STEP_S = "0.00001"
"""The shortest interval in which it counts; unless it is given that is 1 ms."""


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    total = getattr(load, "requests_total", None)
    end = ["-n", str(total)] if load.duration_s is None else ["-t", f"{round(load.duration_s * 1000)}ms"]
    # 0 is as fast as it can; the connections of a rate take turns evenly.
    rate = ["-qps", f"{load.rate_rps:.9g}", "-uniform"] if isinstance(load, OpenLoad) else ["-qps", "0"]
    return [
        "load",
        "-quiet",
        "-allow-initial-errors",
        "-c", str(load.connections_at_once),
        *end,
        *rate,
        "-timeout", f"{round(load.timeout_s * 1000)}ms",
        "-r", _STEP_S,
        "-p", _PERCENTILES,
        *(["-keepalive=false"] if load.calls == 1 else []),
        "-json", str(wanted.files / _JSON),
        *wanted.headers("-H"),
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its JSON says."""
    return read_json(output.required(_JSON))
