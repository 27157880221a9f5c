"""Servers that do harm over HTTP/2: every load ends in time, names what was wrong, and takes little memory.

What the rows say: `benches.hostile_loads`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from benches.hostile_behaviours import Manners, Peer, hostile_server
from benches.hostile_loads import CONNECTIONS, STREAMS, Hostility, try_all, upload

PREFACE_BYTES = 24
HEADER_BYTES = 9

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
UNKNOWN = 0xFA
END_STREAM, END_HEADERS, PADDED = 0x1, 0x4, 0x8
OK = b"\x88"
"""``:status: 200``, as an index of the static table."""
WIDE = bytes([0, 4]) + (2**31 - 1).to_bytes(4)
"""The setting of the widest window of a stream."""
CANCEL, REFUSED_STREAM = 8, 7


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def frames_of(peer: Peer) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, stream and payload of what the client sends, until it ends."""
    held = bytearray()
    skipped = PREFACE_BYTES
    while asked := peer.asked():
        held += asked
        if len(held) < skipped:
            continue
        del held[:skipped]
        skipped = 0
        while len(held) >= HEADER_BYTES and len(held) >= (end := HEADER_BYTES + int.from_bytes(held[:3])):
            yield held[3], int.from_bytes(held[5:HEADER_BYTES]), bytes(held[HEADER_BYTES:end])
            del held[:end]


def answering(answer: Callable[[int], bytes], settings: bytes = b"") -> Callable[[Peer], None]:
    """Answer each request with the frames that ``answer`` gives for its stream."""

    def serve(peer: Peer) -> None:
        peer.say(frame(SETTINGS, 0, 0, settings))
        for kind, stream, _ in frames_of(peer):
            if kind == HEADERS:
                peer.say(answer(stream))

    return serve


def then(do: Callable[[Peer, int], None], settings: bytes = b"") -> Callable[[Peer], None]:
    """Do this for the first request, whose stream is given, and read nothing after it."""

    def serve(peer: Peer) -> None:
        peer.say(frame(SETTINGS, 0, 0, settings))
        for kind, stream, _ in frames_of(peer):
            if kind == HEADERS:
                do(peer, stream)

    return serve


def flooding(frames: Callable[[int], bytes], *, begun: bool = False) -> Callable[[Peer], None]:
    """Send these frames forever once a request has come, and read nothing."""

    def flood(peer: Peer, stream: int) -> None:
        if begun:
            peer.say(frame(HEADERS, END_HEADERS, stream, OK))
        peer.flood(frames(stream))

    return then(flood)


def window_update(stream: int, bytes_: int) -> bytes:
    """Return the frame that enlarges a window."""
    return frame(WINDOW_UPDATE, 0, stream, bytes_.to_bytes(4))


def _wide_and_deaf(peer: Peer) -> None:
    """Let the client send as much as the protocol can say, and read none of it."""
    peer.say(frame(SETTINGS, 0, 0, WIDE), window_update(0, 2**31 - 2**16))
    peer.hold()


def _wide(peer: Peer) -> None:
    """Let the client send as much as the protocol can say, read it, and answer nothing."""
    peer.say(frame(SETTINGS, 0, 0, WIDE), window_update(0, 2**31 - 2**16))
    for kind, _, payload in frames_of(peer):
        if kind == DATA and payload:
            peer.say(window_update(0, len(payload)))


def _narrow(peer: Peer) -> None:
    """Give a byte of window for each DATA frame."""
    peer.say(frame(SETTINGS, 0, 0, bytes([0, 4, 0, 0, 0, 1])))
    for kind, stream, payload in frames_of(peer):
        if kind == DATA and payload:
            peer.say(window_update(0, 1), window_update(stream, 1))


def _windows_that_change(peer: Peer, _: int) -> None:
    """Widen and narrow the window of all streams forever."""
    peer.flood(frame(SETTINGS, 0, 0, WIDE) + frame(SETTINGS, 0, 0, bytes([0, 4, 0, 0, 0, 0])))


def _header_without_end(peer: Peer, stream: int) -> None:
    """Go on with a header block forever."""
    peer.say(frame(HEADERS, 0, stream, OK))
    peer.flood(frame(CONTINUATION, 0, stream, b"\x00\x01a\x7f\x81\x7f" + b"x" * 255))


def _header_of_nothing_without_end(peer: Peer, stream: int) -> None:
    """Go on with empty parts of a header block forever."""
    peer.say(frame(HEADERS, 0, stream, OK))
    peer.flood(frame(CONTINUATION, 0, stream))


BOMB = OK + b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000 + b"\xbe" * 10_000
"""A field of 4,000 bytes in the table, and references of one byte to it, which stand for 40 MB."""
CHANGING_TABLE = b"".join(
    bytes([0x48, 3]) + b"103\x40\x02" + bytes([97, 97 + n]) + b"\x01x" for n in range(20)
)

GOOD = answering(
    lambda stream: frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"ok")
)

MANNERS: dict[str, Manners] = {
    "resets each stream": Manners(answering(lambda s: frame(RST_STREAM, 0, s, CANCEL.to_bytes(4)))),
    "refuses each stream": Manners(answering(lambda s: frame(RST_STREAM, 0, s, REFUSED_STREAM.to_bytes(4)))),
    "begins each answer and resets it": Manners(
        answering(lambda s: frame(HEADERS, END_HEADERS, s, OK) + frame(RST_STREAM, 0, s, CANCEL.to_bytes(4)))
    ),
    "goes away after each answer": Manners(
        answering(
            lambda s: (
                frame(GOAWAY, 0, 0, s.to_bytes(4) + bytes(4))
                + frame(HEADERS, END_HEADERS | END_STREAM, s, OK)
            )
        )
    ),
    "goes away and looks at nothing": Manners(answering(lambda _: frame(GOAWAY, 0, 0, bytes(8)))),
    "goes away forever": Manners(flooding(lambda s: frame(GOAWAY, 0, 0, s.to_bytes(4) + bytes(4)))),
    "sends interim answers forever": Manners(
        flooding(lambda s: frame(HEADERS, END_HEADERS, s, b"\x08\x03103"))
    ),
    "sends interim answers that change the table": Manners(
        flooding(lambda s: frame(HEADERS, END_HEADERS, s, CHANGING_TABLE))
    ),
    "sends empty data forever": Manners(flooding(lambda s: frame(DATA, 0, s), begun=True)),
    "sends padding forever": Manners(
        flooding(lambda s: frame(DATA, PADDED, s, b"\xff" + bytes(255)), begun=True)
    ),
    "sends data forever": Manners(flooding(lambda s: frame(DATA, 0, s, bytes(16_384)), begun=True)),
    "sends pings forever": Manners(flooding(lambda _: frame(PING, 0, 0, bytes(8)))),
    "sends pings within an answer, and never reads": Manners(
        flooding(lambda s: frame(PING, 0, 0, bytes(8)) + frame(DATA, 0, s, b"x"), begun=True)
    ),
    "sends settings forever": Manners(flooding(lambda _: frame(SETTINGS, 0, 0))),
    "changes the windows forever": Manners(then(_windows_that_change)),
    "sends priorities forever": Manners(flooding(lambda s: frame(PRIORITY, 0, s, bytes(5)))),
    "sends unknown frames forever": Manners(flooding(lambda s: frame(UNKNOWN, 0, s, bytes(16_384)))),
    "enlarges a window forever": Manners(flooding(lambda s: window_update(s, 2**20))),
    "resets an ended stream forever": Manners(
        flooding(lambda s: frame(RST_STREAM, 0, s, CANCEL.to_bytes(4)))
    ),
    "continues a header block forever": Manners(then(_header_without_end)),
    "continues an empty header block forever": Manners(then(_header_of_nothing_without_end)),
    "sends a header bomb": Manners(answering(lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, BOMB))),
    "promises pushes": Manners(
        answering(lambda s: frame(PUSH_PROMISE, END_HEADERS, s, (2).to_bytes(4) + OK))
    ),
    "states a frame of 16 MiB": Manners(answering(lambda s: b"\xff\xff\xff\x00\x00" + s.to_bytes(4))),
    "opens all windows and never reads": Manners(_wide_and_deaf, is_sent_much=True),
    "opens all windows, reads and does not answer": Manners(_wide, is_sent_much=True),
    "gives one byte of window at a time": Manners(_narrow, is_sent_much=True),
    "never says what it allows": Manners(Peer.hold),
    "allows no streams": Manners(answering(lambda _: b"", settings=bytes([0, 3, 0, 0, 0, 0]))),
}


def words(behaviour: str, port: int, folder: Path) -> list[object]:
    """Return the URL and options of the load."""
    options: list[object] = ["--http", "2", "-c", CONNECTIONS, "--streams", STREAMS]
    if behaviour and MANNERS[behaviour].is_sent_much:
        options += upload(folder)
    return [f"http://127.0.0.1:{port}/", *options]


if __name__ == "__main__":
    try_all(__doc__, Hostility(Manners(GOOD), MANNERS, hostile_server, words))
