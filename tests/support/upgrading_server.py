"""A server inside the test itself that answers each request to open a WebSocket in one way."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from support.broadcasting_server import accepted


class UpgradingServer(http.server.ThreadingHTTPServer):
    """Opens a WebSocket with a subprotocol, asked for or not, or refuses it with a body."""

    daemon_threads = True

    def __init__(self, subprotocol: str | None, refusal: str) -> None:
        super().__init__(("127.0.0.1", 0), _UpgradingHandler)
        self.subprotocol = subprotocol
        self.refusal = refusal
        self.seen = 0
        """How many requests came."""

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class _UpgradingHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: UpgradingServer

    def do_GET(self) -> None:
        self.server.seen += 1
        self.close_connection = True
        if self.server.subprotocol is None:
            body = self.server.refusal.encode()
            self.send_response(HTTPStatus.FORBIDDEN)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(HTTPStatus.SWITCHING_PROTOCOLS)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        key = self.headers["Sec-WebSocket-Key"].encode()
        self.send_header("Sec-WebSocket-Accept", accepted(key).decode())
        self.send_header("Sec-WebSocket-Protocol", self.server.subprotocol)
        self.end_headers()
        # Until the client has closed its end.
        self.rfile.read()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def upgrading_server(*, subprotocol: str | None = None, refusal: str = "") -> Iterator[UpgradingServer]:
    """Serve until the block ends: with a subprotocol open WebSockets, without one refuse them (403)."""
    with UpgradingServer(subprotocol, refusal) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
