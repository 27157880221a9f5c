"""A server whose answers tempt its clients: to another server, to compression, to cookies, to sending again.

It keeps what each connection has sent, so that a test sees what a client has really done.
"""

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Self

_HEAD_END = b"\r\n\r\n"
_BODY = b"the same word, again and again; " * 20
_LISTEN_BACKLOG = 128


@dataclass(frozen=True)
class Head:
    """A request without its body."""

    line: str
    fields: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, head: bytes) -> Self:
        """Make it of the bytes before the empty line."""
        line, *lines = head.decode("latin-1").split("\r\n")
        pairs = (one.partition(":") for one in lines)
        return cls(line, tuple((name.lower(), value.strip()) for name, _, value in pairs))

    def value(self, name: str) -> str | None:
        """Return the value of a field; ``None`` where the request has none of this name."""
        return dict(self.fields).get(name)


@dataclass
class Tempting:
    """What has come."""

    address: str
    connections: list[list[Head]] = field(default_factory=list)
    """The requests of each connection that was opened."""
    led_away: int = 0
    """Connections to the other server."""

    @property
    def requests(self) -> list[Head]:
        """All of them."""
        return [head for connection in self.connections for head in connection]


@contextmanager
def tempting_server(*, drops_second: bool = False) -> Iterator[Tempting]:
    """Serve redirects to another server, which sets cookies, compressed where the client accepts that.

    With ``drops_second`` it answers 200 to the first request of each connection, and ends the connection
    when the second one has come, without a word.
    """
    with ExitStack() as stack:
        here, elsewhere = (
            stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=_LISTEN_BACKLOG))
            for _ in range(2)
        )
        host, port = here.getsockname()
        seen = Tempting(f"{host}:{port}")
        location = "http://{}:{}/elsewhere".format(*elsewhere.getsockname())
        lines = ["HTTP/1.1 200 OK"] if drops_second else ["HTTP/1.1 302 Found", f"Location: {location}"]

        def lead_away() -> None:
            for connection in _accepted(elsewhere):
                seen.led_away += 1
                connection.close()

        def serve() -> None:
            for connection in _accepted(here):
                requests: list[Head] = []
                seen.connections.append(requests)
                threading.Thread(
                    target=_serve, args=(connection, requests, lines, drops_second), daemon=True
                ).start()

        for listening, target in ((elsewhere, lead_away), (here, serve)):
            threading.Thread(target=target, daemon=True).start()
            # It ends the thread that waits for a connection, which closing alone does not.
            stack.callback(listening.shutdown, socket.SHUT_RDWR)
        yield seen


def _accepted(listening: socket.socket) -> Iterator[socket.socket]:
    while True:
        try:
            yield listening.accept()[0]
        except OSError:
            return


def _serve(connection: socket.socket, requests: list[Head], lines: list[str], drops_second: bool) -> None:
    received = b""
    with connection:
        try:
            while True:
                while _HEAD_END not in received:
                    data = connection.recv(1 << 16)
                    if not data:
                        return
                    received += data
                head, _, received = received.partition(_HEAD_END)
                requests.append(Head.read(head))
                if drops_second and len(requests) > 1:
                    return
                connection.sendall(_answer(requests[-1], lines))
        except OSError:
            return


def _answer(request: Head, lines: list[str]) -> bytes:
    accepts = request.value("accept-encoding") or ""
    body = gzip.compress(_BODY) if "gzip" in accepts else _BODY
    fields = [
        *lines,
        "Set-Cookie: tempted=1; Path=/",
        *(["Content-Encoding: gzip"] if "gzip" in accepts else []),
        *(["Connection: keep-alive"] if request.line.endswith("HTTP/1.0") else []),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(fields).encode() + _HEAD_END + body
