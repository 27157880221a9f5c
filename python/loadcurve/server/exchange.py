"""Asking a server something within a time that is a total, however the answer is spread over it.

The timeout of a socket is one for each read: a server that sends a byte now and then would hold its client
for ever.
"""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator
from http.client import HTTPResponse

LEAST_BYTES_PER_S = 64 * 1024
"""A body that comes more slowly, on average, has no more time than a head; one that does not has as much as
it needs."""
MOST_UNKNOWN_BYTES = 16 * 1024 * 1024
"""A body of unknown length gets more time for at most this number of bytes, so that an endless one ends."""


@contextlib.contextmanager
def answer_within(
    timeout_s: float, host: str, port: int, path: str, body_bytes: int | None = None
) -> Iterator[HTTPResponse]:
    """Ask for a path, and give the answer, of which the head was read, for the length of a block.

    From now on the head has ``timeout_s``, and so has its body, but for the time that ``body_bytes`` take at
    :data:`LEAST_BYTES_PER_S`, as far as they come.

    Raises ``OSError`` or ``HTTPException`` where there is no such answer, also while the body is read.
    """
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = bounded = _connected(host, port, timeout_s)
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        bounded.body_bytes = MOST_UNKNOWN_BYTES if body_bytes is None else body_bytes
        with response:
            yield response
    finally:
        connection.close()


class _Bounded(socket.socket):
    """A socket whose reads and writes together end in time."""

    timeout_s = 0.0
    began_s = 0.0
    body_bytes = 0
    _received_bytes = 0

    def begin(self, timeout_s: float, began_s: float) -> None:
        """Have this timeout since the moment ``began_s``."""
        self.timeout_s, self.began_s = timeout_s, began_s

    def recv_into(self, *arguments: object, **more: object) -> int:
        """Receive, as :class:`socket.socket` does."""
        with self.in_time():
            received: int = super().recv_into(*arguments, **more)  # type: ignore[arg-type]
        if self.body_bytes:
            self._received_bytes = min(self.body_bytes, self._received_bytes + received)
        return received

    def sendall(self, *arguments: object) -> None:
        """Send, as :class:`socket.socket` does."""
        with self.in_time():
            super().sendall(*arguments)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def in_time(self) -> Iterator[None]:
        """Give what is done in the block the time that is left."""
        most_s = self.timeout_s + self._received_bytes / LEAST_BYTES_PER_S
        too_late = TimeoutError(f"no whole answer within {most_s:.3g} s")
        left_s = self.began_s + most_s - time.monotonic()
        if left_s <= 0:
            raise too_late
        self.settimeout(left_s)
        try:
            yield
        except TimeoutError:
            raise too_late from None


def _connected(host: str, port: int, timeout_s: float) -> _Bounded:
    """Return a connection to the first address of the host that accepts one."""
    began_s = time.monotonic()
    problem: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        bounded = _Bounded(family, kind, protocol)
        bounded.begin(timeout_s, began_s)
        try:
            with bounded.in_time():
                bounded.connect(address)
        except OSError as error:
            bounded.close()
            problem = error
        else:
            return bounded
    raise problem or OSError(f"{host} has no address")
