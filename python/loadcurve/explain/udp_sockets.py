"""Servers of several processes that share one UDP socket."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

CODE = FindingCode(
    "one_udp_socket",
    title="Several processes shared one UDP socket",
    seen_where="over HTTP/3, a server of at least three processes of one program had a single UDP socket: "
    "likely, and shown if requests failed or went unanswered",
    because="any of the processes may get a datagram, and only one of them knows its connection",
)

PROCESSES_MIN = 3
"""One that watches over at least two others."""


@dataclass(frozen=True, slots=True)
class Shared:
    """One socket for several processes."""

    processes: int
    failed: int
    """Requests that failed or were not answered."""
    lost: int
    """Packets."""


def _shared(record: PointRecord) -> Shared | None:
    http3, server = record.load.http3, record.probe.server
    if http3 is None or http3.sockets.of_server != 1 or server is None or server.processes is None:
        return None
    # Of several programs, those behind the first one take no datagrams.
    if server.processes.min < PROCESSES_MIN or len(server.programs or ()) > 1:
        return None
    requests = record.load.requests
    return Shared(
        server.processes.min, (requests.failed or 0) + (requests.unanswered or 0), http3.packets.lost
    )


def _explain(subject: Subject, seen: Sequence[Observation[Shared]]) -> Explanation:
    details = [one.detail for one in seen]
    failed = max(one.failed for one in details)
    consequence = f"; up to {plural(failed, 'request')} failed or went unanswered" if failed else ""
    return Explanation(
        weight="explains",
        certainty="shown" if failed else "likely",
        seen=f"{subject.name} ran {max(one.processes for one in details):,} processes at one UDP "
        f"socket{consequence}.",
        evidence=[
            *ranged("processes", "", [one.processes for one in details]),
            *ranged("UDP sockets of the server", "", [1.0 for _ in details]),
            *ranged("requests failed or unanswered", "", [one.failed for one in details]),
            *ranged("packets lost", "", [one.lost for one in details]),
        ],
        cause="Without SO_REUSEPORT all workers read the same socket, so that a datagram may reach one that "
        "does not know its connection.",
        advice="Give each worker a socket (listen … quic reuseport in nginx), or use one worker over HTTP/3.",
        briefly="its workers shared one UDP socket" if failed else None,
    )


RULE = Rule.of_records(152, CODE, _shared, _explain)
