"""Servers that do harm by WebSockets and events: loads end in time, name the fault, and take little memory.

The first connections, on which the server is verified, are answered as they should be. What the rows say:
`benches.hostile_loads`.
"""

import base64
import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from benches.hostile_behaviours import Manners, Peer, hostile_server
from benches.hostile_http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    OK,
    SETTINGS,
    WIDE,
    WINDOW_UPDATE,
    frame,
    frames_of,
)
from benches.hostile_loads import CONNECTIONS, Hostility, try_all

VERIFYING = 2
"""The first connections are those that verify the server."""
STREAMS = 5
LONG_BYTES = 8 << 20
FIN, RSV1, MASKED = 0x80, 0x40, 0x80
CONTINUATION, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10
LENGTH_IN_2, LENGTH_IN_8 = 126, 127
BODY = b"hello"
HTTP2, DEFLATED, FAN_OUT, EVENTS = "http2: ", "deflate: ", "fan-out: ", "events: "
"""What the names of behaviours begin with that are of other loads than echoes over HTTP/1.1."""
NOT_FOUND = b"\x8d"
"""``:status: 404``, as an index of the static table (RFC 7541, appendix A)."""
BLOCKED = b"\x00\x00\x00\xff\xff"
"""A stored block of nothing (RFC 1951, 3.2.4)."""


def framed(opcode: int, body: bytes = b"", *, first: int = FIN, length: int | None = None) -> bytes:
    """Return a frame of a server, which may state another length than it has (RFC 6455, 5.2)."""
    stated = len(body) if length is None else length
    if stated < LENGTH_IN_2:
        return bytes([first | opcode, stated]) + body
    if stated < 1 << 16:
        return bytes([first | opcode, LENGTH_IN_2]) + stated.to_bytes(2) + body
    return bytes([first | opcode, LENGTH_IN_8]) + stated.to_bytes(8) + body


def upgrade(asked: bytes, fields: bytes = b"", *, key: bytes | None = None) -> bytes:
    """Return what opens the WebSocket that a request asks for (RFC 6455, 4.2.2)."""
    lines = dict(line.split(b": ", 1) for line in asked.split(b"\r\n")[1:] if b": " in line)
    asked_key = lines.get(b"Sec-WebSocket-Key", b"") if key is None else key
    # The algorithm is the protocol's own; it protects nothing.
    digest = hashlib.sha1(asked_key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11", usedforsecurity=False)
    accept = base64.b64encode(digest.digest())
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return head + fields + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"


def messages_of(peer: Peer) -> Iterator[bytes]:
    """Yield the bodies of the short messages that a client sends, until it ends."""
    held = bytearray()
    while asked := peer.asked():
        held += asked
        while len(held) >= (header := 6) and len(held) >= (end := header + (held[1] & 0x7F)):
            key, body = held[2:header], held[header:end]
            yield bytes(byte ^ key[at % 4] for at, byte in enumerate(body))
            del held[:end]


def opening(fields: bytes, answer: Callable[[Peer, bytes], None]) -> Manners:
    """Open a WebSocket, echo on the first connections, and on each later one answer every message so."""

    def serve(peer: Peer) -> None:
        peer.say(upgrade(peer.asked(), fields))
        for body in messages_of(peer):
            if peer.number < VERIFYING:
                peer.say(framed(TEXT, body))
            else:
                answer(peer, body)

    return Manners(serve)


def answering(answer: Callable[[bytes], bytes]) -> Manners:
    """Answer each message with these bytes."""
    return opening(b"", lambda peer, body: peer.say(answer(body)))


def flooding(begin: bytes, more: bytes) -> Manners:
    """Answer the first message so, continue forever, and read nothing."""

    def flood(peer: Peer, _: bytes) -> None:
        peer.say(begin)
        peer.flood(more)

    return opening(b"", flood)


def shaking(answer: Callable[[bytes], bytes], then: Callable[[Peer], None] = Peer.hold) -> Manners:
    """Answer each request for an upgrade with these bytes."""

    def serve(peer: Peer) -> None:
        peer.say(answer(peer.asked()))
        then(peer)

    return Manners(serve)


def dripped(peer: Peer, body: bytes) -> None:
    """Answer a message byte by byte, in time."""
    for byte in framed(TEXT, body):
        peer.say(bytes([byte]))


def deflated(body: bytes) -> bytes:
    """Return the frame of a compressed message (RFC 7692, 7.2.1)."""
    compressor = zlib.compressobj(wbits=-15)
    compressed = compressor.compress(body) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return framed(TEXT, compressed[:-4], first=FIN | RSV1)


def agreeing(answer: Callable[[Peer, bytes], None], agreed: bytes = b"permessage-deflate") -> Manners:
    """Agree to compress messages, and answer each of them so."""
    return opening(b"Sec-WebSocket-Extensions: " + agreed + b"\r\n", answer)


def deflate_flood(peer: Peer, _: bytes) -> None:
    """Send a compressed message that inflates to nothing, without an end."""
    peer.say(framed(TEXT, first=FIN | RSV1, length=2**62))
    peer.flood(BLOCKED)


def publishing(flood: bytes) -> Manners:
    """Open each WebSocket, and send this on it without an end."""

    def serve(peer: Peer) -> None:
        peer.say(upgrade(peer.asked()))
        peer.flood(flood)

    return Manners(serve)


def streaming(begin: bytes, more: bytes = b"", fields: bytes = b"") -> Manners:
    """Answer with a stream of events that begins so, and continues forever where there is more."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"

    def serve(peer: Peer) -> None:
        is_verified = peer.number < VERIFYING
        if peer.asked():
            peer.say(head, fields, b"\r\n", b"data: hello\n\n" if is_verified else begin)
            if more and not is_verified:
                peer.flood(more)
        # The end of the stream is that of the connection.
        peer.connection.close()

    return Manners(serve)


def over_http2(answer: Callable[[Peer, int, int], None]) -> Manners:
    """Say that WebSockets are taken, give a wide window, and do this for each head and each message.

    It gets the kind of their frames, and their stream.
    """

    def serve(peer: Peer) -> None:
        peer.say(frame(SETTINGS, 0, 0, b"\0\x08\0\0\0\x01" + WIDE))
        peer.say(frame(WINDOW_UPDATE, 0, 0, (2**30).to_bytes(4)))
        for kind, stream, payload in frames_of(peer):
            if kind == HEADERS or (kind == DATA and payload):
                (echo if peer.number < VERIFYING else answer)(peer, kind, stream)

    return Manners(serve)


def echo(peer: Peer, kind: int, stream: int) -> None:
    """Open each WebSocket, and send each message back."""
    peer.say(open_head(stream) if kind == HEADERS else frame(DATA, 0, stream, framed(TEXT, BODY)))


def on_streams(head: Callable[[int], bytes], message: Callable[[int], bytes], more: bytes = b"") -> Manners:
    """Answer each request for a WebSocket and each message so; behind the first message forever with more."""

    def answer(peer: Peer, kind: int, stream: int) -> None:
        peer.say(head(stream) if kind == HEADERS else message(stream))
        if more and kind == DATA:
            peer.flood(frame(DATA, 0, stream, more))

    return over_http2(answer)


def refusing(peer: Peer, _: int, stream: int) -> None:
    """Refuse a WebSocket in a line that does not end."""
    peer.say(frame(HEADERS, END_HEADERS, stream, NOT_FOUND))
    peer.flood(frame(DATA, 0, stream, b"no " * 100))


def open_head(stream: int) -> bytes:
    """Return the head that opens a WebSocket."""
    return frame(HEADERS, END_HEADERS, stream, OK)


HANDSHAKES: dict[str, Manners] = {
    "answers the upgrade with a wrong key": shaking(lambda asked: upgrade(asked, key=b"other")),
    "answers the upgrade to no protocol": shaking(lambda _: b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    "answers the upgrade with a page": shaking(
        lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html"
    ),
    "answers the upgrade in HTTP/2": shaking(lambda _: frame(SETTINGS, 0, 0)),
    "answers the upgrade with zeros forever": shaking(lambda _: b"", lambda peer: peer.flood(bytes(100))),
    "says a head without an end": shaking(
        lambda _: b"HTTP/1.1 101 Switching Protocols\r\n", lambda peer: peer.flood(b"X-Y: z\r\n")
    ),
    "says interim answers forever": shaking(
        lambda _: b"", lambda peer: peer.flood(b"HTTP/1.1 103 Early Hints\r\n\r\n")
    ),
    "drips the answer to the upgrade": shaking(lambda _: b"", lambda peer: peer.drip(b"HTTP/1.1 101 Sw")),
    "chooses a subprotocol": shaking(lambda asked: upgrade(asked, b"Sec-WebSocket-Protocol: mqtt\r\n")),
    "chooses an extension": shaking(lambda asked: upgrade(asked, b"Sec-WebSocket-Extensions: x\r\n")),
    "refuses in a line without an end": shaking(
        lambda _: b"HTTP/1.1 403 No\r\nConnection: close\r\n\r\n", lambda peer: peer.flood(b"no ")
    ),
    "says nothing": shaking(lambda _: b""),
}
ECHOES: dict[str, Manners] = {
    "states a frame of 8 EiB": answering(lambda _: framed(TEXT, b"abc", length=2**63 - 1)),
    "states a frame of 16 EiB": answering(lambda _: framed(TEXT, b"abc", length=2**64 - 1)),
    "states a length in too many bytes": answering(lambda body: b"\x81\x7e\x00\x05" + body),
    "begins a header and says no more": answering(lambda _: b"\x81"),
    "begins a message and says no more": answering(lambda _: framed(TEXT, b"he", length=5)),
    "continues a frame of 8 EiB forever": flooding(framed(TEXT, length=2**63 - 1), bytes(1000)),
    "sends fragments forever": flooding(framed(TEXT, b"a", first=0), framed(CONTINUATION, b"a", first=0)),
    "sends empty fragments forever": flooding(framed(TEXT, first=0), framed(CONTINUATION, first=0)),
    "sends pings within a message forever": flooding(framed(TEXT, b"a", first=0), framed(PING, b"?")),
    "sends long pings forever": flooding(b"", framed(PING, bytes(125))),
    "sends pongs forever": flooding(b"", framed(PONG)),
    "sends messages forever": flooding(b"", framed(TEXT, b"a")),
    "sends empty messages forever": flooding(b"", framed(TEXT)),
    "sends two messages for one": answering(lambda body: 2 * framed(TEXT, body)),
    "sends a ping of 126 bytes": answering(lambda _: framed(PING, bytes(126))),
    "sends a ping in fragments": answering(lambda _: framed(PING, b"?", first=0)),
    "masks a frame": answering(lambda _: bytes([FIN | TEXT, MASKED | 1]) + bytes(4) + b"a"),
    "sets a reserved bit": answering(lambda body: framed(TEXT, body, first=FIN | RSV1)),
    "uses an opcode that there is not": answering(lambda body: framed(3, body)),
    "continues what was not begun": answering(lambda body: framed(CONTINUATION, body)),
    "begins a message within another": answering(lambda body: framed(TEXT, body, first=0) * 2),
    "sends a text that is none": answering(lambda _: framed(TEXT, b"\xff\xfe")),
    "ends a text within a character": answering(lambda _: framed(TEXT, b"\xe2\x82")),
    "sends a message of 8 MiB": answering(lambda _: framed(TEXT, b"a" * LONG_BYTES)),
    "sends a message in a million fragments": answering(
        lambda _: (
            framed(TEXT, first=0) + framed(CONTINUATION, b"a", first=0) * 1_000_000 + framed(CONTINUATION)
        )
    ),
    "sends a message byte by byte": opening(b"", dripped),
    "closes with a reserved code": answering(lambda _: framed(CLOSE, (1005).to_bytes(2))),
    "closes with half a code": answering(lambda _: framed(CLOSE, b"\x03")),
    "closes with a reason that is no text": answering(lambda _: framed(CLOSE, b"\x03\xf3\xff")),
    "closes with a reason of controls": answering(lambda _: framed(CLOSE, b"\x03\xf3\x1b[2J\x1b]0;x\x07")),
    "closes and sends messages forever": flooding(framed(CLOSE, b"\x03\xe8"), framed(TEXT, b"a")),
    "closes within a message": answering(lambda _: framed(TEXT, b"he", first=0) + framed(CLOSE)),
    "answers nothing": answering(lambda _: b""),
    "resets in place of an answer": opening(b"", lambda peer, _: peer.reset()),
}
COMPRESSED: dict[str, Manners] = {
    "sends 100 MiB in 100 KiB": agreeing(lambda peer, _: peer.say(deflated(bytes(100 << 20)))),
    "sends 8 MiB in 8 KiB": agreeing(lambda peer, _: peer.say(deflated(b"a" * LONG_BYTES))),
    "sends what is not DEFLATE": agreeing(lambda peer, _: peer.say(framed(TEXT, b"\x06", first=FIN | RSV1))),
    "sends blocks of nothing forever": agreeing(deflate_flood),
    "ends a message within a block": agreeing(
        lambda peer, _: peer.say(framed(TEXT, b"\xf2\x48", first=FIN | RSV1))
    ),
    "refers to what never came": agreeing(
        lambda peer, _: peer.say(framed(TEXT, b"\xf2\x00\x11\x00\x00", first=FIN | RSV1))
    ),
    "says twice that it is compressed": agreeing(
        lambda peer, _: peer.say(
            framed(TEXT, b"\xf2", first=RSV1) + framed(CONTINUATION, b"\x48", first=FIN | RSV1)
        )
    ),
    "agrees to what was not offered": agreeing(
        lambda peer, body: peer.say(framed(TEXT, body)), b"permessage-deflate; client_max_window_bits=8"
    ),
    "agrees to a thousand parameters": agreeing(
        lambda peer, body: peer.say(framed(TEXT, body)), b"permessage-deflate" + 1000 * b"; x=y"
    ),
}
DELIVERIES: dict[str, Manners] = {
    "delivers nothing": opening(b"", lambda _peer, _body: None),
    "sends messages without a marker forever": publishing(framed(TEXT, b"hello")),
    "sends an invented marker forever": publishing(
        framed(TEXT, b"loadcurve:0000beef-000000000017:0000000005000000001")
    ),
    "begins a marker and sends no more of it": publishing(framed(TEXT, b"loadcurve:0000beef-")),
}
STREAMED: dict[str, Manners] = {
    "sends a line without an end": streaming(b"data: ", b"x" * 1000),
    "sends an event without an end": streaming(b"", b"data: x\n"),
    "sends events forever": streaming(b"", b"data: x\n\n"),
    "sends comments forever": streaming(b"", b":\n"),
    "sends empty lines forever": streaming(b"", b"\n"),
    "sends carriage returns forever": streaming(b"data: x", b"\r"),
    "sends field names forever": streaming(b"", b"data\n"),
    "sends an id of 1 MiB": streaming(b"id: " + b"x" * (1 << 20) + b"\ndata: x\n\n"),
    "sends an id with NUL and controls": streaming(b"id: a\0\x1b[2Jb\ndata: x\n\n"),
    "asks for an endless pause": streaming(b"retry: " + b"9" * 400 + b"\ndata: x\n\n"),
    "asks for no pause, again and again": streaming(b"retry: 0\n\n"),
    "sends an event of 8 MiB": streaming(b"data: " + b"x" * LONG_BYTES + b"\n\n"),
    "sends an event of a million lines": streaming(b"data: x\n" * 1_000_000 + b"\n"),
    "sends what is no text": streaming(b"data: \xff\xfe\x00\n\n"),
    "ends within an event": streaming(b"data: x\ndata: "),
    "ends without an event": streaming(b""),
    "states another length": streaming(b"data: x\n\n", fields=b"Content-Length: 1000\r\n"),
    "states a chunk of 16 EiB": streaming(
        b"ffffffffffffffff\r\ndata: x\n\n", fields=b"Transfer-Encoding: chunked\r\n"
    ),
    "extends a chunk without an end": streaming(
        b"5;", b"x=y;" * 100, fields=b"Transfer-Encoding: chunked\r\n"
    ),
}
ON_STREAMS: dict[str, Manners] = {
    "ends each WebSocket as it is opened": on_streams(
        lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, OK), lambda _: b""
    ),
    "echoes and ends each WebSocket": on_streams(
        open_head, lambda stream: frame(DATA, END_STREAM, stream, framed(TEXT, BODY))
    ),
    "takes back that it takes WebSockets": on_streams(
        open_head, lambda _: frame(SETTINGS, 0, 0, b"\0\x08\0\0\0\0")
    ),
    "opens and answers nothing": on_streams(open_head, lambda _: b""),
    "opens nothing": on_streams(lambda _: b"", lambda _: b""),
    "refuses without an end": over_http2(refusing),
    "sends a message before it is opened": on_streams(
        lambda stream: frame(DATA, 0, stream, framed(TEXT, BODY)), lambda _: b""
    ),
    "states a frame of 8 EiB": on_streams(
        open_head, lambda stream: frame(DATA, 0, stream, framed(TEXT, b"a", length=2**63 - 1))
    ),
    "sends fragments forever": on_streams(
        open_head,
        lambda stream: frame(DATA, 0, stream, framed(TEXT, b"a", first=0)),
        framed(CONTINUATION, b"a", first=0) * 99,
    ),
    "sends pings forever": on_streams(open_head, lambda _: b"", framed(PING, b"?") * 99),
    "sends messages forever": on_streams(open_head, lambda _: b"", framed(TEXT, b"a") * 99),
    "closes and sends messages forever": on_streams(
        open_head, lambda stream: frame(DATA, 0, stream, framed(CLOSE)), framed(TEXT, b"a") * 99
    ),
}


def _named(begin: str, behaviours: dict[str, Manners]) -> dict[str, Manners]:
    return {begin + name: manners for name, manners in behaviours.items()}


MANNERS: dict[str, Manners] = {
    **HANDSHAKES,
    **ECHOES,
    **_named(DEFLATED, COMPRESSED),
    **_named(HTTP2, ON_STREAMS),
    **_named(FAN_OUT, DELIVERIES),
    **_named(EVENTS, STREAMED),
}


def words(behaviour: str, port: int, _: Path) -> list[object]:
    """Return the URL and options of the load."""
    if behaviour.startswith(EVENTS):
        return [f"http://127.0.0.1:{port}/events", "--messages", "events", "-c", CONNECTIONS]
    load: list[object] = [f"ws://127.0.0.1:{port}/echo", "--body", BODY.decode(), "-c", CONNECTIONS]
    if behaviour.startswith(HTTP2):
        return [*load, "--http", "2", "--streams", STREAMS]
    if behaviour.startswith(DEFLATED):
        return [*load, "--extension", "permessage-deflate"]
    return [*load, "--subscribers", 10] if behaviour.startswith(FAN_OUT) else load


if __name__ == "__main__":
    try_all(__doc__, Hostility(answering(lambda body: framed(TEXT, body)), MANNERS, hostile_server, words))
