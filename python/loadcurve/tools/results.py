"""From what a driven tool reports, and what was seen of its process, to the record of its load."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from loadcurve.generate.generator import Plan
from loadcurve.loads.http import OpenLoad, SessionsLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.loads.record import LoadAsRun
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.result.generator import Generator, Kernel, ToolRecord
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import Pauses
from loadcurve.tools.figures import ToolFigures
from loadcurve.tools.process import CpuTime
from loadcurve.tools.record import Known, record_of


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
    pauses: Pauses | None = None
    """Of its CPUs in its window; ``None`` where they cannot be found."""


def window_began_s(
    figures: ToolFigures, earliest_s: float, clock: Callable[[int], float] = time.clock_gettime
) -> float:
    """Return when the window began, on the monotonic clock: as the tool reports it, or else at the earliest.

    Some tools take a second to start, in which the server has nothing to do.
    """
    if figures.began_unix_s is None:
        return earliest_s
    ahead_s = clock(time.CLOCK_REALTIME) - clock(time.CLOCK_MONOTONIC)
    return max(figures.began_unix_s - ahead_s, earliest_s)


def result_of(plan: Plan, figures: ToolFigures, tool: ToolRecord, seen: Seen) -> LoadResult:
    """Return the record of a load."""
    operation = f"{plan.load.method} {_path(plan)}" if isinstance(plan, HttpPlan) else plan.load.phase
    known = Known(
        load=_as_run(plan, operation, seen),
        tool=tool,
        operation=operation,
        began_s=seen.began_s,
        interrupted=seen.interrupted,
        asked_rps=asked_rps(plan),
        generator=_generator(figures, seen),
        kernel=seen.kernel,
        evidence=_evidence(plan, figures, seen),
    )
    return record_of(figures, known)


def _as_run(plan: Plan, operation: str, seen: Seen) -> LoadAsRun:
    measured = {"operations": [{"operation": operation}], "generator": {"io": None}}
    if isinstance(plan, HttpPlan):
        return replace(plan, threads=seen.threads).as_run(measured)
    # A tool draws the records of its operations by itself.
    return plan.as_run(measured).model_copy(update={"seed": None})


def _generator(figures: ToolFigures, seen: Seen) -> Generator:
    used_s = seen.cpu.user_s + seen.cpu.system_s
    return Generator(
        threads=seen.threads,
        io=None,
        cpu_user_s=seen.cpu.user_s,
        cpu_system_s=seen.cpu.system_s,
        cpu_spun_s=None,
        cpu_per_request_us=used_s / figures.answered * 1e6 if figures.answered else None,
        voluntary_context_switches=round(seen.cpu.voluntary_switches),
        lateness_ms=None,
        pauses=seen.pauses,
        **seen.withheld,
    )


def _evidence(plan: Plan, figures: ToolFigures, seen: Seen) -> Mapping[str, Any]:
    """Return what the verdict is reached from beside the figures."""
    load = plan.load
    busy = min(seen.threads, seen.cpus)
    available_s = busy * figures.duration_s
    at_once = max(getattr(load, "pipeline", 1), getattr(load, "streams", 1))
    # A rate of connections is no rate of requests where these wait for one another.
    has_schedule = asked_rps(plan) is not None or plan.kind.is_closed_loop(load.model, has_rate=False)
    return {
        "stop": _stop(plan),
        "warmup_s": load.warmup_s,
        "requests_at_once": plan.connections * at_once,
        "mean_latency_ms": _mean_ms(figures) if has_schedule else None,
        "threads": busy,
        "cpu_share": None
        if seen.waits_busily or available_s <= 0
        else (seen.cpu.user_s + seen.cpu.system_s) / available_s,
    }


def _mean_ms(figures: ToolFigures) -> float | None:
    """Return how long a connection is busy with a request in the mean, which is what Little's law counts."""
    mean_ms = figures.latency.distribution.mean if figures.latency else None
    connect = figures.connect.distribution if figures.connect and figures.connects_before else None
    if mean_ms is None or connect is None or connect.mean is None:
        return mean_ms
    return mean_ms + connect.mean * connect.known_count / figures.answered


def _stop(plan: Plan) -> dict[str, float | int]:
    load = plan.load
    ends = {name: getattr(load, name, None) for name in ("duration_s", "requests_total", "connections_total")}
    [stop] = [{name: value} for name, value in ends.items() if value is not None]
    return stop


def asked_rps(plan: Plan) -> float | None:
    """Return the one rate of requests that the plan asks for; ``None`` where there is none, or it changes."""
    load = plan.load
    if isinstance(load, OpenLoad | DatabaseLoad):
        return None if isinstance(load.rate_rps, list) else load.rate_rps
    if isinstance(load, SessionsLoad) and not isinstance(load.connection_rate_cps, list):
        return load.connection_rate_cps * load.calls
    return None


def _path(plan: HttpPlan) -> str:
    return next((one.path for one in plan.load.asked), "/")
