"""A web server whose kernel ceases to hear its client, so that the client's has to send a request again."""

import ctypes
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# socket(7): a filter says how many bytes of a packet its socket gets. This one has one instruction, which
# says none: BPF_RET | BPF_K.
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
HEAR_NOTHING = struct.pack("=HBBI", 0x06, 0, 0, 0)

ESTABLISHED = "01"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class DeafenedServer:
    """Serves one connection after the other.

    The one with the first request is deaf from before that is answered until :meth:`hear_again`.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._deafened: socket.socket | None = None

    def serve(self) -> None:
        """Serve until the listener is shut down."""
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, connection.makefile("rb") as lines:
                    for line in lines:
                        # A blank line ends a request.
                        if line == b"\r\n":
                            self._deafen_once(connection)
                            connection.sendall(ANSWER)

    def retransmits(self) -> int:
        """Return how often the client's kernel has sent again what it waits for (``proc_net_tcp.rst``)."""
        rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        # The address is printed as the number that its bytes are in memory.
        address = f"{int.from_bytes(socket.inet_aton('127.0.0.1'), sys.byteorder):08X}:{self.port:04X}"
        return sum(int(row[6], 16) for row in rows if row[2:4] == [address, ESTABLISHED])

    def hear_again(self) -> None:
        assert self._deafened is not None
        self._deafened.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)

    def _deafen_once(self, connection: socket.socket) -> None:
        if self._deafened is None:
            instructions = ctypes.create_string_buffer(HEAR_NOTHING, len(HEAR_NOTHING))
            program = struct.pack("HP", 1, ctypes.addressof(instructions))
            connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
            self._deafened = connection


@contextmanager
def deafened_server() -> Iterator[DeafenedServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = DeafenedServer(listener)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
