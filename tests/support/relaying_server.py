"""A program that answers as another one does, as a proxy does: its port, and the other's port or socket."""

import http.client
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Relay(BaseHTTPRequestHandler):
    """Asks the other program for each answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        upstream = http.client.HTTPConnection(
            "127.0.0.1", int(sys.argv[2]) if sys.argv[2].isdigit() else None
        )
        if not sys.argv[2].isdigit():
            upstream.sock = socket.socket(socket.AF_UNIX)
            upstream.sock.connect(sys.argv[2])
        upstream.request("GET", self.path)
        answer = upstream.getresponse()
        body = answer.read()
        upstream.close()
        head = f"HTTP/1.1 {answer.status} Relayed\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Relay).serve_forever()
