"""hey: a closed loop, whose text has statuses, errors and percentiles in 0.1 ms."""

from collections.abc import Sequence

from loadcurve.loads.sent import header_fields
from loadcurve.tools.driver import Output, WebToolRequest
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.hey.reader import read_text


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    # Its field of Host is a separate option.
    named = [] if wanted.authority == wanted.address else ["-host", wanted.authority]
    fields = [word for name, value in header_fields(load.headers) for word in ("-H", f"{name}: {value}")]
    return [
        "-c", str(load.connections_at_once),
        "-z", f"{round((load.duration_s or 0) * 1000)}ms",
        "-t", f"{load.timeout_s:.0f}",
        "-cpus", str(wanted.threads),
        "-disable-compression",
        "-disable-redirects",
        *(["-disable-keepalive"] if load.calls == 1 else []),
        *named,
        *fields,
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its text says."""
    return read_text(output.text)
