"""A server of events inside the test itself, which keeps what it sends, and who asked for what.

As a program, ``event_server.py PORT EVENTS_EACH EVERY_S``, it serves until it is ended.
"""

import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count


@dataclass
class SentStream:
    """One stream: what its request said of the last event, and what was sent."""

    last_id: str | None
    ids: list[str] = field(default_factory=list)
    is_ended: bool = False
    """Whether all of it was sent."""


class EventServer(http.server.ThreadingHTTPServer):
    """Answers each request with events, each with another id, and ends the stream after the last one."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, events_each: int, every_s: float, retry_ms: int | None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _EventHandler)
        self.events_each = events_each
        self.every_s = every_s
        self.retry_ms = retry_ms
        self.streams: list[SentStream] = []
        """In the order in which they were asked for."""
        self.next_id = count(1)
        self.is_closing = threading.Event()

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _EventHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EventServer

    def do_GET(self) -> None:
        server = self.server
        stream = SentStream(self.headers.get("Last-Event-ID"))
        server.streams.append(stream)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        # HTTP/1.0 has no chunks: the end of such a stream is that of its connection.
        self.is_chunked = self.request_version != "HTTP/1.0"
        if self.is_chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if server.retry_ms is not None:
            self._send(f"retry: {server.retry_ms}\n")
        for _ in range(server.events_each):
            server.is_closing.wait(server.every_s)
            stream.ids.append(str(next(server.next_id)))
            # An event of two lines, and a comment, as servers send them to keep connections open.
            self._send(f": alive\nid: {stream.ids[-1]}\ndata: one\ndata: two\n\n")
        stream.is_ended = True
        if self.is_chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, text: str) -> None:
        encoded = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded) if self.is_chunked else encoded)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def event_server(
    events_each: int, every_s: float = 0.0, retry_ms: int | None = None
) -> Iterator[EventServer]:
    """Serve streams of this many events, this time apart, until the block ends."""
    with EventServer(events_each, every_s, retry_ms) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.is_closing.set()
            server.shutdown()


if __name__ == "__main__":
    EventServer(int(sys.argv[2]), float(sys.argv[3]), None, int(sys.argv[1])).serve_forever()
