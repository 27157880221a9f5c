"""A server of HTTP/3 that does harm in one of many ways: `server.py CERTIFICATE KEY BEHAVIOUR`.

It is written on aioquic, so it shares no code with the client under test. It prints its port on 127.0.0.1,
and serves until it is ended; without arguments it prints the names of the behaviours.
"""

import asyncio
import os
import socket
import struct
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from aioquic.asyncio import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.buffer import encode_uint_var
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, QuicEvent, StreamDataReceived

DATA, HEADERS, CANCEL_PUSH, SETTINGS, PUSH_PROMISE, GOAWAY, MAX_PUSH_ID = 0, 1, 3, 4, 5, 7, 13
RESERVED, OF_HTTP2 = 0x21, 6
CONTROL, PUSH, ENCODER, DECODER = range(4)
"""The kinds of unidirectional streams."""
REQUEST_REJECTED, REQUEST_CANCELLED = 0x10B, 0x10C
OK = b"\x00\x00\xd9"
"""The header block of ``:status: 200``, as an index of the static table."""
EARLY = b"\x00\x00\xd8"
"""That of ``:status: 103``."""
LONG_NAME = 7
"""From this length on, that of a name is in a second byte."""
HELD_BYTES = 1 << 18
"""How much a flood keeps ready to be sent."""
WIDE = 1 << 40


def frame(kind: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return encode_uint_var(kind) + encode_uint_var(len(payload)) + payload


def answer(body: bytes = b"ok") -> bytes:
    """Return a good answer."""
    return frame(HEADERS, OK) + frame(DATA, body)


def fields(*pairs: tuple[bytes, bytes]) -> bytes:
    """Return a header block of literals, without any table (RFC 9204 §4.5.6)."""
    block = bytes(2)
    for name, value in pairs:
        length = len(name)
        block += (
            bytes([0x20 | length]) if length < LONG_NAME else bytes([0x20 | LONG_NAME, length - LONG_NAME])
        )
        block += name + bytes([len(value)]) + value
    return block


class Peer(QuicConnectionProtocol):
    """One connection."""

    def __init__(self, *arguments: object, manners: "Manners", **named: object) -> None:
        """Behave so."""
        super().__init__(*arguments, **named)
        self.manners = manners
        self.asked: set[int] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        if manners.allows is not None:
            # Before the first datagram, from which the parameters follow.
            self._quic._local_max_streams_bidi.value = manners.allows  # noqa: SLF001

    def quic_event_received(self, event: QuicEvent) -> None:
        """Open the control stream, and do harm for each request."""
        if isinstance(event, HandshakeCompleted):
            self.say(self.unidirectional(), self.manners.control)
            self.start(self.manners.at_start)
        is_of_request = isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0
        if is_of_request and event.stream_id not in self.asked:
            self.asked.add(event.stream_id)
            self.start(partial(self.manners.serve, stream=event.stream_id))

    def start(self, do: Callable[["Peer"], Awaitable[None]]) -> None:
        """Do something beside all else."""
        task = asyncio.ensure_future(do(self))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def unidirectional(self) -> int:
        """Return the number of a new stream."""
        return self._quic.get_next_available_stream_id(is_unidirectional=True)

    def say(self, stream: int, data: bytes, *, end: bool = False) -> None:
        """Send this on a stream."""
        self._quic.send_stream_data(stream, data, end)
        self.transmit()

    def reset(self, stream: int, code: int) -> None:
        """Give a stream up."""
        self._quic.reset_stream(stream, code)
        self.transmit()

    async def flood(self, stream: int, data: bytes) -> None:
        """Send this on a stream without end, as fast as it is taken."""
        block = data * (65_536 // len(data) + 1)
        while True:
            sender = self._quic._streams[stream].sender  # noqa: SLF001
            if len(sender._buffer) < HELD_BYTES:  # noqa: SLF001
                self._quic.send_stream_data(stream, block)
            self.transmit()
            await asyncio.sleep(0.001)

    async def repeat(self, do: Callable[[], None]) -> None:
        """Do this without end."""
        while True:
            do()
            self.transmit()
            await asyncio.sleep(0)


Serve = Callable[..., Awaitable[None]]
SETTLED = bytes([CONTROL]) + frame(SETTINGS)


async def _nothing(peer: Peer, stream: int = 0) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Manners:
    """How a server behaves on its connections, or instead of them."""

    serve: Serve = _nothing
    """For each request, whose stream is given."""
    control: bytes = SETTLED
    """What comes first on the control stream."""
    at_start: Callable[[Peer], Awaitable[None]] = _nothing
    allows: int | None = None
    """How many streams the client may open; as many as aioquic lets it otherwise."""
    windows: int = WIDE
    retry: bool = False
    alpn: str = "h3"
    datagrams: Callable[[bytes], list[bytes]] | None = None
    """What a datagram is answered with, where there is no QUIC at all."""


def answering(reply: Callable[[int], bytes], *, end: bool = True, **other: object) -> Manners:
    """Answer each request with what ``reply`` gives for its stream."""

    async def serve(peer: Peer, stream: int) -> None:
        peer.say(stream, reply(stream), end=end)

    return Manners(serve, **other)


def resetting(code: int, before: bytes = b"") -> Manners:
    """Reset each stream, behind this."""

    async def serve(peer: Peer, stream: int) -> None:
        if before:
            peer.say(stream, before)
        peer.reset(stream, code)

    return Manners(serve)


def flooding(data: bytes, before: bytes = b"") -> Manners:
    """Send this on the stream of each request forever."""

    async def serve(peer: Peer, stream: int) -> None:
        if before:
            peer.say(stream, before)
        await peer.flood(stream, data)

    return Manners(serve)


def flooding_a_stream(kind: bytes, data: bytes) -> Manners:
    """Send this on a unidirectional stream of this kind forever, and answer all requests."""

    async def at_start(peer: Peer) -> None:
        stream = peer.unidirectional()
        peer.say(stream, kind)
        await peer.flood(stream, data)

    async def serve(peer: Peer, stream: int) -> None:
        peer.say(stream, answer(), end=True)

    return Manners(serve, at_start=at_start)


def flooding_the_control_stream(data: bytes) -> Manners:
    """Send this behind the settings forever, and answer all requests."""

    async def at_start(peer: Peer) -> None:
        await peer.flood(3, data)

    async def serve(peer: Peer, stream: int) -> None:
        peer.say(stream, answer(), end=True)

    return Manners(serve, at_start=at_start)


def repeating(do: Callable[[Peer], None]) -> Manners:
    """Do this forever once the handshake is over, and answer all requests."""

    async def at_start(peer: Peer) -> None:
        await peer.repeat(partial(do, peer))

    async def serve(peer: Peer, stream: int) -> None:
        peer.say(stream, answer(), end=True)

    return Manners(serve, at_start=at_start)


async def _goes_away_after_each(peer: Peer, stream: int) -> None:
    peer.say(3, frame(GOAWAY, encode_uint_var(max(0, 400 - stream))))
    peer.say(stream, answer(), end=True)


async def _goes_away_blind(peer: Peer, **_: int) -> None:
    peer.say(3, frame(GOAWAY, encode_uint_var(0)))


async def _closes(peer: Peer, **_: int) -> None:
    peer.close(error_code=0x102, reason_phrase="x" * 1000)


async def _opens_streams(peer: Peer) -> None:
    while True:
        try:
            peer.say(peer.unidirectional(), b"\x40\x54" + bytes(100))
        except Exception:  # noqa: BLE001 -- whatever stops it, no more can be opened
            return
        await asyncio.sleep(0)


async def _stops(peer: Peer, stream: int) -> None:
    peer._quic.stop_stream(stream, REQUEST_CANCELLED)  # noqa: SLF001
    peer.transmit()


async def _ends_control(peer: Peer, **_: int) -> None:
    peer.say(3, b"", end=True)


async def _a_byte_at_a_time(peer: Peer, stream: int) -> None:
    peer.say(stream, frame(HEADERS, OK) + encode_uint_var(DATA) + encode_uint_var(WIDE))
    while True:
        peer.say(stream, b"x")
        await asyncio.sleep(0.05)


async def _resets_itself(peer: Peer, **_: int) -> None:
    """Send a stateless reset (RFC 9000 §10.3)."""
    token = peer._quic._host_cids[0].stateless_reset_token  # noqa: SLF001
    address = peer._quic._network_paths[0].addr  # noqa: SLF001
    peer._transport.sendto(bytes([0x40]) + os.urandom(40) + token, address)  # noqa: SLF001


def _no_version(datagram: bytes) -> list[bytes]:
    """Return a negotiation of versions that have none in common with anyone (RFC 9000 §17.2.1)."""
    destination_length = datagram[5]
    destination = datagram[6 : 6 + destination_length]
    at = 6 + destination_length
    source = datagram[at + 1 : at + 1 + datagram[at]]
    ids = bytes([len(source)]) + source + bytes([len(destination)]) + destination
    return [b"\xc0" + bytes(4) + ids + struct.pack(">I", 0x0A0A0A0A)]


def saying_on_the_control_stream(data: bytes) -> Manners:
    """Send this behind the settings, and answer all requests."""
    return answering(lambda _: answer(), control=SETTLED + data)


def with_fields(*pairs: tuple[bytes, bytes]) -> Manners:
    """Answer each request with a head of `:status: 200` and these fields, and two bytes."""
    head = OK + fields(*pairs)[2:]
    return answering(lambda _: frame(HEADERS, head) + frame(DATA, b"ok"))


def opening(*streams: bytes, end: bool = False) -> Manners:
    """Open unidirectional streams with these bytes, and answer all requests."""

    async def at_start(peer: Peer) -> None:
        for data in streams:
            peer.say(peer.unidirectional(), data, end=end)

    return answering(lambda _: answer(), at_start=at_start)


BOMB_INSERT = b"\x3f\xe1\x1f" + b"\x41a" + b"\x7f\xa1\x1e" + b"x" * 4000
"""A table of 4,096 bytes, and a field of 4,000 in it."""
BOMB = b"\x02\x00" + OK[2:] + b"\x80" * 10_000
"""``:status: 200``, and references of one byte to that field, which stand for 40 MB."""


async def _bomb(peer: Peer) -> None:
    stream = peer.unidirectional()
    peer.say(stream, bytes([ENCODER]) + BOMB_INSERT)


MANNERS: dict[str, Manners] = {
    "answers well": answering(lambda _: answer()),
    "resets each stream": resetting(REQUEST_CANCELLED),
    "refuses each stream": resetting(REQUEST_REJECTED),
    "begins each answer and resets it": resetting(REQUEST_CANCELLED, frame(HEADERS, OK)),
    "stops each stream": Manners(_stops),
    "ends each stream without an answer": answering(lambda _: b""),
    "ends each answer within a frame": answering(lambda _: answer()[:-1]),
    "goes away after each answer": Manners(_goes_away_after_each),
    "goes away and looks at nothing": Manners(_goes_away_blind),
    "goes away forever": flooding_the_control_stream(frame(GOAWAY, encode_uint_var(400))),
    "closes each connection": Manners(_closes),
    "ends the control stream": Manners(_ends_control),
    "sends interim answers forever": flooding(frame(HEADERS, EARLY)),
    "sends empty data forever": flooding(frame(DATA), frame(HEADERS, OK)),
    "sends data forever": flooding(frame(DATA, bytes(16_384)), frame(HEADERS, OK)),
    "sends data a byte at a time": Manners(_a_byte_at_a_time),
    "sends unknown frames forever": flooding(frame(RESERVED, bytes(16_384))),
    "sends unknown frames on the control stream forever": flooding_the_control_stream(frame(RESERVED, b"x")),
    "states a frame of 4 EiB": answering(
        lambda _: frame(HEADERS, OK) + encode_uint_var(DATA) + encode_uint_var((1 << 62) - 1), end=False
    ),
    "states a header block of 4 EiB": answering(
        lambda _: encode_uint_var(HEADERS) + encode_uint_var((1 << 62) - 1) + bytes(60_000), end=False
    ),
    "sends a frame of HTTP/2": answering(lambda _: frame(OF_HTTP2, bytes(8)) + answer()),
    "sends data before headers": answering(lambda _: frame(DATA, b"x") + answer()),
    "sends settings on each stream": answering(lambda _: frame(SETTINGS) + answer()),
    "sends settings twice": answering(lambda _: answer(), control=SETTLED + frame(SETTINGS)),
    "sends a setting of HTTP/2": answering(
        lambda _: answer(), control=bytes([CONTROL]) + frame(SETTINGS, b"\x02\x00")
    ),
    "sends no settings": answering(lambda _: answer(), control=bytes([CONTROL]) + frame(GOAWAY, b"\x00")),
    "promises pushes": answering(lambda _: frame(PUSH_PROMISE, b"\x00" + OK) + answer()),
    "pushes": flooding_a_stream(bytes([PUSH, 0]), answer()),
    "opens a second control stream": flooding_a_stream(SETTLED, frame(RESERVED, b"x")),
    "opens streams of no kind that is known": Manners(
        answering(lambda _: answer()).serve, at_start=_opens_streams
    ),
    "floods a stream of no kind that is known": flooding_a_stream(b"\x40\x54", bytes(1_000)),
    "inserts into the table forever": flooding_a_stream(bytes([ENCODER]) + b"\x3f\xe1\x1f", b"\x41a\x01x"),
    "acknowledges sections forever": flooding_a_stream(bytes([DECODER]), b"\x80"),
    "refers to an entry that never comes": answering(lambda _: frame(HEADERS, b"\x02\x00\x80")),
    "sends a header bomb": Manners(answering(lambda _: frame(HEADERS, BOMB)).serve, at_start=_bomb),
    "sends an unknown frame before each answer": answering(lambda _: frame(RESERVED, b"x") + answer()),
    "goes away on the stream of a request": answering(lambda _: frame(GOAWAY, b"\x00") + answer()),
    "sends a header block without its prefix": answering(lambda _: frame(HEADERS)),
    "sends no status": answering(lambda _: frame(HEADERS, fields((b"server", b"x")))),
    "sends two statuses": with_fields((b":status", b"200")),
    "sends a field name in capitals": with_fields((b"Name", b"x")),
    "sends an unknown pseudo-header": with_fields((b":other", b"x")),
    "sends a path in its answer": with_fields((b":path", b"/")),
    "sends a field of connections of HTTP/1.1": with_fields((b"connection", b"close")),
    "sends less than the length of the content": with_fields((b"content-length", b"3")),
    "sends data on the control stream": saying_on_the_control_stream(frame(DATA, b"x")),
    "sends headers on the control stream": saying_on_the_control_stream(frame(HEADERS, OK)),
    "sends a frame of HTTP/2 on the control stream": saying_on_the_control_stream(frame(OF_HTTP2, bytes(8))),
    "cancels a push that nobody promised": saying_on_the_control_stream(frame(CANCEL_PUSH, b"\x05")),
    "says how many pushes it takes": saying_on_the_control_stream(frame(MAX_PUSH_ID, b"\x05")),
    "goes away with more than a number": saying_on_the_control_stream(frame(GOAWAY, b"\x00\x00")),
    "sends a setting twice": answering(
        lambda _: answer(), control=bytes([CONTROL]) + frame(SETTINGS, b"\x06\x01\x06\x01")
    ),
    "sends a setting without its value": answering(
        lambda _: answer(), control=bytes([CONTROL]) + frame(SETTINGS, b"\x06")
    ),
    "opens a stream without a kind": opening(b"", end=True),
    "ends the encoder stream": opening(bytes([ENCODER]), end=True),
    "opens a second encoder stream": opening(bytes([ENCODER]), bytes([ENCODER])),
    "makes the table larger than allowed": opening(bytes([ENCODER]) + b"\x3f\xe1\xff\x7f"),
    "inserts what refers to nothing": opening(bytes([ENCODER]) + b"\x85\x01x"),
    "acknowledges that nothing was inserted": opening(bytes([DECODER]) + b"\x00"),
    "sends pings forever": repeating(lambda peer: peer._quic.send_ping(1)),  # noqa: SLF001
    "updates keys forever": repeating(lambda peer: peer._quic.request_key_update()),  # noqa: SLF001
    "sends a datagram that is not allowed": repeating(
        lambda peer: peer._quic.send_datagram_frame(b"x")  # noqa: SLF001
    ),
    "resets itself": Manners(_resets_itself),
    "asks for the address (Retry)": Manners(answering(lambda _: answer()).serve, retry=True),
    "allows no streams": answering(lambda _: answer(), allows=0),
    "has windows of one byte": answering(lambda _: answer(), windows=1),
    "opens all windows and does not answer": Manners(),
    "speaks another protocol": answering(lambda _: answer(), alpn="hq-interop"),
    "never answers a datagram": Manners(datagrams=lambda _: []),
    "answers datagrams with noise": Manners(datagrams=lambda _: [os.urandom(1_200)] * 3),
    "repeats each datagram": Manners(datagrams=lambda datagram: [datagram] * 3),
    "has no version in common": Manners(datagrams=_no_version),
}


class Noise(asyncio.DatagramProtocol):
    """What answers datagrams without QUIC."""

    def __init__(self, reply: Callable[[bytes], list[bytes]]) -> None:
        """Answer so."""
        self.reply = reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self.transport = transport

    def datagram_received(self, data: bytes, address: object) -> None:
        """Answer."""
        for datagram in self.reply(data):
            self.transport.sendto(datagram, address)


async def main(certificate: str, key: str, behaviour: str) -> None:
    """Serve."""
    manners = MANNERS[behaviour]
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=[manners.alpn],
        max_data=manners.windows,
        max_stream_data=manners.windows,
    )
    configuration.load_cert_chain(certificate, key)
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 0))

    def protocol() -> asyncio.DatagramProtocol:
        if manners.datagrams is not None:
            return Noise(manners.datagrams)
        create = partial(Peer, manners=manners)
        return QuicServer(configuration=configuration, create_protocol=create, retry=manners.retry)

    await asyncio.get_running_loop().create_datagram_endpoint(protocol, sock=taken)
    print(taken.getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(MANNERS))
    else:
        asyncio.run(main(*sys.argv[1:]))
