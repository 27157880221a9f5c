"""A program that answers all that it is asked, on the Unix socket whose path is its argument."""

import socketserver
import sys
from http.server import BaseHTTPRequestHandler


class Answer(BaseHTTPRequestHandler):
    """Says hello."""

    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    socketserver.ThreadingUnixStreamServer(sys.argv[1], Answer).serve_forever()
