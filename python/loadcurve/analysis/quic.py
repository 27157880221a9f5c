"""HTTP/3 on each server, over all its loads: handshakes by class, what was lost and dropped, and how."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcurve.analysis.connections import Range
from loadcurve.result.folder import Run
from loadcurve.result.http3 import Http3Result, NumberRange, QuicHandshakes

HANDSHAKES = tuple(QuicHandshakes.model_fields)
"""The classes of handshakes."""


@dataclass(frozen=True, slots=True)
class HandshakeClass:
    """The handshakes of one class in all loads on a server."""

    kind: str
    count: int
    p50_ms: Range | None
    """The medians of the loads; ``None`` where each had too few."""


@dataclass(frozen=True, slots=True)
class QuicOfServer:
    """All loads over HTTP/3 on one server; invalid ones count, too. ``None`` is what no load knows."""

    server: str
    handshakes: list[HandshakeClass]
    """Those that there were."""
    certificate_bytes: Range | None
    packets_sent: int
    packets_lost: int
    key_updates: int
    """How often the keys of a connection's packets were changed."""
    sent_per_answer: Range | None
    """Datagrams."""
    received_per_answer: Range | None
    per_send: Range | None
    per_receive: Range | None
    rtt_min_ms: Range | None
    rtt_smoothed_ms: Range | None
    mtu_bytes: Range | None
    link_mtu_bytes: Range | None
    congestion_events: int
    control: list[str]
    """How the client controls congestion."""
    initial_window_bytes: Range
    windows_bytes: Range
    """Of one stream of the client."""
    server_windows_bytes: Range | None
    server_blocked: int
    blocked: int
    dropped_by_client: int | None
    dropped_by_server: int | None
    receive_buffer_bytes: Range | None
    """As granted to the client."""
    receive_buffer_asked_bytes: Range
    receive_offload: bool
    send_offload: bool
    server_sockets: Range | None
    table_used_bytes: Range | None
    """Of header fields."""
    table_offered_bytes: Range
    announced_ends: int
    stateless_resets: int
    idle_timeouts: int
    errors: int
    """Connections that ended with one, of HTTP/3 or of QUIC."""
    path_challenges: int
    rejected: int


def quic_of(run: Run) -> list[QuicOfServer]:
    """Return what HTTP/3 was on every server that was loaded over it, in the order of the study."""
    by_server: dict[str, list[Http3Result]] = {name: [] for name in run.run.servers}
    for record in run.points:
        if record.load.http3 is not None:
            by_server.setdefault(record.server, []).append(record.load.http3)
    return [_of_server(server, seen) for server, seen in by_server.items() if seen]


def _of_server(server: str, seen: Sequence[Http3Result]) -> QuicOfServer:
    return QuicOfServer(
        server=server,
        handshakes=_handshakes(seen),
        certificate_bytes=_reach(one.certificate_bytes for one in seen),
        packets_sent=sum(one.packets.sent for one in seen),
        packets_lost=sum(one.packets.lost for one in seen),
        key_updates=sum(one.packets.key_updates for one in seen),
        sent_per_answer=Range.of_known(one.packets.sent_per_answer for one in seen),
        received_per_answer=Range.of_known(one.packets.received_per_answer for one in seen),
        per_send=Range.of_known(one.datagrams.per_send for one in seen),
        per_receive=Range.of_known(one.datagrams.per_receive for one in seen),
        rtt_min_ms=Range.of_known(one.rtt_min_ms.min for one in seen),
        rtt_smoothed_ms=Range.of_known(one.rtt_smoothed_ms.mean for one in seen),
        mtu_bytes=_reach(one.mtu_bytes for one in seen),
        link_mtu_bytes=_reach(one.link_mtu_bytes for one in seen),
        congestion_events=sum(one.congestion.events for one in seen),
        control=list(dict.fromkeys(one.congestion.control for one in seen)),
        initial_window_bytes=Range.of(one.congestion.initial_window_bytes for one in seen),
        windows_bytes=Range.of(one.windows.stream_bytes for one in seen),
        server_windows_bytes=_reach(one.windows.server_stream_bytes for one in seen),
        server_blocked=sum(one.windows.server_blocked for one in seen),
        blocked=sum(one.windows.blocked for one in seen),
        dropped_by_client=_sum(one.dropped.by_client for one in seen),
        dropped_by_server=_sum(one.dropped.by_server for one in seen),
        receive_buffer_bytes=_reach(one.sockets.receive_buffer_granted_bytes for one in seen),
        receive_buffer_asked_bytes=Range.of(one.sockets.receive_buffer_asked_bytes for one in seen),
        receive_offload=all(one.sockets.receive_offload == one.sockets.opened for one in seen),
        send_offload=all(one.sockets.send_offload and not one.sockets.send_offload_refused for one in seen),
        server_sockets=Range.of_known(one.sockets.of_server for one in seen),
        table_used_bytes=_reach(one.qpack.used_bytes for one in seen),
        table_offered_bytes=Range.of(one.qpack.offered_bytes for one in seen),
        announced_ends=sum(one.ends.announced for one in seen),
        stateless_resets=sum(one.ends.stateless_resets for one in seen),
        idle_timeouts=sum(one.ends.idle_timeouts for one in seen),
        errors=sum(one.ends.application_errors + one.ends.transport_errors for one in seen),
        path_challenges=sum(one.ends.path_challenges for one in seen),
        rejected=sum(one.streams.rejected for one in seen),
    )


def _handshakes(seen: Sequence[Http3Result]) -> list[HandshakeClass]:
    counts: Counter[str] = Counter()
    for one in seen:
        counts.update({kind: getattr(one.handshakes_ms, kind).known_count for kind in HANDSHAKES})
    return [HandshakeClass(kind, counts[kind], _medians(seen, kind)) for kind in HANDSHAKES if counts[kind]]


def _medians(seen: Sequence[Http3Result], kind: str) -> Range | None:
    return Range.of_known(getattr(one.handshakes_ms, kind).p50 for one in seen)


def _reach(ranges: Iterable[NumberRange | None]) -> Range | None:
    return Range.of_known(bound for one in ranges if one is not None for bound in (one.min, one.max))


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
