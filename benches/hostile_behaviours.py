"""A server on a free port of 127.0.0.1 that does harm in one of many ways, each a few lines."""

import contextlib
import functools
import gzip
import itertools
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadcurve._engine import make_certificates

DRIP_S = 0.05
"""Between two bytes: far below every timeout of a single read."""
HEAD = b"HTTP/1.1 200 OK\r\nServer: hostile/1.0\r\n"
BODY = bytes(1024)
GOOD = HEAD + b"Content-Length: 1024\r\n\r\n" + BODY
BLOCK_BYTES = 64 * 1024
QUEUE_FILLERS = 4
RECEIVE_BUFFER_BYTES = 4096
LONGEST_WRITE_S = 60.0
TLS_HANDSHAKE = b"\x16"
"""What a client of TLS begins with: the content type of its first record."""


class Peer:
    """One accepted connection, until it is closed or the server ends."""

    def __init__(self, connection: socket.socket, number: int, ended: threading.Event) -> None:
        """Take a connection that was accepted, the ``number``-th from zero."""
        self.connection, self.number, self.ended = connection, number, ended

    def encrypt(self) -> None:
        """Shake hands with a client of TLS, and go on within."""
        self.connection = _tls().wrap_socket(self.connection, server_side=True)

    def wants_tls(self) -> bool:
        """Wait for the first byte, leave it there, and say whether it begins a handshake."""
        is_encrypted = isinstance(self.connection, ssl.SSLSocket)
        return not is_encrypted and self.connection.recv(1, socket.MSG_PEEK) == TLS_HANDSHAKE

    def asked(self) -> bytes:
        """Wait for something to be asked, and return it; empty after the end."""
        return self.connection.recv(BLOCK_BYTES)

    def say(self, *parts: bytes) -> None:
        """Send all of it."""
        self.connection.sendall(b"".join(parts))

    def drip(self, text: bytes) -> None:
        """Send a text byte by byte, and then its last byte forever."""
        for byte in itertools.chain(text, itertools.repeat(text[-1])):
            if self.ended.wait(DRIP_S):
                return
            self.say(bytes([byte]))

    def flood(self, text: bytes) -> None:
        """Send a text without end, as fast as it is taken."""
        block = text * (BLOCK_BYTES // len(text) + 1)
        while not self.ended.is_set():
            self.say(block)

    def hold(self) -> None:
        """Do nothing for as long as the server is there."""
        self.ended.wait()

    def reset(self) -> None:
        """End the connection by a reset."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


@functools.cache
def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _, certificate, key = make_certificates("ecdsa", ["127.0.0.1"])
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        files[0].write_text(certificate)
        files[1].write_text(key)
        context.load_cert_chain(*files)
    return context


Behaviour = Callable[[Peer], None]


@dataclass(frozen=True)
class Manners:
    """How a server takes connections, and what it does on each."""

    serve: Behaviour
    accepts: bool = True
    queue: int | None = None
    """How many connections may wait to be accepted, beside one; ``None`` for as many as the kernel lets."""
    is_sent_much: bool = False
    """Whether the load sends it long bodies."""


def _answer(*parts: bytes, then: Callable[[Peer], None] = Peer.hold) -> Behaviour:
    """Answer the first question with this, and go on as ``then`` says."""

    def serve(peer: Peer) -> None:
        peer.asked()
        peer.say(*parts)
        then(peer)

    return serve


def _other_body_later(peer: Peer) -> None:
    """Answer as expected on the first connections, and then with a shorter body."""
    while peer.asked():
        peer.say(GOOD if peer.number < 1 else HEAD + b"Content-Length: 3\r\n\r\nbad")


def _twice(peer: Peer) -> None:
    while peer.asked():
        peer.say(GOOD + GOOD)


def _one_answer_then_closes(peer: Peer) -> None:
    peer.asked()
    peer.say(GOOD)


def _half_closes(peer: Peer) -> None:
    peer.asked()
    peer.say(HEAD, b"Content-Length: 1024\r\n\r\n", BODY[:512])
    peer.connection.shutdown(socket.SHUT_WR)
    peer.hold()


def _answers_first(peer: Peer) -> None:
    peer.say(GOOD)
    peer.hold()


def _refuses_clear_text_and_floods(peer: Peer) -> None:
    """Answer clear text as servers of TLS do, and send without end to those who speak TLS."""
    if peer.wants_tls():
        peer.encrypt()
        peer.flood(b"x")
    peer.asked()
    peer.say(b"HTTP/1.1 400 Bad Request\r\nServer: hostile/1.0\r\nContent-Length: 0\r\n\r\n")


def _redirects(peer: Peer) -> None:
    while peer.asked():
        peer.say(b"HTTP/1.1 302 Found\r\nServer: hostile/1.0\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LONG = HEAD + b"Content-Length: 1099511627776\r\n\r\n"

MANNERS: dict[str, Manners] = {
    "accepts and is silent": Manners(Peer.hold),
    "drips the status line": Manners(lambda peer: peer.drip(b"HTTP/1.1 2")),
    "drips a header": Manners(lambda peer: peer.drip(HEAD + b"x: y")),
    "drips a chunk size": Manners(_answer(CHUNKED, then=lambda peer: peer.drip(b"0"))),
    "drips chunks": Manners(_answer(CHUNKED, then=lambda peer: peer.drip(b"1\r\nx\r\n" * 10_000))),
    "drips the body": Manners(_answer(LONG, then=lambda peer: peer.drip(b"x"))),
    "sends headers forever": Manners(_answer(HEAD, then=lambda peer: peer.flood(b"x: y\r\n"))),
    "sends interim answers forever": Manners(
        _answer(then=lambda peer: peer.flood(b"HTTP/1.1 103 Early Hints\r\n\r\n"))
    ),
    "redirects to itself": Manners(_redirects),
    "promises a terabyte and sends nothing": Manners(_answer(LONG)),
    "sends a terabyte": Manners(_answer(LONG, then=lambda peer: peer.flood(b"x"))),
    "states two lengths": Manners(_answer(HEAD, b"Content-Length: 1024\r\nContent-Length: 7\r\n\r\n", BODY)),
    "sends chunks forever": Manners(_answer(CHUNKED, then=lambda peer: peer.flood(b"1\r\nx\r\n"))),
    "sends a chunk of 2^64 bytes": Manners(_answer(CHUNKED, b"10000000000000000\r\n")),
    "sends a chunk of -1 bytes": Manners(_answer(CHUNKED, b"-1\r\nx\r\n")),
    "sends a gzip bomb": Manners(
        _answer(HEAD, b"Content-Encoding: gzip\r\n\r\n", gzip.compress(bytes(64 << 20), 1), then=Peer.reset)
    ),
    "never ends an answer without a length": Manners(_answer(HEAD, b"\r\n", BODY)),
    "closes at once": Manners(lambda _peer: None),
    "resets at once": Manners(Peer.reset),
    "resets in the middle of the body": Manners(
        _answer(HEAD, b"Content-Length: 1024\r\n\r\n", BODY[:100], then=Peer.reset)
    ),
    "closes its half in the middle of the body": Manners(_half_closes),
    "answers before it is asked": Manners(_answers_first),
    "answers twice": Manners(_twice),
    "sends garbage": Manners(_answer(bytes(range(256)) * 16)),
    "sends garbage forever": Manners(lambda peer: peer.flood(bytes(range(256)))),
    "sends a TLS alert": Manners(_answer(b"\x15\x03\x03\x00\x02\x02\x46")),
    "refuses clear text and floods over TLS": Manners(_refuses_clear_text_and_floods),
    "drops SYNs": Manners(Peer.hold, accepts=False, queue=0),
    "accepts nobody": Manners(Peer.hold, accepts=False),
    "never reads": Manners(Peer.hold, is_sent_much=True),
    "closes after each answer without saying so": Manners(_one_answer_then_closes),
    "switches protocols": Manners(
        _answer(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    ),
    "speaks HTTP/0.9": Manners(_answer(b"<html>hello</html>", then=lambda _peer: None)),
    "sends NUL in a header": Manners(_answer(HEAD, b"x: \0\r\nContent-Length: 1024\r\n\r\n", BODY)),
    "folds a header forever": Manners(_answer(HEAD, b"x:", then=lambda peer: peer.flood(b" y\r\n"))),
    "sends a header line of a gigabyte": Manners(_answer(HEAD, b"x: ", then=lambda peer: peer.flood(b"y"))),
    "sends another body later": Manners(_other_body_later),
}


@contextlib.contextmanager
def hostile_server(manners: Manners, *, is_encrypted: bool = False) -> Iterator[int]:
    """Run a server for the length of a block, if need be behind handshakes of TLS; yields its port."""
    ended = threading.Event()

    def serve(peer: Peer) -> None:
        if is_encrypted:
            peer.encrypt()
        manners.serve(peer)

    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        listener.bind(("127.0.0.1", 0))
        listener.listen(*(() if manners.queue is None else (manners.queue,)))
        port: int = listener.getsockname()[1]
        if manners.queue is not None:
            for _ in range(QUEUE_FILLERS):
                filler = stack.enter_context(socket.socket())
                filler.settimeout(0)
                filler.connect_ex(("127.0.0.1", port))
        if manners.accepts:
            threading.Thread(target=_accept, args=(listener, serve, ended), daemon=True).start()
        try:
            yield port
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, serve: Behaviour, ended: threading.Event) -> None:
    for number in itertools.count():
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        # A thread that writes to a client that has continued without it must end, too.
        connection.settimeout(LONGEST_WRITE_S)
        peer = Peer(connection, number, ended)
        threading.Thread(target=_serve, args=(peer, serve), daemon=True).start()


def _serve(peer: Peer, serve: Behaviour) -> None:
    with contextlib.suppress(OSError):
        try:
            serve(peer)
        finally:
            peer.connection.close()
