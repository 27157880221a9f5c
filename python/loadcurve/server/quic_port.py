"""Whether QUIC is spoken on a UDP port, without a connection."""

import ipaddress
import secrets
import socket
import time
from collections.abc import Sequence

VERSION_OF_NOBODY = bytes.fromhex("1a2a3a4a")
"""One of those that exist only to be refused (RFC 9000 §15)."""
LEAST_DATAGRAM_BYTES = 1200
"""What a client's first datagram has at least."""
ID_BYTES = 8
LONGEST_WAIT_S = 3.0
"""For any answer: twice the longest round trip that the interop of QUIC tries."""
SHARES_OF_WAIT = (1 / 6, 2 / 6, 3 / 6)
"""What of it follows each question; an answer to an earlier one counts as long as anything is waited for."""
LONG_HEADER = 0x80
NO_VERSION = bytes(4)
"""In place of a version where a server names those that it speaks."""


def speaks_quic(host: str, port: int, timeout_s: float) -> bool:
    """Return whether a port answers a version that does not exist with those that it speaks (RFC 9000 §6.1).

    ``host`` is an address. Nothing is left of it in the server. Of three questions, each waits longer for an
    answer to any of them, together no longer than ``timeout_s``.
    """
    wait_s = min(LONGEST_WAIT_S, timeout_s)
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET  # noqa: PLR2004
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((host, port))
            expected: list[bytes] = []
            for share in SHARES_OF_WAIT:
                expected.append(_ask(asking))
                if _is_answered(asking, expected, time.monotonic() + share * wait_s):
                    return True
    except OSError:
        pass
    return False


def _ask(asking: socket.socket) -> bytes:
    """Ask once, and return what an answer has behind its first byte."""
    ids = [bytes([ID_BYTES]) + secrets.token_bytes(ID_BYTES) for _ in range(2)]
    first = bytes([LONG_HEADER | 0x40]) + VERSION_OF_NOBODY + b"".join(ids)
    asking.send(first.ljust(LEAST_DATAGRAM_BYTES, b"\0"))
    # The ids come back the other way round (RFC 8999 §6).
    return NO_VERSION + b"".join(reversed(ids))


def _is_answered(asking: socket.socket, expected: Sequence[bytes], until_s: float) -> bool:
    while (left_s := until_s - time.monotonic()) > 0:
        asking.settimeout(left_s)
        try:
            answer = asking.recv(2048)
        except TimeoutError:
            return False
        if answer and answer[0] >= LONG_HEADER and answer[1:].startswith(tuple(expected)):
            return True
    return False
