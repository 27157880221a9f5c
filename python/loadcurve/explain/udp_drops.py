"""Datagrams that arrived and found no room: whose buffer it was."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

SERVER = FindingCode(
    "server_udp_drops",
    title="The server's UDP buffer overflowed",
    seen_where="over HTTP/3, the kernel dropped at least 20 datagrams at the server's sockets, and at least "
    "0.1 % of those sent",
    because="QUIC takes a dropped datagram for a lost one: what was in it waits to be sent again, and its "
    "sender slows down",
)
CLIENT = FindingCode(
    "client_udp_drops",
    title="The load's UDP buffers overflowed",
    seen_where="over HTTP/3, the kernel dropped at least 20 datagrams at the load's own sockets, and at "
    "least 0.1 % of those received",
    because="the server then sends again what the load did not read in time, and slows down for it",
)

TIMES_MIN = 20
SHARE_MIN = 0.001


@dataclass(frozen=True, slots=True)
class Dropped:
    """What was dropped at both sides in one record, of what the other one sent."""

    by_server: int
    of_sent: int
    by_client: int
    of_received: int
    buffer_bytes: int | None
    """Of the load's sockets, the smallest."""


def find(subject: Subject) -> list[Finding]:
    """Find points at which either side's buffers overflowed."""
    seen = observed(subject, _dropped)
    server = [one for one in seen if _is_much(one.detail.by_server, one.detail.of_sent)]
    client = [one for one in seen if _is_much(one.detail.by_client, one.detail.of_received)]
    return [
        *merged(SERVER, subject, server, _explain_server),
        *merged(CLIENT, subject, client, _explain_client),
    ]


def _is_much(dropped: int, of: int) -> bool:
    return dropped >= TIMES_MIN and dropped >= SHARE_MIN * of


def _dropped(record: PointRecord) -> Dropped | None:
    http3 = record.load.http3
    if http3 is None:
        return None
    granted = http3.sockets.receive_buffer_granted_bytes
    return Dropped(
        by_server=http3.dropped.by_server or 0,
        of_sent=http3.packets.datagrams_sent,
        by_client=http3.dropped.by_client or 0,
        of_received=http3.packets.datagrams_received,
        buffer_bytes=None if granted is None else granted.min,
    )


def _explain_server(subject: Subject, seen: Sequence[Observation[Dropped]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.by_server)
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"The kernel dropped up to {most.by_server:,} datagrams that arrived for {subject.name}, "
        "because its receive buffer was full.",
        evidence=[
            *ranged("datagrams dropped at the server", "", [one.by_server for one in details]),
            *ranged("datagrams sent to it", "", [one.of_sent for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The server reads its UDP sockets more slowly than the load fills them, and their buffers are "
        "small: the kernel's default is about 200 KiB.",
        advice="Raise net.core.rmem_default and rmem_max on the server's machine, or the server's own "
        "setting, and compare with the rate at which it is at its limit anyway.",
        briefly="its UDP receive buffer overflowed",
    )


def _explain_client(_: Subject, seen: Sequence[Observation[Dropped]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.by_client)
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"The kernel dropped up to {most.by_client:,} datagrams that arrived for the load, because its "
        "receive buffers were full.",
        evidence=[
            *ranged("datagrams dropped at the load", "", [one.by_client for one in details]),
            *ranged("datagrams received", "", [one.of_received for one in details]),
            *ranged("receive buffer", "bytes", [one.buffer_bytes for one in details]),
        ],
        cause="The load does not read as fast as the server sends, or the kernel grants its sockets too "
        "little.",
        advice="Raise net.core.rmem_max on the load's machine, use more threads for the load, or give each "
        'connection a socket of UDP where those of a thread share one (sockets = "connection"): these '
        "figures are not the server's alone.",
    )


RULE = Rule(151, find, SERVER, CLIENT)
