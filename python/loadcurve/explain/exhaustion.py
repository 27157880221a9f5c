"""Local ports, open files or places for tracked connections ran out, here or in the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.outcomes import FAILURES
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

PORTS = FindingCode(
    "ports_exhausted",
    title="No local port was left",
    seen_where="any request failed for lack of a local port; shown if TIME_WAIT held half of the ports",
    because="the failure is not the server's",
)
DESCRIPTORS = FindingCode(
    "descriptors_exhausted",
    title="No file descriptor was left",
    seen_where="any request failed for lack of a file descriptor",
    because="the failure is not the server's",
)
SERVER_CONNECTIONS = FindingCode(
    "server_connections_exhausted",
    title="The server reached its limit of connections",
    seen_where="as many connections as the server's settings allow, and failed requests: likely",
    because="a server closes the connections that it cannot serve; over HTTP/3 nginx counts streams, too",
)

TRACKING = FindingCode(
    "tracking_full",
    title="The kernel's table of tracked connections was full",
    seen_where="the kernel of the load counted packets dropped for that reason",
    because="connections that fail or wait for a second and more are then not the server's fault",
)

TRACKING_SIZE = "net.netfilter.nf_conntrack_max"
PORT_RANGE = "net.ipv4.ip_local_port_range"
CONNECTIONS_PER_FILES = {"worker_connections": 1, "max_fds": 3}
"""Settings that bound how many files a worker may have open, and how many of these a connection may need at
the server's own counting: lighttpd serves at most a third of its max-fds."""


@dataclass(frozen=True, slots=True)
class RanOut:
    """What one record says about ports, open files and connections."""

    without: int
    """Requests that found none of what ran out."""
    time_wait: int | None
    established: int | None
    opened_cps: float | None


def find(subject: Subject) -> list[Finding]:
    """Find requests that failed for want of a port, an open file, or a place in the server or the kernel."""
    ports = [
        Observation(record, _ran_out(record, count))
        for record in subject.records
        if (count := record.load.errors["address_unavailable"])
    ]
    descriptors = [
        Observation(record, _ran_out(record, count))
        for record in subject.records
        if (count := record.load.errors["fd_unavailable"])
    ]
    places = server_places(subject)
    turned_away = [
        Observation(record, _ran_out(record, _turned_away(record)))
        for record in subject.records
        if places is not None and _places_taken(record) >= places and _turned_away(record)
    ]
    return [
        *merged(PORTS, subject, ports, _explain_ports),
        *merged(DESCRIPTORS, subject, descriptors, _explain_descriptors),
        *merged(SERVER_CONNECTIONS, subject, turned_away, _explain_server),
        *merged(TRACKING, subject, _untracked(subject), _explain_tracking),
    ]


def _untracked(subject: Subject) -> list[Observation[int]]:
    """Return the packets that each load lost for want of room in the table of tracked connections."""
    return [
        Observation(record, drops)
        for record in subject.records
        if (drops := record.load.kernel.tracking_drops)
    ]


def _explain_tracking(subject: Subject, seen: Sequence[Observation[int]]) -> Explanation:
    dropped, size = sum(one.detail for one in seen), _sysctl(subject, TRACKING_SIZE)
    return Explanation(
        weight="invalidates",
        certainty="shown",
        seen=f"The kernel dropped {plural(dropped, 'packet')}.",
        evidence=[
            *ranged("packets dropped by connection tracking", "", [one.detail for one in seen]),
            *ranged("places in its table", "", [int(size) if size.isdigit() else None]),
        ],
        cause="Firewall rules, often those of programs that run containers, make the kernel track "
        "connections (nf_conntrack). Each keeps its place for up to 2 min after its end; where the table is "
        "full, packets of new ones are dropped, and sent again after 1 s, 3 s and 7 s.",
        advice="Keep connections open (calls, keepalive), enlarge net.netfilter.nf_conntrack_max, or remove "
        "the rules that track connections on this machine.",
        briefly=f"the kernel dropped {plural(dropped, 'packet')}, because its table of tracked connections "
        "was full",
    )


def server_places(subject: Subject) -> int | None:
    """Return how many connections the server's settings let it serve at once; ``None`` without a bound."""
    workers = subject.number_setting("workers") or 1
    bounds = [
        workers * (files // for_each)
        for name, for_each in CONNECTIONS_PER_FILES.items()
        if (files := subject.number_setting(name)) is not None
    ]
    return min(bounds, default=None)


def _places_taken(record: PointRecord) -> int:
    """Return how many of the server's places the load can occupy at once.

    Over HTTP/3 that is each open stream, besides the connection: so nginx 1.26.3 counts, whose limit is the
    only one known of a server over HTTP/3. A connection that replaces one whose end was announced occupies
    places beside it.
    """
    load, quic = record.load.load, record.load.http3
    if quic is None:
        return load.connections or 0
    generations = 2 if quic.ends.announced else 1
    return generations * (load.connections or 0) * (1 + load.streams)


def _turned_away(record: PointRecord) -> int:
    """Return how many requests failed in the ways in which a server without a place lets them fail."""
    return sum(
        count for code, count in record.load.errors.nonzero().items() if FAILURES[code].origin == "server"
    )


def _ran_out(record: PointRecord, without: int) -> RanOut:
    sockets, load = record.probe.sockets, record.load
    return RanOut(
        without=without,
        time_wait=sockets.time_wait_max if sockets else None,
        established=sockets.established_max if sockets else None,
        opened_cps=load.connections.rate_cps,
    )


def _explain_ports(subject: Subject, seen: Sequence[Observation[RanOut]]) -> Explanation:
    ports, requests = _local_ports(subject), subject.load.requests
    waiting = max((one.detail.time_wait or 0 for one in seen), default=0)
    # Within one machine both ends are seen, and the end that closed first is the one that waits.
    explained = ports is not None and waiting >= ports / 2
    share = "" if ports is None else f" of the {ports:,} in this machine's range"
    holds = (
        f"{waiting:,} connections in TIME_WAIT occupied the ports{share}"
        if explained
        else f"All local ports{share} were in use, by open connections or by those in TIME_WAIT"
    )
    return Explanation(
        weight="invalidates",
        certainty="shown" if explained else "likely",
        seen=f"{sum(one.detail.without for one in seen):,} {requests} found no local port for their "
        "connection.",
        evidence=[
            *ranged(f"{requests} without a local port", "", [one.detail.without for one in seen]),
            *ranged("sockets in TIME_WAIT, most", "", [one.detail.time_wait for one in seen]),
            *ranged("sockets established, most", "", [one.detail.established for one in seen]),
            *ranged("local ports", "", [ports]),
            *ranged("connections opened", "per s", [one.detail.opened_cps for one in seen]),
        ],
        cause=f"{holds}. The side that closes a connection first keeps its port for 60 s, unless the "
        "kernel may reuse it sooner.",
        advice="Keep connections open (calls, keepalive), widen net.ipv4.ip_local_port_range, or set "
        "net.ipv4.tcp_tw_reuse to 1 on the load's machine.",
        briefly=f"{sum(one.detail.without for one in seen):,} {requests} found no local port, because {holds}"
        if explained
        else None,
    )


def _explain_descriptors(subject: Subject, seen: Sequence[Observation[RanOut]]) -> Explanation:
    requests, limits = subject.load.requests, subject.run.host.get("limits")
    files = limits.get("open_files") if isinstance(limits, dict) else None
    hard = files[1] if isinstance(files, list | tuple) and len(files) > 1 else None
    return Explanation(
        weight="invalidates",
        certainty="shown",
        seen=f"{sum(one.detail.without for one in seen):,} {requests} found no free file descriptor for "
        "their connection.",
        evidence=[
            *ranged(f"{requests} without a file descriptor", "", [one.detail.without for one in seen]),
            *ranged("connections requested", "", [one.record.load.load.connections for one in seen]),
            *ranged("limit of open files per process", "", [hard if isinstance(hard, int) else None]),
        ],
        cause="The generator's process, or the whole machine, had reached its limit of open files.",
        advice="Raise the limit of open files (ulimit -n, fs.file-max), or use fewer connections.",
        briefly=f"{sum(one.detail.without for one in seen):,} {requests} were not sent, because the "
        "generator had no file descriptor left",
    )


def _explain_server(subject: Subject, seen: Sequence[Observation[RanOut]]) -> Explanation:
    places, requests = server_places(subject) or 0, subject.load.requests
    taken = [_places_taken(one.record) for one in seen]
    has_streams = any(one.record.load.http3 is not None for one in seen)
    counted = "connections and streams" if has_streams else "connections"
    also = "Over HTTP/3 each open stream counts as well as its connection. " if has_streams else ""
    return Explanation(
        weight="invalidates",
        certainty="likely",
        seen=f"The server's settings let it serve {places:,} connections at once, {min(taken):,} or more "
        f"{counted} were requested, and {sum(one.detail.without for one in seen):,} {requests} failed.",
        evidence=[
            *ranged(f"{counted} requested", "", taken),
            *ranged("connections allowed by the server's settings", "", [places]),
            *ranged(f"{requests} refused", "", [one.detail.without for one in seen]),
        ],
        cause=f"{also}The server accepts no further connection: it closes those beyond its limit, or leaves "
        "them waiting until the client times out.",
        advice="Raise worker_connections or max_fds (and the limit of open files), or start more workers.",
    )


def _sysctl(subject: Subject, name: str) -> str:
    """Return a setting of the kernel of the load; nothing where it is not recorded."""
    sysctls = subject.run.host.get("sysctls")
    return str(sysctls.get(name, "")) if isinstance(sysctls, dict) else ""


def _local_ports(subject: Subject) -> int | None:
    bounds = _sysctl(subject, PORT_RANGE).split()
    if len(bounds) != 2 or not all(bound.isdigit() for bound in bounds):  # noqa: PLR2004 -- first and last
        return None
    return int(bounds[1]) - int(bounds[0]) + 1


RULE = Rule(50, find, PORTS, DESCRIPTORS, SERVER_CONNECTIONS, TRACKING)
