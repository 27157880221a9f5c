"""vegeta: a rate on some connections; it writes every request, which another process of it makes a CSV of."""

import subprocess
from collections.abc import Sequence
from dataclasses import replace

from loadcurve.loads.http import OpenLoad
from loadcurve.loads.sent import header_fields
from loadcurve.tools.driver import Output, Refused, WebToolRequest
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.process import environment_of_tools
from loadcurve.tools.source import Source
from loadcurve.tools.vegeta.reader import read_csv

_RESULTS, _CSV, _TARGETS = "results.bin", "results.csv", "targets"
_ENCODE_TIMEOUT_S = 600.0


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    load = wanted.load
    if not isinstance(load, OpenLoad) or isinstance(load.rate_rps, list):
        raise Refused("model", "vegeta is driven at one rate")
    targets = wanted.files / _TARGETS
    targets.write_text(f"GET {wanted.url}\n", encoding="ascii")
    connections = str(load.connections)
    return [
        "-cpus", str(wanted.threads),
        "attack",
        "-rate", f"{load.rate_rps:.0f}/1s",
        "-duration", f"{round((load.duration_s or 0) * 1000)}ms",
        "-timeout", f"{round(load.timeout_s * 1000)}ms",
        "-workers", connections,
        "-max-workers", connections,
        "-connections", connections,
        "-max-connections", connections,
        "-http2=false",
        "-redirects", "-1",
        "-max-body", "0",
        *(["-keepalive=false"] if load.calls == 1 else []),
        *_uncompressed(wanted),
        *wanted.headers("-header"),
        "-targets", str(targets),
        "-output", str(wanted.files / _RESULTS),
    ]  # fmt: skip


def _uncompressed(wanted: WebToolRequest) -> Sequence[str]:
    """Return what keeps Go from asking for compressed answers, unless the load says what it accepts."""
    says = any(name.lower() == "accept-encoding" for name, _ in header_fields(wanted.load.headers))
    return [] if says else ["-header", "Accept-Encoding: identity"]


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:  # noqa: ARG001 -- as for every tool
    """Return what its results say of every request."""
    results, csv = output.files / _RESULTS, output.files / _CSV
    words = [str(output.program), "encode", "-to", "csv", "-output", str(csv), str(results)]
    encoded = subprocess.run(  # noqa: S603 -- the program is the catalogue's
        words,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_ENCODE_TIMEOUT_S,
        env=environment_of_tools(),
    )
    if encoded.returncode:
        said = " ".join(encoded.stderr.split())[-200:]
        raise Unreadable("vegeta's results", None, f"that vegeta encode cannot read them: {said}", "results")
    # It keeps no bodies, so it does not say how long they are.
    return replace(read_csv(Source(csv, "vegeta's results")), bytes_body=None)
