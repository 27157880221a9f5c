"""A server that answers a byte at a time, each within every timeout of a single read, and never ends."""

import contextlib
import socket
import threading
from collections.abc import Iterator

DRIP_S = 0.05
HEAD = b"HTTP/1.1 200 OK\r\nServer: drip/1.0\r\n"


@contextlib.contextmanager
def dripping_server(at_once: bytes = b"", drip: bytes = b"x") -> Iterator[int]:
    """Listen on a free port of this machine; each client gets ``at_once`` and then ``drip`` forever."""
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            client.sendall(at_once)
            while not ended.wait(DRIP_S):
                client.sendall(drip)

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not ended.is_set():
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
