"""A database as its clients see it: whether it lets them in, and whether it keeps what it is given."""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from loadcurve.server.failure import ServerFailure
from loadcurve.server.protocol import ProtocolName, protocol_of_url

ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class RunningDatabase:
    """A database under its URL, see :class:`loadcurve.server.service.Service`."""

    url: str

    sign_of_life = "let a client in"

    def refusal(self, timeout_s: float) -> str | None:
        """Ask once whether it lets a client in; ``None`` if it does, otherwise what it answered."""
        try:
            say_hello(self.url, timeout_s)
        except (OSError, ValueError) as error:
            return f"the last attempt failed with {error or type(error).__name__}"
        return None

    def verify(self, _paths: Sequence[str]) -> None:
        """See that it answers."""
        refusal = self.refusal(ANSWER_TIMEOUT_S)
        if refusal is not None:
            raise ServerFailure("wrong_answer", f"it lets nobody in: {refusal}.")


def version_at(url: str, timeout_s: float) -> str:
    """Return the version that a database says it has; raises OSError or ValueError where it does not."""
    say_hello(url, timeout_s)
    return ""


def say_hello(url: str, timeout_s: float) -> None:
    """Greet a database in its protocol; raises OSError or ValueError where it does not answer as one."""
    parts = urlsplit(url)
    protocol = protocol_of_url(url)
    if protocol not in _GREETINGS:
        raise ValueError("the URL is none of a database")
    greeting, wanted = _GREETINGS[protocol]
    with socket.create_connection((parts.hostname, parts.port), timeout_s) as connection:
        connection.sendall(greeting)
        answer = connection.recv(4096)
    if wanted not in answer:
        raise ValueError(f"the answer {answer[:80]!r}")


def _hello() -> bytes:
    """Return the command ``hello`` of MongoDB's protocol (OP_MSG)."""
    fields = b"\x10hello\0" + struct.pack("<i", 1) + b"\x02$db\0" + struct.pack("<i", 6) + b"admin\0"
    document = struct.pack("<i", len(fields) + 5) + fields + b"\0"
    body = struct.pack("<IB", 0, 0) + document
    return struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body


def _startup() -> bytes:
    """Return the startup message of PostgreSQL's protocol 3.0."""
    body = struct.pack(">i", 3 << 16) + b"user\0loadcurve\0database\0postgres\0\0"
    return struct.pack(">i", 4 + len(body)) + body


_GREETINGS: dict[ProtocolName | None, tuple[bytes, bytes]] = {
    "mongodb": (_hello(), b"maxWireVersion"),
    "postgresql": (_startup(), b"R\0\0\0"),
}
