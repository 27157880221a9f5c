"""HTTP/3 in one load, in a few lines for the terminal."""

from collections.abc import Iterator

from loadcurve.result.http3 import Http3Result, QuicStreams
from loadcurve.units import ABSENT, milliseconds, number, percent, plural

HANDSHAKES_IN_WORDS = {
    "full": "full",
    "resumed": "resumed",
    "early_accepted": "0-RTT accepted",
    "early_rejected": "0-RTT refused",
    "after_retry": "after Retry",
}
"""By the class of a handshake in the record."""


def quic_lines(http3: Http3Result, streams: int) -> Iterator[str]:
    """Yield the handshakes, the packets, the datagrams, and what was dropped or held up.

    ``streams`` is how many requests at once the load asked for on each connection.
    """
    yield "; ".join(_handshakes(http3)) or "no handshake"
    packets = http3.packets
    share = f" ({percent(packets.lost / packets.sent)})" if packets.lost and packets.sent else ""
    smoothed = http3.rtt_smoothed_ms.mean
    rtt = f"; round trip {milliseconds(smoothed)} ms" if smoothed is not None else ""
    yield f"{packets.sent:,} packets sent, {packets.lost:,} lost{share}{rtt}"
    calls = http3.datagrams
    if calls.per_send is not None and calls.per_receive is not None:
        yield f"{number(calls.per_send)} datagrams per send, {number(calls.per_receive)} per receive"
    sides = {"client": http3.dropped.by_client, "server": http3.dropped.by_server}
    dropped = ", ".join(
        f"{ABSENT if one is None else f'{one:,}'} by the {side}" for side, one in sides.items()
    )
    yield f"datagrams dropped: {dropped}"
    windows = {"server": http3.windows.server_blocked, "client": http3.windows.blocked}
    for side, times in windows.items():
        if times:
            yield f"{times:,} times the {side} waited for a window"
    yield from _streams(http3.streams, streams)
    if calls.unattributed:
        yield f"{plural(calls.unattributed, 'datagram')} received for no open connection"
    if http3.streams.answers_starved:
        yield left_behind(http3.streams.answers_starved)
    if kinds := [f"{count:,} {way}" for way, count in http3.ends.by_kind.items() if count]:
        yield f"ends: {', '.join(kinds)}"


def _streams(allowed: QuicStreams, requested: int) -> Iterator[str]:
    if allowed.is_below(requested):
        yield f"{allowed.allowed_at_first} streams allowed per connection at first, {requested:,} requested"
    if waited := allowed.wait_ms.known_count:
        wait = "" if allowed.wait_ms.p50 is None else f", {milliseconds(allowed.wait_ms.p50)} ms (p50)"
        yield f"{plural(waited, 'wait')} for a stream{wait}"


def left_behind(answers: int) -> str:
    """Say how many answers waited for their rest while others passed them."""
    return f"{plural(answers, 'answer')} left behind others after the first byte"


def _handshakes(http3: Http3Result) -> Iterator[str]:
    for kind, words in HANDSHAKES_IN_WORDS.items():
        times = getattr(http3.handshakes_ms, kind)
        if times.known_count:
            yield plural(times.known_count, f"{words} handshake")
