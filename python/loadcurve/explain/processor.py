"""The server's processor time: all of its CPUs used, throttled by its limit, or one thread's only."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.cpu_credits import held_to_baseline
from loadcurve.explain.finding import Evidence, Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.probe import BusiestThread
from loadcurve.result.records import KERNEL_PERIOD_MS, PointRecord

LIMIT = FindingCode(
    "cpu_limit",
    title="The server used all of its CPUs",
    seen_where="the server used 90 % of its CPUs, or of its limit",
    because="at 90 % utilisation, the wait for a CPU is nine times the processing time (M/M/1)",
)
THROTTLED = FindingCode(
    "cpu_throttled",
    title="The limit of CPU held the server back",
    seen_where="it was throttled in 5 % of the periods in which it was runnable",
    because="one in 20 affects more than the slowest requests",
)
ONE_THREAD = FindingCode(
    "one_thread",
    title="One thread was the limit",
    seen_where="one thread used 90 % of a CPU, and half a CPU or more was free. Without figures per "
    "thread: a server with one thread, or (likely) with `workers = 1`, used 0.9 to 1.1 CPUs",
    because="a thread uses at most one CPU",
)

FULL_SHARE = 0.9
"""From this share of its CPUs on a server counts as at their limit: what waits for a CPU that is 90 % busy
waits nine times as long as its work takes (M/M/1), so more load brings waiting rather than throughput."""
THROTTLED_PERIODS_SHARE = 0.05
"""Periods in which a server had to wait for its next share of the CPUs. Below 1 in 20 only the slowest
requests meet one, and a start or a collection of garbage may do that."""
SPARE_CPUS = 0.5
"""With less than half a CPU to spare, the other threads are nearly as busy as the busiest one."""
ONE_CPU_MAX = 1.1
"""One thread uses at most one CPU; the rest is for helpers beside it, and for the error of the readings."""


@dataclass(frozen=True, slots=True)
class Used:
    """How much processor time a server used, and had."""

    cpus: float
    available: float
    threads: int | None
    processes: int | None
    busiest_process_cpus: float | None
    busiest_thread: BusiestThread | None
    throttled_share: float | None
    throttled_s: float | None


def find(subject: Subject) -> list[Finding]:
    """Find points at which the server's processor time was the limit, each by the nearest of three causes."""
    used = observed(subject, lambda record: _used(subject, record))
    throttled = [one for one in used if (one.detail.throttled_share or 0) >= THROTTLED_PERIODS_SHARE]
    held = {id(one.record) for one in throttled}
    free = [one for one in used if id(one.record) not in held]
    full = [one for one in free if one.detail.cpus >= FULL_SHARE * one.detail.available]
    single = [one for one in free if _is_bound_to_one_thread(subject, one.detail)]
    return [
        *merged(THROTTLED, subject, throttled, _explain_throttled),
        *merged(LIMIT, subject, full, _explain_full),
        *merged(ONE_THREAD, subject, single, _explain_one_thread),
    ]


def _used(subject: Subject, record: PointRecord) -> Used | None:
    """Return what a server used and had; ``None`` where that is not known, or was its baseline at times."""
    server, available = record.probe.server, subject.cpus_available
    if server is None or server.cpu_share is None or not available or held_to_baseline(record):
        return None
    throttling = record.probe.throttling
    share = throttling.throttled_periods / throttling.periods if throttling and throttling.periods else None
    return Used(
        cpus=server.cpu_share,
        available=available,
        threads=server.threads.max if server.threads else None,
        processes=server.processes.max if server.processes else None,
        busiest_process_cpus=server.busiest_process.cpu_share if server.busiest_process else None,
        busiest_thread=server.busiest_thread,
        throttled_share=share,
        throttled_s=throttling.throttled_s if throttling else None,
    )


def _is_bound_to_one_thread(subject: Subject, used: Used) -> bool:
    """Say whether one thread used a whole CPU while the server left others unused."""
    if used.available - used.cpus < SPARE_CPUS:
        return False
    if used.busiest_thread is not None:
        return used.busiest_thread.cpu_share >= FULL_SHARE
    alone = used.threads == 1 or subject.number_setting("workers") == 1
    return alone and FULL_SHARE <= used.cpus <= ONE_CPU_MAX


def _explain_throttled(subject: Subject, seen: Sequence[Observation[Used]]) -> Explanation:
    share = max(one.detail.throttled_share or 0 for one in seen)
    limits = subject.server.limits
    period_ms = (limits and limits.period_ms) or KERNEL_PERIOD_MS
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"The server was throttled by its CPU limit in up to {100 * share:.0f} % of the "
        f"{period_ms:g} ms periods in which it was runnable.",
        evidence=[
            *ranged("throttled periods", "share", [one.detail.throttled_share for one in seen]),
            *ranged("throttled time, over all CPUs", "s", [one.detail.throttled_s for one in seen]),
            *ranged("CPU of the server", "CPUs", [one.detail.cpus for one in seen]),
            *ranged("CPUs available to it", "CPUs", [one.detail.available for one in seen]),
        ],
        cause="The server's control group limits its CPU time, and the kernel stops all of its processes "
        f"until the next period begins: {subject.load.requests} wait for up to {period_ms:g} ms meanwhile.",
        advice="Give the server more CPUs (limits.cpus, or a larger machine) unless these pauses are what "
        "the study measures; if the study sets no limit, check the limits of the container that it runs in.",
        briefly=f"{subject.load.requests} waited for up to {period_ms:g} ms, because the CPU limit stopped "
        f"the server in up to {100 * share:.0f} % of the periods in which it was runnable",
    )


def _explain_full(subject: Subject, seen: Sequence[Observation[Used]]) -> Explanation:
    most = max(seen, key=lambda one: one.detail.cpus / one.detail.available).detail
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"The server used up to {most.cpus:.2f} of the {_cpus(most.available)} that it had.",
        evidence=[
            *ranged("CPU of the server", "CPUs", [one.detail.cpus for one in seen]),
            *ranged("CPUs available to it", "CPUs", [one.detail.available for one in seen]),
            *_cost(subject, seen),
        ],
        cause=f"The server is at the limit of its CPUs: the CPU time per {subject.load.request} determines "
        "its throughput.",
        advice="From here on, more load only adds waiting. Compare the servers' CPU per "
        f"{subject.load.request}, and give the server more CPUs to see whether it can use them.",
    )


def _explain_one_thread(subject: Subject, seen: Sequence[Observation[Used]]) -> Explanation:
    most = max(seen, key=lambda one: one.detail.cpus).detail
    threads = [one.detail.busiest_thread for one in seen if one.detail.busiest_thread is not None]
    name = next((f", {thread.name}," for thread in threads if thread.name), "")
    return Explanation(
        weight="explains",
        certainty="shown" if threads or most.threads == 1 else "likely",
        seen=f"The server used {most.cpus:.2f} CPUs of the {most.available:g} available.",
        evidence=[
            *ranged("CPU of the server", "CPUs", [one.detail.cpus for one in seen]),
            *ranged("CPU of its busiest thread", "CPUs", [thread.cpu_share for thread in threads]),
            *ranged("CPUs available to it", "CPUs", [one.detail.available for one in seen]),
            *ranged("threads", "", [one.detail.threads for one in seen]),
            *ranged("CPU of its busiest process", "CPUs", [one.detail.busiest_process_cpus for one in seen]),
            *_cost(subject, seen),
        ],
        cause=f"One thread{name} used a whole CPU, and cannot use more: its work is the limit, and any "
        f"further CPUs stay idle.{_idle_workers(subject, most)}",
        advice=_one_thread_advice(subject, most),
    )


def _has_idle_workers(subject: Subject, used: Used) -> bool:
    """Say whether the server has processes for the work, one of which did nearly all of it."""
    workers = subject.number_setting("workers") or (used.processes or 1)
    of_one = used.busiest_process_cpus
    return workers > 1 and of_one is not None and of_one >= FULL_SHARE * used.cpus


def _idle_workers(subject: Subject, used: Used) -> str:
    if not _has_idle_workers(subject, used):
        return ""
    share = (used.busiest_process_cpus or 0.0) / used.cpus
    processes = f"{used.processes} processes" if used.processes else "processes"
    return f" Of the server's {processes}, the busiest did {100 * min(share, 1.0):.0f} % of the work."


def _one_thread_advice(subject: Subject, used: Used) -> str:
    if _has_idle_workers(subject, used):
        return (
            "More workers would not help while the connections are not shared among those that there are: "
            "have the kernel share them (SO_REUSEPORT, such as reuseport of nginx), use more connections, or "
            "let each carry fewer requests."
        )
    return (
        "Start more workers (the setting workers, if the server has it), or compare it with servers "
        "that are limited to one CPU."
    )


def _cost(subject: Subject, seen: Sequence[Observation[Used]]) -> list[Evidence]:
    costs = [one.record.probe.server.cpu_per_request_us for one in seen if one.record.probe.server]
    return ranged(f"CPU per {subject.load.request}", "µs", costs)


def _cpus(count: float) -> str:
    return "one CPU" if count == 1 else f"{count:g} CPUs"


RULE = Rule(220, find, LIMIT, THROTTLED, ONE_THREAD)
