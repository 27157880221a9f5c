"""Servers inside the test itself: one keeps every request that reaches it, others answer none."""

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class SeenRequest:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


class RecordingServer(http.server.ThreadingHTTPServer):
    """Answers every request with 204 and keeps it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _RecordingHandler)
        self.seen: list[SeenRequest] = []

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _RecordingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RecordingServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(SeenRequest(self.command, self.path, list(self.headers.items()), body))
        self.send_response(204)
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def recording_server() -> Iterator[RecordingServer]:
    with RecordingServer() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@contextmanager
def full_listener(places: int) -> Iterator[str]:
    """Yield the address of a socket that takes ``places`` connections and answers no further ones."""
    # A queue holds one connection more than asked for.
    with (
        socket.create_server(("127.0.0.1", 0), backlog=places) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def deaf_port() -> Iterator[str]:
    """Yield the address of a port on which nobody listens, and nobody will: it is taken."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{holder.getsockname()[1]}"


@contextmanager
def silent_listener() -> Iterator[str]:
    """Yield the address of a socket that accepts connections, in the kernel, and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
