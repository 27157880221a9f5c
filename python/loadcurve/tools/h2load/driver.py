"""h2load: a closed loop over HTTP/1.1 or 2, with JSON of all its samples from version 1.69 on."""

from collections.abc import Sequence

from loadcurve.protocol import HTTP1_1
from loadcurve.server.versions import is_before
from loadcurve.tools.driver import Output, WebToolRequest, whole_milliseconds
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.h2load.reader import read_json, read_text

_JSON = "result.json"
_FIRST_WITH_JSON = "1.69"


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    total = getattr(load, "requests_total", None)
    end = ["-n", str(total)]
    if load.duration_s is not None:
        warmup = f"--warm-up-time={whole_milliseconds(load.warmup_s)}"
        end = [f"--duration={whole_milliseconds(load.duration_s)}", warmup]
    at_once = max(getattr(load, "pipeline", 1), getattr(load, "streams", 1))
    return [
        "-c", str(load.connections_at_once),
        "-t", str(wanted.threads),
        "-m", str(at_once),
        *end,
        *(["--h1"] if load.http == HTTP1_1 else []),
        *(["--output-file", str(wanted.files / _JSON)] if _writes_json(wanted.version) else []),
        *wanted.headers("-H"),
        wanted.url,
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what it has written as JSON, or else its text."""
    written = output.written(_JSON)
    return read_text(output.text) if written is None else read_json(written)


def _writes_json(version: str | None) -> bool:
    return version is not None and not is_before(version, _FIRST_WITH_JSON)
