"""Whether QUIC is spoken on a UDP port, without a connection."""

import ipaddress
import secrets
import socket

VERSION_OF_NOBODY = bytes.fromhex("1a2a3a4a")
"""One of those that exist only to be refused (RFC 9000 §15)."""
LEAST_DATAGRAM_BYTES = 1200
"""What a client's first datagram has at least."""
ID_BYTES = 8
ATTEMPTS = 2
LONGEST_WAIT_S = 0.5
"""For one answer."""
LONG_HEADER = 0x80
NO_VERSION = bytes(4)
"""In place of a version where a server names those that it speaks."""


def speaks_quic(host: str, port: int, timeout_s: float) -> bool:
    """Return whether a port answers a version that does not exist with those that it speaks (RFC 9000 §6.1).

    ``host`` is an address. Nothing is left of it in the server. At most two answers are waited for, together
    no longer than ``timeout_s``.
    """
    wait_s = min(LONGEST_WAIT_S, timeout_s / ATTEMPTS)
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET  # noqa: PLR2004
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((host, port))
            asking.settimeout(wait_s)
            return any(_is_answered(asking) for _ in range(ATTEMPTS))
    except OSError:
        return False


def _is_answered(asking: socket.socket) -> bool:
    ids = [bytes([ID_BYTES]) + secrets.token_bytes(ID_BYTES) for _ in range(2)]
    first = bytes([LONG_HEADER | 0x40]) + VERSION_OF_NOBODY + b"".join(ids)
    asking.send(first.ljust(LEAST_DATAGRAM_BYTES, b"\0"))
    try:
        answer = asking.recv(2048)
    except TimeoutError:
        return False
    # The ids come back the other way round (RFC 8999 §6).
    expected = NO_VERSION + b"".join(reversed(ids))
    return bool(answer) and answer[0] >= LONG_HEADER and answer[1:].startswith(expected)
