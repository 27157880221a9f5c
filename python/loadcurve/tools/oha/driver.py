"""oha: a closed loop, or a rate with latencies from when requests were due; its JSON has percentiles."""

from collections.abc import Sequence
from dataclasses import replace

from loadcurve.loads.http import OpenLoad
from loadcurve.loads.sent import header_fields
from loadcurve.protocol import has_streams
from loadcurve.tools.driver import Output, WebToolRequest, whole_milliseconds
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.oha.reader import read_json

_JSON = "result.json"


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    total = getattr(load, "requests_total", None)
    end = ["-n", str(total)] if load.duration_s is None else ["-z", whole_milliseconds(load.duration_s)]
    rate = ["-q", f"{load.rate_rps:.9g}", "--latency-correction"] if isinstance(load, OpenLoad) else []
    named = [] if wanted.authority == wanted.address else ["--host", wanted.authority]
    fields = [word for name, value in header_fields(load.headers) for word in ("-H", f"{name}: {value}")]
    return [
        "--no-tui",
        "--output-format", "json",
        "--output", str(wanted.files / _JSON),
        "-c", str(load.connections_at_once),
        *(["-p", str(getattr(load, "streams", 1))] if has_streams(load.http) else []),
        *end,
        *rate,
        "-t", whole_milliseconds(load.timeout_s),
        "--connect-timeout", whole_milliseconds(load.timeout_s),
        "--worker-threads", str(wanted.threads),
        "--http-version", load.http,
        "--disable-compression",
        "--redirect", "0",
        *(["--disable-keepalive"] if load.calls == 1 else []),
        *named,
        *fields,
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:
    """Return what its JSON says."""
    read = read_json(output.required(_JSON))
    return replace(read, basis="due") if isinstance(wanted.load, OpenLoad) else read
