"""k6: virtual users in a closed loop, or arrivals at a rate; it writes samples of each request.

The scenario covers the warm-up, too, so that the connections of the window are open and warm; what ended
before the window is left out of the samples.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from loadcurve.loads.http import HttpLoad, OpenLoad
from loadcurve.loads.sent import header_fields
from loadcurve.tools.driver import Output, Refused, WebToolRequest, whole_milliseconds
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.k6.reader import read_load

_SCRIPT = Path(__file__).with_name("script.js")
_NO_CONFIG = Path(__file__).with_name("config.json")
"""In place of a person's own, which would be part of the load."""
_SAMPLES = "samples.csv"
_TIME_UNIT_S_MAX = 1_000_000
_SHORTEST_S = 1.0
"""The shortest scenario that k6 accepts; the script itself ends a shorter load."""


def arguments(wanted: WebToolRequest) -> Sequence[str]:
    """Return the words behind the program."""
    samples = wanted.files / _SAMPLES
    return [
        "run",
        "--quiet",
        "--no-usage-report",
        "--no-thresholds",
        "--summary-mode=disabled",
        "--include-system-env-vars=false",
        "--address=",
        "--config", str(_NO_CONFIG),
        # Failures of requests are in the samples, and a line of each would cost time.
        "--log-output", "file=/dev/stderr,level=error",
        "--out", f"csv=fileName={samples},timeFormat=unix_nano,saveInterval=100ms",
        "--env", f"LOADCURVE={json.dumps(_load(wanted), separators=(',', ':'))}",
        str(_SCRIPT),
    ]  # fmt: skip


def figures(wanted: WebToolRequest, output: Output) -> ToolFigures:
    """Return what its samples say of the window."""
    load = wanted.load
    samples = output.required(_SAMPLES, "while it runs")
    duration_s = None if output.is_interrupted else load.duration_s
    # Its own timer ends a scenario; what the script ends continues for as long as some iteration.
    goes_on = duration_s is not None and _length_s(load) < _SHORTEST_S
    read = read_load(samples, load.warmup_s, duration_s, goes_on=goes_on)
    is_open = isinstance(load, OpenLoad)
    return replace(read, never_sent=read.never_sent or 0) if is_open else read


def _load(wanted: WebToolRequest) -> Mapping[str, Any]:
    load = wanted.load
    named = {} if wanted.authority == wanted.address else {"Host": wanted.authority}
    headers = named | dict(header_fields(load.headers))
    length_s = _length_s(load)
    return {
        "url": wanted.url,
        "aborts_after_ms": round(length_s * 1000) if length_s < _SHORTEST_S else None,
        "params": {
            "headers": headers,
            "timeout": whole_milliseconds(load.timeout_s),
            "redirects": 0,
            "responseType": "none",
        },
        "options": {
            "scenarios": {"load": _scenario(wanted)},
            "noConnectionReuse": load.calls == 1,
            # Each iteration begins without the cookies of the one before.
            "noCookiesReset": False,
            "systemTags": ["status", "error"],
        },
    }


def _scenario(wanted: WebToolRequest) -> Mapping[str, Any]:
    """Return the scenario of a load: a virtual user has one connection, and one request at a time."""
    load = wanted.load
    length_s = max(_length_s(load), _SHORTEST_S)
    common = {"duration": whole_milliseconds(length_s), "gracefulStop": "0s"}
    connections = load.connections_at_once
    if not isinstance(load, OpenLoad):
        return {"executor": "constant-vus", "vus": connections, **common}
    if isinstance(load.rate_rps, list):
        raise Refused("rate", "k6 is driven at one rate")
    # k6 takes a whole number of arrivals per unit of time, which can have any length.
    rate = Fraction(load.rate_rps).limit_denominator(_TIME_UNIT_S_MAX)
    return {
        "executor": "constant-arrival-rate",
        "rate": rate.numerator,
        "timeUnit": f"{rate.denominator}s",
        "preAllocatedVUs": connections,
        "maxVUs": connections,
        **common,
    }


def _length_s(load: HttpLoad) -> float:
    return load.warmup_s + (load.duration_s or 0.0)
