"""Stalls: stretches of time in which nothing was answered, and what server and kernel did in them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

from loadcurve.explain.finding import Certainty, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.load import LoadResult, Silence, SlowRequest
from loadcurve.result.machine import GENERATOR_PAUSED, SUSPECT_TAKEN, TAKEN, share_taken
from loadcurve.result.pauses import Stretch, time_within, together
from loadcurve.result.probe import Column, ProbeSeries
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "stall",
    title="The server stalled",
    seen_where="no answer for at least 0.1 s and 20 times the mean time between answers, while one of the "
    "ten slowest requests was in flight for 80 % of that time, or timed out in it, the generator was neither "
    "paused nor late for half of it, the platform was not paused for 80 % of it, and the verdict is not "
    "`cpu_taken`; not of streams of messages; the cause is likely, or shown where throttling by the CPU "
    "limit was counted for half of it",
    because="random gaps are that long once in e²⁰; without a request in flight there was nothing to "
    "answer. The probe's samples in the stall show what the server did",
)

STALL_MIN_MS = 100.0
"""Shorter ones are of the length of the probe's own interval, and of what a busy machine does to anyone."""
UNUSUAL_FACTOR = 20.0
"""A stall lasts at least this many times the mean time from answer to answer: of answers that come at random,
one pause in 500 million is as long."""
COVERED_SHARE = 0.8
"""A slow request under way for this part of a silence shows that there was something to answer in it."""
TIMEOUTS = ("timeout", "connect_timeout", "quic_idle_timeout")
"""The errors of requests that a timer of the client ended. They cannot last longer than it, however long a
silence is, but one that spent most of its time in a silence shows that there was something to answer."""
OWN_LATENESS_SHARE = 0.5
"""Where the generator itself was late by this part of a stall, nothing shows that it was the server."""
IDLE_CPUS = 0.1
BUSY_CPUS = 0.9
"""A server that used less of a CPU in a stall waited for something, and with more it worked at something."""
THROTTLED_SHARE = 0.5
"""Throttling counted for this part of a stall shows its cause; less may have come at its end only."""
STOLEN_CPUS = 0.5
"""Steal of more than half a CPU in a stall is enough to hold up one thread that must run."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why nothing was answered, and what to do about it."""

    cause: str
    advice: str
    certainty: Certainty = "likely"


THROTTLED = Cause(
    "The server had used its CPU quota and was stopped by its control group.",
    "Raise its CPU limit, or accept the pauses as part of that machine size.",
)
STOLEN = Cause(
    "The host did not run this machine's CPUs although they had work (steal).",
    "Measure again at another time, or on a dedicated machine.",
)
NOT_SEEN = Cause(
    "The stall is too short for the probe's samples, or they do not show what the server did in it.",
    "Sample more often (probe_interval in [host]), and find out what the server does at such times.",
)
WAITED = Cause(
    "The server did nothing during the stall: it waited for a lock, a disk or another service, or was "
    "stopped.",
    "Check what it waits for: a file that is synced, a lock shared by all workers, an internal timeout.",
)
STARVED = Cause(
    "The server did nothing during the stall, while other programs took much of the CPUs: it may have waited "
    "for a CPU, as well as for a lock, a disk or another service.",
    "Measure again without these programs, or on CPUs that they do not use; what stays is the server's.",
)
NEITHER = Cause(
    "The server used some CPU time but answered nothing: it was neither idle nor busy.",
    "Find out what it does at such times, and what else runs on its CPUs.",
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
    """The stalls of one record, and what happened in the longest."""

    silences: int
    """As long as a stall; the slowest requests need not tell what was under way in each."""
    longest: Silence
    requests: int
    """Of the slowest requests, those that were under way in a stall."""
    usual_server_cpus: float | None
    meanwhile: Meanwhile
    is_starved: bool
    """Whether other programs took so much of the CPUs that the server may have waited for one."""


def stalls_in(load: LoadResult, pauses: Sequence[Stretch]) -> list[tuple[Silence, list[SlowRequest]]]:
    """Return the silences that are stalls of the server, the longest first, each with what was under way.

    Those that ``pauses`` of the platform, the generator or other programs account for are left out.
    """
    # Messages come while no stream ends: the time between two ends is no silence of the server.
    if load.messages is not None:
        return []
    stalls = [
        (silence, held)
        for silence in _silences(load)
        if (held := _held_up(load, silence)) and not _is_within(pauses, silence)
    ]
    lateness = load.generator.lateness_ms
    late_ms = (lateness.max if lateness else None) or 0.0
    # Gaps are reported with the longest first.
    is_late = bool(stalls) and late_ms >= OWN_LATENESS_SHARE * stalls[0][0].length_ms
    if is_late or any(reason.code in (GENERATOR_PAUSED, TAKEN) for reason in load.verdict.reasons):
        return []
    return stalls


def briefly(silence: Silence, requests: str) -> str:
    """Say a stall as a sentence without its end."""
    return (
        f"for {silence.length_ms:,.0f} ms, from {silence.start_s:,.2f} s on, nothing was answered, although "
        f"{requests} were in flight"
    )


def _stalled(record: PointRecord) -> Stalled | None:
    load = record.load
    stalls = stalls_in(load, together(load.generator.pauses, record.probe.pauses))
    if not stalls:
        return None
    longest = stalls[0][0]
    server = record.probe.server
    return Stalled(
        silences=len(_silences(load)),
        longest=longest,
        requests=len({id(request) for _, held in stalls for request in held}),
        usual_server_cpus=server.cpu_share if server else None,
        meanwhile=_meanwhile(record.probe.series, longest),
        is_starved=share_taken((record.probe.cpu_time, load.generator.cpu_time)) >= SUSPECT_TAKEN,
    )


def _silences(load: LoadResult) -> list[Silence]:
    """Return the silences that are long, and unusual for this rate."""
    answered_rps = load.rate_rps.answered
    if not answered_rps:
        return []
    least_ms = max(STALL_MIN_MS, UNUSUAL_FACTOR * 1000 / answered_rps)
    return [silence for silence in load.silences if silence.length_ms >= least_ms]


def _is_within(pauses: Sequence[Stretch], silence: Silence) -> bool:
    """Say whether the platform's pauses account for a silence, so that it is no stall of the server."""
    length_s = silence.length_ms / 1000
    return time_within(pauses, silence.start_s, silence.start_s + length_s) >= COVERED_SHARE * length_s


def _held_up(load: LoadResult, silence: Silence) -> list[SlowRequest]:
    """Return the slow requests that were under way in a silence, apart from those that waited for a SYN."""
    start_s, end_s = silence.start_s, silence.start_s + silence.length_ms / 1000
    return [one for one in load.slowest if not one.syn_retransmits and _is_held_up(one, start_s, end_s)]


def _is_held_up(one: SlowRequest, start_s: float, end_s: float) -> bool:
    """Say whether a request was under way for most of a silence, or timed out in one that is longer."""
    latency_s = one.latency_ms / 1000
    common_s = min(one.due_s + latency_s, end_s) - max(one.due_s, start_s)
    timed_out_within = one.error in TIMEOUTS and common_s >= COVERED_SHARE * latency_s > 0
    return timed_out_within or common_s >= COVERED_SHARE * (end_s - start_s)


def _meanwhile(series: ProbeSeries | None, silence: Silence) -> Meanwhile:
    """Return what the samples say whose whole time lies in the stall."""
    if series is None:
        return Meanwhile(*[None] * len(fields(Meanwhile)))
    start_s, end_s = silence.start_s, silence.start_s + silence.length_ms / 1000
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


def _known(column: Column, places: Sequence[int]) -> list[float]:
    return [] if column is None else [value for place in places if (value := column[place]) is not None]


def _mean(column: Column, places: Sequence[int]) -> float | None:
    values = _known(column, places)
    return fmean(values) if values else None


def _sum(column: Column, places: Sequence[int]) -> float | None:
    values = _known(column, places)
    return sum(values) if values else None


def _explain(subject: Subject, seen: Sequence[Observation[Stalled]]) -> Explanation:
    details = [one.detail for one in seen]
    longest = max(details, key=lambda stalled: stalled.longest.length_ms)
    meanwhiles = [detail.meanwhile for detail in details]
    load = subject.load
    why = _why(load, longest)
    return Explanation(
        weight="distorts",
        certainty=why.certainty,
        seen=f"{briefly(longest.longest, load.requests).capitalize()}.",
        evidence=[
            *ranged("longest stall", "ms", [detail.longest.length_ms for detail in details]),
            *ranged("gaps without an answer as long as a stall", "", [one.silences for one in details]),
            *ranged(
                f"slowest {load.requests} that were delayed", "", [detail.requests for detail in details]
            ),
            *ranged("median latency, for comparison", "ms", [one.record.load.latency_ms.p50 for one in seen]),
            *ranged("CPU of the server in the stall", "CPUs", [one.server_cpus for one in meanwhiles]),
            *ranged("CPU of the server in the window", "CPUs", [one.usual_server_cpus for one in details]),
            *ranged("busy CPUs of the machine in the stall", "CPUs", [one.busy_cpus for one in meanwhiles]),
            *ranged("steal in the stall", "CPUs", [one.stolen_cpus for one in meanwhiles]),
            *ranged("throttled time in the stall", "s", [one.throttled_s for one in meanwhiles]),
            *ranged("segments retransmitted in the stall", "", [one.retransmits for one in meanwhiles]),
            *ranged(
                "voluntary context switches of the server in the stall",
                "",
                [one.context_switches for one in meanwhiles],
            ),
            *ranged("connections waiting to be accepted", "", [one.waiting for one in meanwhiles]),
        ],
        cause=why.cause,
        advice=why.advice,
        briefly=f"nothing was answered for {longest.longest.length_ms:,.0f} ms, because the CPU limit "
        "stopped the server"
        if why.certainty == "shown"
        else None,
    )


def _why(load: LoadKind, stalled: Stalled) -> Cause:
    """Return the cause that fits what happened meanwhile."""
    now = stalled.meanwhile
    if now.throttled_s:
        is_shown = now.throttled_s >= THROTTLED_SHARE * stalled.longest.length_ms / 1000
        return replace(THROTTLED, certainty="shown") if is_shown else THROTTLED
    if (now.stolen_cpus or 0.0) >= STOLEN_CPUS:
        return STOLEN
    if now.server_cpus is None:
        return NOT_SEEN
    found = _by_use(load, now.server_cpus)
    return STARVED if stalled.is_starved and found is WAITED else found


def _by_use(load: LoadKind, server_cpus: float) -> Cause:
    if server_cpus <= IDLE_CPUS:
        return WAITED
    return _worked(load) if server_cpus >= BUSY_CPUS else NEITHER


def _worked(load: LoadKind) -> Cause:
    return Cause(
        "The server was busy throughout, but with other work: a garbage collection, a reload, or one "
        f"{load.request} that blocked all others.",
        f"Check the garbage collector's log, and look for {load.requests} that block an event loop.",
    )


RULE = Rule.of_records(70, CODE, _stalled, _explain)
