"""A server of several processes that share a socket, as a program; a worker that ends is replaced.

Its arguments are the port, or 0, and how many workers it has; it prints its port.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from loadcurve.server.spawn import ends_with_parent

ANSWER = b"HTTP/1.1 200 OK\r\nServer: prefork/1.0\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@contextmanager
def preforking_server(port: int = 0, workers: int = 2) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """Yield the port and the main process of such a server."""
    command = [*ends_with_parent(), sys.executable, __file__, str(port), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline()), server
        finally:
            server.terminate()


def _serve(port: int, workers: int) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    children: set[int] = set()

    def end(*_: object) -> None:
        for child in children:
            os.kill(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    while True:
        while len(children) < workers:
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                _answer(listener)
            children.add(child)
        if port >= 0:
            print(listener.getsockname()[1], flush=True)
            port = -1
        children.discard(os.wait()[0])


def _answer(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(ANSWER)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
