"""Servers that do harm over HTTP/2: every load ends in time, names what was wrong, and takes little memory.

For every behaviour a row says how the command ended, by how much that was later than the timeout, and how
much memory it took beyond a load on a good server.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benches.hostile_behaviours import Manners, Peer, hostile_server
from benches.rig import machine, named_with

GRACE_S = 5.0
"""For the start of the command, too."""
MEMORY_MIB = 48.0
"""What a load may take beyond one on a good server."""
CONNECTIONS = 4
STREAMS = 100
UPLOAD_BYTES = 64 << 20
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


@dataclass(frozen=True)
class Ended:
    """How a load ended."""

    said: str
    over_s: float
    """Its time over what it was given."""
    peak_mib: float
    is_named: bool
    """Whether it says what was wrong, or measured what there was."""


@dataclass(frozen=True)
class Limits:
    """What loads are given."""

    timeout_s: float
    duration_s: float


def load_on(manners: Manners, limits: Limits) -> Ended:
    """Put a load on a server of these manners, by the real command."""
    with hostile_server(manners) as port, tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        options: list[object] = ["--http", "2", "-c", CONNECTIONS, "--streams", STREAMS, "-t", 1, "--json"]
        options += ["-d", f"{limits.duration_s}s", "--timeout", f"{limits.timeout_s}s"]
        if manners.is_sent_much:
            body = Path(folder) / "body"
            with body.open("wb") as file:
                file.truncate(UPLOAD_BYTES)
            options += ["-X", "POST", "--body", f"@{body}"]
        program = Path(sys.executable).parent / "loadcurve"
        command = [sys.executable, "-m", "benches.peak_memory", peak, program, "load"]
        command += [f"http://127.0.0.1:{port}/", *options]
        began_s = time.monotonic()
        ended = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False, timeout=120
        )
        over_s = time.monotonic() - began_s - limits.duration_s - limits.timeout_s
        said, is_named = _said(ended)
        return Ended(said, over_s, int(peak.read_text()) / 2**20, is_named)


def _said(ended: subprocess.CompletedProcess[str]) -> tuple[str, bool]:
    """Return how a command ended in words, and whether it says what was wrong or measured what there was."""
    is_named = ended.returncode in {0, 3, 4} and "Traceback" not in ended.stderr
    if not ended.stdout:
        return f"exit {ended.returncode}: {ended.stderr.strip()}", is_named
    result = json.loads(ended.stdout)
    requests = result["requests"]
    facts = {"answered": requests["answered"], "moved": requests["moved"], **result["errors"]}
    said = [f"{count} {name}" for name, count in facts.items() if count]
    said += [message["text"] for message in result["error_messages"][:1]]
    is_accounted_for = requests["due"] == sum(
        requests[fate] for fate in ("answered", "failed", "unanswered", "never_sent")
    )
    return f"exit {ended.returncode}: {', '.join(said)}", is_named and is_accounted_for


@dataclass(frozen=True)
class Row:
    """How a load ended, beside one on a good server."""

    behaviour: str
    ended: Ended
    more_mib: float

    @property
    def is_good(self) -> bool:
        """Whether it ended in time, as it should, and in little memory."""
        ended = self.ended
        return ended.is_named and ended.over_s <= GRACE_S and self.more_mib <= MEMORY_MIB

    def print(self) -> None:
        """Print it as a line of the table."""
        mark = "" if self.is_good else "WRONG "
        said = " ".join(self.ended.said.split())[:120]
        print(f"{mark}{self.behaviour:<46} {self.ended.over_s:>+6.2f} s {self.more_mib:>+7.1f} MiB  {said}")


def main() -> None:
    """Print the table; end with 1 where a row is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=1.0, metavar="SECONDS", help="of each request")
    parser.add_argument("--duration", type=float, default=2.0, metavar="SECONDS", help="of each load")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="how many loads at once")
    parser.add_argument("--only", default="", metavar="TEXT", help="behaviours with this text in their names")
    arguments = parser.parse_args()
    limits = Limits(arguments.timeout, arguments.duration)
    print(machine())
    good = load_on(Manners(GOOD), limits)
    print(f"a good server: {good.peak_mib:.1f} MiB, {good.said}")

    def row_of(behaviour: str) -> Row:
        ended = load_on(MANNERS[behaviour], limits)
        row = Row(behaviour, ended, ended.peak_mib - good.peak_mib)
        row.print()
        return row

    behaviours = named_with(arguments.only, MANNERS)
    with ThreadPoolExecutor(arguments.at_once) as pool:
        rows = list(pool.map(row_of, behaviours))
    bad = [row for row in rows if not row.is_good]
    print(f"\n{len(rows)} behaviours, {len(bad)} not as they should be")
    print(
        f"at most {max(row.more_mib for row in rows):.1f} MiB more than a good one, goal {MEMORY_MIB:g} MiB"
    )
    print(f"at most {max(row.ended.over_s for row in rows):.2f} s over the timeout, goal {GRACE_S:g} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
