"""zrk: a rate on open connections, whose JSON has every latency from when a request was due."""

from collections.abc import Sequence

from loadcurve.loads.http import OpenLoad
from loadcurve.tools.driver import Output, Refused, WebToolRequest, whole_milliseconds
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.zrk.reader import read_json

_JSON = "result.json"


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    if not isinstance(load, OpenLoad) or isinstance(load.rate_rps, list):
        raise Refused("model", "zrk is driven at one rate")
    return [
        "--threads", str(wanted.threads),
        "--connections", str(load.connections),
        "--rate", f"{load.rate_rps:.0f}",
        "--duration", whole_milliseconds(load.duration_s or 0.0),
        "--timeout", whole_milliseconds(load.timeout_s),
        "--no-record-timeouts",
        "--format", "json",
        "--output", str(wanted.files / _JSON),
        *wanted.headers("--header"),
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its JSON says."""
    return read_json(output.required(_JSON))
