"""Stalls: stretches of time in which nothing was answered, and what server and kernel did in them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from loadcurve.explain.finding import Finding, ranged
from loadcurve.explain.sighting import Sighting, Told, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.load import LoadResult, SlowRequest
from loadcurve.result.probe import Column, ProbeSeries
from loadcurve.result.records import PointRecord

CODE = "stall"

STALL_MIN_MS = 100.0
"""Shorter ones are of the length of the probe's own interval, and of what a busy machine does to any
process."""
UNUSUAL_FACTOR = 10.0
"""A request of a stall takes at least so many times the median; else waiting is what this load does
anyway."""
TOGETHER_S = 0.02
"""Requests that a stall held up end within this time of each other: the server has them all before it
again."""
TOGETHER_MIN = 5
"""So many of the slowest requests that end together are no accident; with fewer connections it is all of
them."""
OWN_LATENESS_SHARE = 0.5
"""Where the generator itself was late by this part of a stall, it stood still as well: nothing shows the
server."""
IDLE_CPUS = 0.1
BUSY_CPUS = 0.9
"""A server that used less, or more, of a CPU in a stall than this waited for something, or worked at
something."""
STOLEN_CPUS = 0.5
"""Steal of more than half a CPU in a stall is enough to hold up one thread that must run."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why nothing was answered, and what to do about it."""

    cause: str
    advice: str


THROTTLED = Cause(
    "The server had used up its share of the CPUs and was stopped by its control group.",
    "Raise its limit of CPUs, or take the pauses as part of that machine's size.",
)
STOLEN = Cause(
    "Another tenant of the host had the processor.",
    "Measure again at another time, or on a machine of your own.",
)
NOT_SEEN = Cause(
    "The stall is too short for the probe's samples, or these do not tell what the server did in it.",
    "Sample more often (probe_interval in [host]), and look for what the server does at such moments.",
)
WAITED = Cause(
    "The server did nothing in this time: it waited for a lock, a disk or another service, or was stopped.",
    "Look at its waits: a file that is synced, a lock that all workers take, a time-out inside.",
)
WORKED = Cause(
    "The server worked all the time, but on something else: a collection of garbage, a reload, or one "
    "request that held up all others.",
    "Look at its collector's log, and for requests that take long on an event loop.",
)
NEITHER = Cause(
    "The server had some processor time and answered nothing: it was neither idle nor busy.",
    "Look for what it does at such moments, and for what else runs on its CPUs.",
)


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What happened in a stall; ``None`` where no sample lies in it, or the figure was not read."""

    server_cpus: float | None
    stolen_cpus: float | None
    busy_cpus: float | None
    throttled_s: float | None
    retransmits: float | None
    context_switches: float | None
    waiting: float | None


@dataclass(frozen=True, slots=True)
class Stalled:
    """The stalls of one record that its slowest requests show, and what happened in the longest."""

    count: int
    start_s: float
    length_ms: float
    requests: int
    all_connections: bool
    usual_server_cpus: float | None
    meanwhile: Meanwhile


def find(subject: Subject) -> list[Finding]:
    """Find stalls: many of the slowest requests, due at different times, that ended at the same moment."""
    sightings = [
        Sighting(record, stalled) for record in subject.records if (stalled := _stalled(record)) is not None
    ]
    return merged(CODE, subject, sightings, _tell)


def _stalled(record: PointRecord) -> Stalled | None:
    load = record.load
    stalls = _stalls(load)
    if not stalls:
        return None
    longest = max(stalls, key=_length_ms)
    length_ms = _length_ms(longest)
    lateness = load.generator.lateness_ms
    if lateness is not None and (lateness.max or 0.0) >= OWN_LATENESS_SHARE * length_ms:
        return None
    start_s = max(_end_s(one) for one in longest) - length_ms / 1000
    series, server = record.probe.series, record.probe.server
    return Stalled(
        count=len(stalls),
        start_s=start_s,
        length_ms=length_ms,
        requests=sum(len(stall) for stall in stalls),
        all_connections=len({one.connection for one in longest}) >= load.load.connections,
        usual_server_cpus=server.cpu_share if server else None,
        meanwhile=_meanwhile(series, start_s, start_s + length_ms / 1000),
    )


def _stalls(load: LoadResult) -> list[list[SlowRequest]]:
    """Return the groups of slow requests that ended together."""
    median_ms = load.latency_ms.p50
    if median_ms is None:
        return []
    least_ms = max(STALL_MIN_MS, UNUSUAL_FACTOR * median_ms)
    # Connections whose SYN was sent again are made at the same moment without any stall.
    slow = [
        one
        for one in load.slowest
        if one.error is None and not one.syn_retransmits and one.latency_ms >= least_ms
    ]
    groups: list[list[SlowRequest]] = []
    for one in sorted(slow, key=_end_s):
        if not groups or _end_s(one) - _end_s(groups[-1][0]) > TOGETHER_S:
            groups.append([])
        groups[-1].append(one)
    needed = min(TOGETHER_MIN, load.load.connections)
    return [group for group in groups if len(group) >= needed]


def _end_s(one: SlowRequest) -> float:
    return one.due_s + one.latency_ms / 1000


def _length_ms(stall: Sequence[SlowRequest]) -> float:
    return max(one.latency_ms for one in stall)


def _meanwhile(series: ProbeSeries | None, start_s: float, end_s: float) -> Meanwhile:
    """Return what the samples say whose whole time lies in the stall."""
    if series is None:
        return Meanwhile(*[None] * len(fields(Meanwhile)))
    inside = [
        place
        for place in range(1, len(series.t_s))
        if series.t_s[place - 1] >= start_s and series.t_s[place] <= end_s
    ]
    user, system = _mean(series.cpu_user_share, inside), _mean(series.cpu_system_share, inside)
    return Meanwhile(
        server_cpus=None if user is None or system is None else user + system,
        stolen_cpus=_mean(series.steal_cpus, inside),
        busy_cpus=_mean(series.busy_cpus, inside),
        throttled_s=_sum(series.throttled_s, inside),
        retransmits=_sum(series.retransmits, inside),
        context_switches=_sum(series.voluntary_context_switches, inside),
        waiting=_mean(series.listen_queue, inside),
    )


def _told(column: Column, places: Sequence[int]) -> list[float]:
    return [] if column is None else [value for place in places if (value := column[place]) is not None]


def _mean(column: Column, places: Sequence[int]) -> float | None:
    values = _told(column, places)
    return fmean(values) if values else None


def _sum(column: Column, places: Sequence[int]) -> float | None:
    values = _told(column, places)
    return sum(values) if values else None


def _tell(seen: Sequence[Sighting[Stalled]]) -> Told:
    details = [one.detail for one in seen]
    longest = max(details, key=lambda stalled: stalled.length_ms)
    meanwhiles = [detail.meanwhile for detail in details]
    # With the slowest requests on every connection it is certain; ten of many connections only make it
    # likely.
    nothing = "nothing was answered" if longest.all_connections else "next to nothing was answered"
    why = _why(longest)
    return Told(
        weight="distorts",
        certainty="likely",
        seen=f"For {longest.length_ms:,.0f} ms, from {longest.start_s:,.2f} s on, {nothing}: requests that "
        "fell due at different times were all answered at its end.",
        evidence=[
            *ranged("longest stall", "ms", [detail.length_ms for detail in details]),
            *ranged("stalls among the slowest requests", "", [detail.count for detail in details]),
            *ranged("slow requests that ended together", "", [detail.requests for detail in details]),
            *ranged("median latency, to compare", "ms", [one.record.load.latency_ms.p50 for one in seen]),
            *ranged("CPU of the server in the stall", "CPUs", [one.server_cpus for one in meanwhiles]),
            *ranged("CPU of the server in the window", "CPUs", [one.usual_server_cpus for one in details]),
            *ranged("CPUs busy in the stall, of the machine", "CPUs", [one.busy_cpus for one in meanwhiles]),
            *ranged("steal in the stall", "CPUs", [one.stolen_cpus for one in meanwhiles]),
            *ranged("time throttled in the stall", "s", [one.throttled_s for one in meanwhiles]),
            *ranged("segments sent again in the stall", "", [one.retransmits for one in meanwhiles]),
            *ranged(
                "times that its threads went to sleep in the stall",
                "",
                [one.context_switches for one in meanwhiles],
            ),
            *ranged("connections that waited to be accepted", "", [one.waiting for one in meanwhiles]),
        ],
        cause=why.cause,
        advice=why.advice,
    )


def _why(stalled: Stalled) -> Cause:
    """Return the cause that fits what happened meanwhile."""
    now = stalled.meanwhile
    if now.throttled_s:
        return THROTTLED
    if (now.stolen_cpus or 0.0) >= STOLEN_CPUS:
        return STOLEN
    if now.server_cpus is None:
        return NOT_SEEN
    return _by_use(now.server_cpus)


def _by_use(server_cpus: float) -> Cause:
    if server_cpus <= IDLE_CPUS:
        return WAITED
    return WORKED if server_cpus >= BUSY_CPUS else NEITHER
