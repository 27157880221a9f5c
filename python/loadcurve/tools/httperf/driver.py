"""httperf: sessions at a rate on one thread, whose text has means alone."""

from collections.abc import Sequence

from loadcurve.loads.http import SessionsLoad
from loadcurve.tools.driver import Output, Refused, WebToolRequest
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.httperf.reader import read_text


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    if not isinstance(load, SessionsLoad) or isinstance(load.connection_rate_cps, list):
        raise Refused("model", "httperf is driven with sessions at one rate")
    host, _, port = wanted.address.rpartition(":")
    rate = load.connection_rate_cps
    # With random arrivals it takes the mean time between two of them, in s.
    arrivals = ["--rate", f"{rate:.9g}"] if load.arrivals == "constant" else ["--period", f"e{1 / rate:.9g}"]
    named = [] if wanted.authority == wanted.address else ["--server-name", wanted.authority]
    return [
        "--hog",
        "--server", host.strip("[]"),
        "--port", port,
        *named,
        "--uri", wanted.path,
        "--http-version", load.http,
        *arrivals,
        "--num-conns", str(load.connections_total),
        "--num-calls", str(load.calls),
        "--burst-length", str(load.pipeline),
        "--timeout", f"{load.timeout_s:g}",
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its text says."""
    return read_text(output.text)
