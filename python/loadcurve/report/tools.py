"""What a reader must know of another load generator's figures, in words."""

from collections.abc import Iterable

from loadcurve.result.generator import ToolRecord
from loadcurve.result.records import PointRecord
from loadcurve.units import time_step

_TOLD = {
    "complete": "every latency counted",
    "sampled": "latencies of a sample",
    "percentiles": "only percentiles of latency",
    "summary": "only the mean latency",
}
_BASES = {"due": "from when a request was due", "send": "from when a request was sent"}
_WARMUPS = {
    "none": "no warm-up",
    "own": "its own warm-up",
    "separate": "a warm-up by a separate process, so its connections are new",
}


def tool_title(tool: ToolRecord) -> str:
    """Return its name with its version."""
    return tool.name if tool.version is None else f"{tool.name} {tool.version}"


def tool_facts(tool: ToolRecord) -> list[str]:
    """Return what its figures are, a few words each."""
    resolution = "" if tool.resolution_ms is None else f", in steps of {time_step(tool.resolution_ms)}"
    return [
        tool_title(tool),
        f"{_TOLD[tool.completeness]}, {_BASES[tool.latency_basis]}{resolution}",
        *([_WARMUPS[tool.warmup]] if tool.warmup else []),
    ]


def arms_counted_from_sending(records: Iterable[PointRecord]) -> list[str]:
    """Return the arms whose latencies begin when requests were sent, not when they were due."""
    tools = ((record.server, record.load.tool) for record in records)
    return list(dict.fromkeys(arm for arm, tool in tools if tool and tool.latency_basis == "send"))
