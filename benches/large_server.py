"""A server for large answers and bodies: ``large_server.py FILE`` prints its port and serves until it ends.

Every GET is answered with FILE, which the kernel copies; of other requests the body is read and thrown away.
"""

import socket
import sys
import threading
from pathlib import Path
from typing import BinaryIO

BUFFER_BYTES = 1 << 20
LISTEN_QUEUE = 128


def main() -> None:
    """Serve on a free port of 127.0.0.1, each connection on its own thread."""
    file = Path(sys.argv[1])
    with socket.create_server(("127.0.0.1", 0), backlog=LISTEN_QUEUE) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve, args=(connection, file), daemon=True).start()


def _serve(connection: socket.socket, file: Path) -> None:
    # The header and a short answer are written one after the other, and neither shall wait.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    buffer = memoryview(bytearray(BUFFER_BYTES))
    with connection, connection.makefile("rb") as requests:
        try:
            while line := requests.readline():
                _skip(requests, _length(requests), buffer)
                if line.startswith(b"GET "):
                    with file.open("rb") as content:
                        connection.sendall(_head(file.stat().st_size))
                        connection.sendfile(content)
                else:
                    connection.sendall(_head(0))
        except OSError:
            return


def _length(requests: BinaryIO) -> int:
    """Read header lines up to the blank one; return the length of the body behind them."""
    length_bytes = 0
    while (line := requests.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length_bytes = int(value)
    return length_bytes


def _skip(requests: BinaryIO, length_bytes: int, buffer: memoryview) -> None:
    while length_bytes > 0:
        read = requests.readinto(buffer[:length_bytes])  # type: ignore[attr-defined]
        if not read:
            raise ConnectionError
        length_bytes -= read


def _head(length_bytes: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {length_bytes}\r\n\r\n".encode()


if __name__ == "__main__":
    main()
