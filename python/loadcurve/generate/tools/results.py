"""From what a tool reports to the record of its load, in which what it does not measure is ``None``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import loadcurve._engine as native
from loadcurve.generate.looking import load_result
from loadcurve.generate.tools.figures import Times, ToolFigures
from loadcurve.generate.tools.process import CpuTime
from loadcurve.loads.http import OpenLoad, SessionsLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.result.classes import Errors, StatusClasses
from loadcurve.result.distribution import Distribution
from loadcurve.result.load import Kernel, LoadResult
from loadcurve.result.tool import ToolRecord

_NOTHING = Distribution(
    count=0, min=None, mean=None, stddev=None, p50=None, p75=None, p90=None, p95=None, p99=None, p99_9=None,
    p99_99=None, max=None,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was seen of the process of a tool, which it does not report itself."""

    began_s: float
    """When its window began, on the monotonic clock."""
    interrupted: bool
    cpu: CpuTime
    threads: int
    cpus: int
    """How many CPUs it could use."""
    waits_busily: bool
    """Whether it uses a CPU while it waits, so that this does not show how near it is to its limit."""
    withheld: Mapping[str, Any]
    """What was withheld from it, by the fields of the generator's record."""
    kernel: Kernel


def result_of(plan: HttpPlan, figures: ToolFigures, tool: ToolRecord, seen: Seen) -> LoadResult:
    """Return the record of a load."""
    failed = figures.failed or 0
    ended = figures.answered + failed
    latency = figures.latency.distribution if figures.latency else _NOTHING
    failures = _counts(Errors, figures.errors)
    statuses = None if figures.status is None else _counts(StatusClasses, figures.status)
    operation = f"{plan.load.method} {_path(plan)}"
    measured = {
        "format": "loadcurve-load/1",
        "interrupted": seen.interrupted,
        "window_start_monotonic_s": seen.began_s,
        "duration_s": figures.duration_s,
        "requests": {
            "due": ended,
            "sent": ended,
            "answered": figures.answered,
            "ok": figures.ok,
            "failed": failed,
            "unanswered": None,
            "never_sent": None,
        },
        "rate_rps": {
            "asked": _asked_rps(plan),
            "sent": None,
            "answered": _per_second(figures.answered, figures.duration_s),
        },
        "latency_ms": latency,
        "service_time_ms": latency if figures.basis == "send" and latency.count else None,
        "connect_ms": _distribution(figures.connect),
        "first_byte_ms": _distribution(figures.first_byte),
        "transfer_ms": None,
        "connections": {
            "opened": figures.connections_opened,
            "failed": None,
            "reused": None,
            "concurrent_max": None,
            "rate_cps": _per_second(figures.connections_opened, figures.duration_s),
            "replies_per_connection": None,
            "lifetime_ms": None,
        },
        "bytes": None
        if figures.bytes_received is None
        else {
            "sent": None,
            "received": figures.bytes_received,
            "header": figures.bytes_header,
            "body": figures.bytes_body,
        },
        "status": statuses,
        "errors": failures,
        "error_messages": [],
        "tool": tool,
        "generator": _generator(figures, seen),
        "kernel": seen.kernel,
        "operations": [
            {
                "operation": operation,
                "answered": figures.answered,
                "failed": failed,
                "latency_ms": latency,
            }
        ],
        "slowest": [],
        "series": list(figures.series),
        "histograms": {
            "latency": _histogram(figures.latency),
            "service_time": _histogram(figures.latency) if figures.basis == "send" else None,
            "connect": _histogram(figures.connect),
            "first_byte": _histogram(figures.first_byte),
            "transfer": None,
        },
        "verdict": json.loads(native.judge(_evidence(plan, figures, seen))),
    }
    result = load_result(replace(plan, threads=seen.threads), _as_json(measured))
    return _with_other_lengths(result, figures)


def _with_other_lengths(result: LoadResult, figures: ToolFigures) -> LoadResult:
    """Return the result, which is suspect where the tool has seen answers of several lengths."""
    if not figures.other_length:
        return result
    text = (
        f"{figures.other_length:,} of {figures.answered:,} answers had another length than the first one, or "
        f"were cut off, which {figures.tool} does not tell apart: unless each answer is generated anew, some "
        "of them are wrong"
    )
    verdict = result.verdict.with_reason("lengths_differ", text, "suspect")
    return result.model_copy(update={"verdict": verdict})


def _as_json(value: Any) -> Any:  # noqa: ANN401 -- what JSON may hold
    """Return records within a value as JSON has them, as those of the engine come."""
    if isinstance(value, dict):
        return {name: _as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def _generator(figures: ToolFigures, seen: Seen) -> dict[str, Any]:
    used_s = seen.cpu.user_s + seen.cpu.system_s
    return {
        "threads": seen.threads,
        "io": None,
        "cpu_user_s": seen.cpu.user_s,
        "cpu_system_s": seen.cpu.system_s,
        "cpu_spun_s": None,
        "cpu_per_request_us": used_s / figures.answered * 1e6 if figures.answered else None,
        "lateness_ms": None,
        **seen.withheld,
    }


def _evidence(plan: HttpPlan, figures: ToolFigures, seen: Seen) -> str:
    """Return what the verdict is reached from, as JSON."""
    load = plan.load
    busy = min(seen.threads, seen.cpus)
    available_s = busy * figures.duration_s
    at_once = max(getattr(load, "pipeline", 1), getattr(load, "streams", 1))
    mean_ms = figures.latency.distribution.mean if figures.latency else None
    # A rate of connections is no rate of requests where these wait for one another.
    asked_rps = _asked_rps(plan)
    is_closed = load.model == "closed"
    return json.dumps(
        {
            "stop": _stop(plan),
            "interrupted": seen.interrupted,
            "duration_s": figures.duration_s,
            "warmup_s": load.warmup_s,
            "answered": figures.answered,
            "ok": figures.ok,
            "failed": figures.failed or 0,
            "failures": dict(figures.errors),
            "status": None if figures.status is None else dict(figures.status),
            "asked_rps": asked_rps,
            "requests_at_once": plan.connections * at_once,
            "mean_latency_ms": mean_ms if is_closed or asked_rps is not None else None,
            "threads": busy,
            "cpu_share": None
            if seen.waits_busily or available_s <= 0
            else (seen.cpu.user_s + seen.cpu.system_s) / available_s,
        }
    )


def _stop(plan: HttpPlan) -> dict[str, float | int]:
    load = plan.load
    ends = {name: getattr(load, name, None) for name in ("duration_s", "requests_total", "connections_total")}
    [stop] = [{name: value} for name, value in ends.items() if value is not None]
    return stop


def _asked_rps(plan: HttpPlan) -> float | None:
    """Return the rate of requests that the plan asks for; ``None`` in a closed loop."""
    load = plan.load
    if isinstance(load, OpenLoad):
        return None if isinstance(load.rate_rps, list) else load.rate_rps
    if isinstance(load, SessionsLoad) and not isinstance(load.connection_rate_cps, list):
        return load.connection_rate_cps * load.calls
    return None


def _per_second(count: int | None, duration_s: float) -> float | None:
    return None if count is None or duration_s <= 0 else count / duration_s


def _path(plan: HttpPlan) -> str:
    return plan.load.requests[0] if isinstance(plan.load.requests, list) else "/"


def _counts(table: type[Errors] | type[StatusClasses], given: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of all classes, in the order of the table."""
    return {name: given.get(name, 0) for name in table.classes}


def _distribution(times: Times | None) -> Distribution | None:
    return None if times is None else times.distribution


def _histogram(times: Times | None) -> str | None:
    return None if times is None else times.histogram
