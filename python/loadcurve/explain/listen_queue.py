"""Requests near 1 s, 3 s, 7 s: they waited for a SYN to be sent again, as a full listen queue makes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadcurve.explain.finding import Evidence, Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.distribution import merged_curve
from loadcurve.result.load import LoadResult
from loadcurve.result.probe import ListenQueue
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

OVERFLOW = FindingCode(
    "listen_queue_overflow",
    title="The listen queue overflowed",
    seen_where="connections were established 1, 3, 7 … s after their first SYN (-0.05 s to +0.3 s), and "
    "requests of the window may have waited for them, or the load opens connections all the time (`calls`); "
    "SYNs were retransmitted, and a listen queue overflowed",
    because="these are Linux's retransmission times (1, 2, 3, 4, 5, 7, 11 s with "
    "`tcp_syn_linear_timeouts`); a delay of a second alone may have other causes, the counters rule them "
    "out",
)
RETRIED = FindingCode(
    "connections_retried",
    title="SYNs were lost and retransmitted",
    seen_where="the same, without an overflow on this machine: likely",
    because="the SYN was lost elsewhere",
)

FIRST_TIMEOUT_MS = 1000.0
"""Linux waits this long for the answer to its first SYN (TCP_TIMEOUT_INIT, RFC 6298)."""
EARLY_MS = 50.0
"""How much earlier than the timeout a connection may count: timers are as coarse as the kernel's ticks."""
LEAST_MS = FIRST_TIMEOUT_MS - EARLY_MS
LATE_MS = 300.0
"""How much later: the timer's slack, the second handshake and a server that accepts late."""
RETRANSMITS_MAX = 7
"""SYNs retransmitted that are looked for; the next one would come after more than two minutes."""
LINEAR_TIMEOUTS = "net.ipv4.tcp_syn_linear_timeouts"
SOMAXCONN = "net.core.somaxconn"


@dataclass(frozen=True, slots=True)
class Retried:
    """What one record says about connections whose SYN was sent again."""

    overflows: int | None
    syn_retransmits: int | None
    by_moment_s: dict[float, int]
    """How many connections were established about this many seconds (the key) after their first SYN, before
    the window or in it."""
    longest_connect_ms: float | None
    connect_timeouts: int
    queue: ListenQueue | None


def syn_moments_s(linear_timeouts: int | None) -> list[float]:
    """Return after how many seconds Linux sends a SYN again.

    After its n-th timeout the wait doubles, unless no more than ``linear_timeouts`` have passed (Linux 6.5
    and newer, ip-sysctl: tcp_syn_linear_timeouts): 1, 3, 7, 15 … s with 0 of them, and 1, 2, 3, 4, 5, 7 … s
    with 4. ``None`` stands for a kernel that did not publish them: then it is the moments of both.
    """
    if linear_timeouts is None:
        return sorted({*syn_moments_s(0), *syn_moments_s(4)})
    moments, wait_s = [FIRST_TIMEOUT_MS / 1000], FIRST_TIMEOUT_MS / 1000
    for timeouts in range(1, RETRANSMITS_MAX):
        wait_s *= 2 if timeouts > linear_timeouts else 1
        moments.append(moments[-1] + wait_s)
    return moments


def find(subject: Subject) -> list[Finding]:
    """Find requests that waited for a SYN to be sent again, with the queue that overflowed where one did.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    moments_s = syn_moments_s(subject.sysctl(LINEAR_TIMEOUTS))
    observations = observed(subject, lambda record: _retried(record, moments_s))
    overflown = [one for one in observations if subject.is_local and one.detail.overflows]
    others = [one for one in observations if not (subject.is_local and one.detail.overflows)]
    return [
        *merged(OVERFLOW, subject, overflown, _explain_overflow),
        *merged(RETRIED, subject, others, _explain_retried),
    ]


def _retried(record: PointRecord, moments_s: Sequence[float]) -> Retried | None:
    """Return what a record says; ``None`` where no measured request waited for a SYN to be sent again."""
    load = record.load
    tcp = record.probe.tcp
    syn_retransmits = _most(load.kernel.syn_retransmits, tcp.syn_retransmits if tcp else None)
    if syn_retransmits == 0:
        return None
    longest = load.connect_ms.max if load.connect_ms else None
    by_moment: dict[float, int] = {}
    if longest is not None and longest >= LEAST_MS and _may_have_waited(load):
        by_moment = _counts(record, moments_s)
    timeouts = load.errors["connect_timeout"] or 0
    # A time near a second may have other causes: only the kernel's own count says that SYNs were sent again.
    if syn_retransmits is None and not any(one.syn_retransmits for one in load.slowest):
        return None
    if not by_moment and not timeouts:
        return None
    overflows = _most(load.kernel.listen_overflows, tcp.listen_overflows if tcp else None)
    return Retried(overflows, syn_retransmits, by_moment, longest, timeouts, record.probe.listen_queue)


def _may_have_waited(load: LoadResult) -> bool:
    """Say whether a measured request may have waited for a SYN to be sent again.

    Connections that were opened before the load, or in its warm-up, may have kept nobody of the window
    waiting. The slowest requests tell, unless all of them took as long: then others may have, too. A load
    whose clients reconnect has fewer of them in its window while the others wait.
    """
    if load.load.work == "http" and load.load.calls is not None:
        return True
    as_long = [one for one in load.slowest if one.latency_ms >= LEAST_MS]
    if load.slowest and len(as_long) < len(load.slowest):
        return any((one.connect_ms or 0.0) >= LEAST_MS for one in as_long)
    longest_ms = load.latency_ms.max
    return bool(as_long) or longest_ms is None or longest_ms >= LEAST_MS


def _counts(record: PointRecord, moments_s: Sequence[float]) -> dict[float, int]:
    """Count the connections that were established soon after each of the moments.

    Raises ``BadInput`` where their histogram cannot be decoded.
    """
    times, histogram = record.load.connect_ms, record.load.histograms.connect
    if times is None or histogram is None:
        return {}
    name = f"the histogram of connecting of trial {record.trial} ({record.server}) at {record.point}"
    steps = [(0.0, 0.0), *merged_curve([histogram], name)]
    counts: dict[float, int] = {}
    for (below, _), (percentile, time_ms) in pairwise(steps):
        for moment_s in moments_s:
            if -EARLY_MS <= time_ms - moment_s * 1000 <= LATE_MS:
                count = round((percentile - below) / 100 * times.known_count)
                counts[moment_s] = counts.get(moment_s, 0) + count
                break
    return {moment_s: count for moment_s, count in counts.items() if count}


def _most(*counts: int | None) -> int | None:
    return max((count for count in counts if count is not None), default=None)


def _explain_overflow(subject: Subject, seen: Sequence[Observation[Retried]]) -> Explanation:
    queues = [one.detail.queue for one in seen if one.detail.queue is not None]
    holds = f" (backlog {queues[0].backlog:,})" if queues else ""
    capped = bool(queues) and queues[0].backlog == subject.sysctl(SOMAXCONN)
    raised = "net.core.somaxconn" if capped else "the server's listen backlog (and net.core.somaxconn)"
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"{_waited(subject.load, seen)}, and the kernel counted an overflow of a listen queue.",
        evidence=[
            *ranged("overflows of listen queues", "", [one.detail.overflows for one in seen]),
            *_evidence(seen),
            *ranged("backlog of the server's listen queue", "", [queue.backlog for queue in queues]),
            *ranged("most connections that waited in it", "", [queue.waiting_max for queue in queues]),
        ],
        cause=f"Connections arrived faster than the server accepted them, until its listen queue{holds} was "
        "full. The kernel then drops SYNs silently, and the client's kernel retransmits them after one "
        "second, and later again: whole seconds of waiting in which the server does no work.",
        advice=f"Raise {raised}, let the server accept faster, or open fewer connections at once.",
        briefly=f"{_waited(subject.load, seen, briefly=True)}, because the server's listen queue{holds} "
        "overflowed",
    )


def _explain_retried(subject: Subject, seen: Sequence[Observation[Retried]]) -> Explanation:
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"{_waited(subject.load, seen)}; the kernel of this machine counted no overflow of a listen "
        "queue.",
        evidence=_evidence(seen),
        cause="SYNs were lost in the network, or dropped by the listen queue of a server on another "
        "machine, and retransmitted by the client's kernel after whole seconds.",
        advice="Read the counters TcpExtListenOverflows and TcpExtListenDrops where the server runs (nstat "
        "-az), and the drops of the network interfaces in between (ip -s link).",
    )


def _waited(load: LoadKind, seen: Sequence[Observation[Retried]], *, briefly: bool = False) -> str:
    connections = sum(sum(one.detail.by_moment_s.values()) for one in seen)
    timeouts = sum(one.detail.connect_timeouts for one in seen)
    moments = sorted({moment for one in seen for moment in one.detail.by_moment_s})
    parts = []
    if connections:
        about = ", ".join(f"{moment:g}" for moment in moments)
        known = "" if briefly else ", the kernel's delays before it retransmits a SYN"
        parts.append(f"{plural(connections, 'connection')} took about {about} s to establish{known}")
    if timeouts:
        requests = load.requests if timeouts > 1 else load.request
        parts.append(
            f"{timeouts:,} {requests} timed out before there was {'one' if parts else 'a connection'}"
        )
    return ", and ".join(parts)


def _evidence(seen: Sequence[Observation[Retried]]) -> list[Evidence]:
    moments = sorted({moment for one in seen for moment in one.detail.by_moment_s})
    return [
        *ranged("SYNs retransmitted", "", [one.detail.syn_retransmits for one in seen]),
        *(
            item
            for moment in moments
            for item in ranged(
                f"connections established about {moment:g} s after their first SYN",
                "",
                [one.detail.by_moment_s.get(moment, 0) for one in seen],
            )
        ),
        *ranged("longest time to connect", "ms", [one.detail.longest_connect_ms for one in seen]),
        *ranged("timeouts while connecting", "", [one.detail.connect_timeouts or None for one in seen]),
        *ranged("median latency, for comparison", "ms", [one.record.load.latency_ms.p50 for one in seen]),
    ]


RULE = Rule(60, find, OVERFLOW, RETRIED)
