"""Servers that do harm over gRPC: every load ends in time, names what was wrong, and takes little memory.

The first connections, on which the server is verified, are answered as they should be. What the rows say:
`benches.hostile_loads`.
"""

import gzip
from collections.abc import Callable
from pathlib import Path

from benches.hostile_behaviours import Manners, Peer, hostile_server
from benches.hostile_http2 import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    RST_STREAM,
    SETTINGS,
    frame,
    frames_of,
)
from benches.hostile_loads import CONNECTIONS, Hostility, try_all

STREAMS = 25
VERIFYING = 4
"""The first connections are those that find out whether HTTP/2 is spoken, and that verify the call."""
FRAME_BYTES_MAX = 16_384
LONG_BYTES = 8 << 20
STREAMED, KEPT = "stream: ", "kept: "
"""What the names of behaviours begin with whose calls are answered with a stream, or are kept."""


def field(name: bytes, value: bytes) -> bytes:
    """Return a header field that goes into no table (RFC 7541, 6.2.2), of less than 127 bytes each."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


HEAD = b"\x88" + field(b"content-type", b"application/grpc")
OK_END = field(b"grpc-status", b"0")


def message(body: bytes, *, flag: int = 0, length: int | None = None) -> bytes:
    """Return a message with its prefix: whether it is compressed, and its length (gRPC over HTTP/2)."""
    return bytes([flag]) + (len(body) if length is None else length).to_bytes(4) + body


def head(stream: int, more: bytes = b"") -> bytes:
    """Return the frame that begins an answer."""
    return frame(HEADERS, END_HEADERS, stream, HEAD + more)


def end(stream: int, trailers: bytes = OK_END) -> bytes:
    """Return the frame of trailers."""
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers)


def data(stream: int, body: bytes, flags: int = 0) -> bytes:
    """Return the frames of some bytes."""
    parts = [body[at : at + FRAME_BYTES_MAX] for at in range(0, len(body), FRAME_BYTES_MAX)] or [b""]
    return b"".join(frame(DATA, flags if part is parts[-1] else 0, stream, part) for part in parts)


def right(stream: int) -> bytes:
    """Return an answer as it should be: one message without fields."""
    return head(stream) + data(stream, message(b"")) + end(stream)


def answering(answer: Callable[[int], bytes]) -> Manners:
    """Answer each call so, but for those of the first connections."""

    def serve(peer: Peer) -> None:
        peer.say(frame(SETTINGS, 0, 0))
        for kind, stream, _ in frames_of(peer):
            if kind == HEADERS:
                peer.say(right(stream) if peer.number < VERIFYING else answer(stream))

    return Manners(serve)


def flooding(begin: Callable[[int], bytes], more: Callable[[int], bytes]) -> Manners:
    """Begin the first call of each later connection so, continue forever, and read nothing."""

    def serve(peer: Peer) -> None:
        peer.say(frame(SETTINGS, 0, 0))
        for kind, stream, _ in frames_of(peer):
            if kind == HEADERS and peer.number < VERIFYING:
                peer.say(right(stream))
            elif kind == HEADERS:
                peer.say(begin(stream))
                peer.flood(more(stream))

    return Manners(serve)


def of_message(body: bytes, begin: bytes = b"") -> Manners:
    """Answer with the bytes of a message, and then with the status that is right."""
    return answering(lambda s: head(s, begin) + data(s, body) + end(s))


def of_trailers(trailers: bytes) -> Manners:
    """Answer with a message, and then with these trailers."""
    return answering(lambda s: head(s) + data(s, message(b"")) + end(s, trailers))


ENCODED = field(b"grpc-encoding", b"gzip")
BOMB = gzip.compress(bytes(64 << 20))
"""64 MiB of zeros in 64 KiB."""
MANY_FIELDS = b"".join(field(b"x-%04d" % n, b"y" * 93) for n in range(160))
"""Whole fields in less than the longest frame, of which many make a long header block."""


def long_end(stream: int) -> bytes:
    """Return trailers of 200 KiB, in a dozen frames."""
    more = 12 * frame(CONTINUATION, 0, stream, MANY_FIELDS)
    return (
        frame(HEADERS, END_STREAM, stream, OK_END) + more + frame(CONTINUATION, END_HEADERS, stream, OK_END)
    )


MANNERS: dict[str, Manners] = {
    "states a message of 4 GiB": of_message(message(b"abc", length=2**32 - 1)),
    "states a longer message than it sends": of_message(message(b"abc", length=4)),
    "states a shorter message than it sends": of_message(message(b"abc", length=2)),
    "ends within a prefix": of_message(b"\0\0\0"),
    "sends no message": answering(lambda s: head(s) + end(s)),
    "sends two messages": of_message(2 * message(b"")),
    "sends a thousand messages": of_message(1000 * message(b"abc")),
    "sends a message of 8 MiB": of_message(message(bytes(LONG_BYTES))),
    "sends a compressed message without being asked": of_message(message(BOMB, flag=1)),
    "sends a bomb that its head calls gzip": of_message(message(BOMB, flag=1), ENCODED),
    "sends no gzip where its head says so": of_message(message(b"abc", flag=1), ENCODED),
    "sets a flag that there is not": of_message(message(b"abc", flag=2)),
    "sets all flags": of_message(message(b"abc", flag=255)),
    "sends a prefix byte by byte": answering(
        lambda s: head(s) + b"".join(data(s, bytes([one])) for one in message(b"abc")) + end(s)
    ),
    "ends without trailers": answering(lambda s: head(s) + data(s, message(b""), END_STREAM)),
    "ends without a status": of_trailers(field(b"x", b"y")),
    "says an empty status": of_trailers(field(b"grpc-status", b"")),
    "says a status that there is not": of_trailers(field(b"grpc-status", b"99999999999999999999")),
    "says a negative status": of_trailers(field(b"grpc-status", b"-1")),
    "says a status that is no number": of_trailers(field(b"grpc-status", b"OK")),
    "says two statuses": of_trailers(OK_END + field(b"grpc-status", b"13")),
    "says a message of odd bytes": of_trailers(
        field(b"grpc-status", b"13") + field(b"grpc-message", b"%ff%00%1b[31m%e2%82%zz%")
    ),
    "sends trailers of 200 KiB": answering(lambda s: head(s) + data(s, message(b"")) + long_end(s)),
    "sends a pseudo field in its trailers": of_trailers(b"\x88" + OK_END),
    "sends trailers that do not end the stream": answering(
        lambda s: head(s) + data(s, message(b"")) + frame(HEADERS, END_HEADERS, s, OK_END)
    ),
    "sends data behind the trailers": answering(lambda s: right(s) + data(s, message(b"abc"))),
    "sends trailers alone": answering(lambda s: end(s, HEAD + OK_END)),
    "answers in HTML with status 200": answering(
        lambda s: (
            frame(HEADERS, END_HEADERS, s, b"\x88" + field(b"content-type", b"text/html"))
            + data(s, b"<html>no</html>", END_STREAM)
        )
    ),
    "answers with status 502 of HTTP": answering(
        lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, b"\x08\x03502")
    ),
    "resets each call within a message": answering(
        lambda s: head(s) + data(s, message(b"abc")[:6]) + frame(RST_STREAM, 0, s, CANCEL.to_bytes(4))
    ),
    "begins each answer and says no more": answering(head),
    "begins each message and says no more": answering(lambda s: head(s) + data(s, b"\0\0\0\0\x09a")),
    "continues a message forever": flooding(
        lambda s: head(s) + data(s, message(b"", length=2**32 - 1)), lambda s: data(s, bytes(FRAME_BYTES_MAX))
    ),
    "sends empty messages forever": flooding(head, lambda s: data(s, 3000 * message(b""))),
    "sends empty frames within a message forever": flooding(
        lambda s: head(s) + data(s, b"\0\0"), lambda s: frame(DATA, 0, s)
    ),
    f"{STREAMED}sends empty messages forever": flooding(head, lambda s: data(s, 3000 * message(b""))),
    f"{STREAMED}continues a message forever": flooding(
        lambda s: head(s) + data(s, message(b"", length=2**32 - 1)), lambda s: data(s, bytes(FRAME_BYTES_MAX))
    ),
    f"{STREAMED}states a message of 4 GiB": of_message(message(b"abc", length=2**32 - 1)),
    f"{STREAMED}sends a bomb that its head calls gzip": of_message(message(BOMB, flag=1), ENCODED),
    f"{STREAMED}ends within a prefix": of_message(message(b"abc") + b"\0\0\0"),
    f"{KEPT}sends messages forever": flooding(head, lambda s: data(s, 2000 * message(b"abc"))),
    f"{KEPT}states a message of 4 GiB": answering(
        lambda s: head(s) + data(s, message(b"abc", length=2**32 - 1))
    ),
    f"{KEPT}continues a message forever": flooding(
        lambda s: head(s) + data(s, message(b"", length=2**32 - 1)), lambda s: data(s, bytes(FRAME_BYTES_MAX))
    ),
    f"{KEPT}ends each call with OK at once": answering(lambda s: head(s) + end(s)),
    f"{KEPT}sends a compressed message": answering(lambda s: head(s) + data(s, message(BOMB, flag=1))),
}


def words(behaviour: str, port: int, _: Path) -> list[object]:
    """Return the URL and options of the load."""
    kinds = {STREAMED: "server_stream", KEPT: "bidirectional"}
    kind = next((kind for begin, kind in kinds.items() if behaviour.startswith(begin)), "unary")
    url = f"grpc://127.0.0.1:{port}/hostile.Echo/Call"
    return [url, "--call", kind, "-c", CONNECTIONS, "--streams", STREAMS]


if __name__ == "__main__":
    try_all(__doc__, Hostility(answering(right), MANNERS, hostile_server, words))
