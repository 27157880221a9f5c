"""A separate network with few local ports, a web server in it, and one command.

Started in a new network namespace as ``small_network.py PORTS SERVER FOLDER COMMAND…``: ``SERVER`` is the
program of the package's own servers, which serves ``FOLDER``; ``{url}`` in the command becomes its URL.
"""

import fcntl
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

# From Linux' <net/if.h> and <bits/ioctls.h>.
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
FIRST_PORT = 40000
PATIENCE_S = 20


def start_loopback() -> None:
    with socket.socket() as any_socket:
        request = struct.pack("16sh22x", b"lo", 0)
        name, flags = struct.unpack("16sh22x", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", name, flags | IFF_UP))


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    raise SystemExit("the server does not listen")


def main(ports: int, server_program: str, folder: str, command: list[str]) -> int:
    start_loopback()
    # Nobody else is in this network, so any port outside the range is free.
    port = FIRST_PORT - 1
    server_command = [server_program, "limit", "--listen", f"127.0.0.1:{port}", "--root", folder]
    # What is printed here is the load's.
    server = subprocess.Popen(server_command, stdout=subprocess.DEVNULL)
    try:
        wait_for(port)
        Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"{FIRST_PORT} {FIRST_PORT + ports - 1}")
        url = f"http://127.0.0.1:{port}"
        return subprocess.run([word.replace("{url}", url) for word in command], check=False).returncode
    finally:
        server.kill()
        server.wait()


sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
