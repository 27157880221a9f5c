"""Addresses of a host, within a time that is a total: the system's resolver knows none."""

import queue
import socket
import threading
from typing import Any, NamedTuple


class Endpoint(NamedTuple):
    """An address that a socket can connect to, as :func:`socket.getaddrinfo` gives it."""

    family: int
    kind: int
    protocol: int
    canonical_name: str
    address: Any


def endpoints_of(host: str, port: int, timeout_s: float) -> list[Endpoint]:
    """Return the addresses of a host, in the system's order of preference.

    Raises:
        OSError: there is no such host; ``TimeoutError`` where the name servers do not answer in time.
        UnicodeError: this is no name of a host.

    """
    answers: queue.SimpleQueue[list[Endpoint] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            answers.put(error)
        else:
            answers.put([Endpoint(*one) for one in found])

    # Nothing can interrupt the resolver. A daemon's end is waited for by nobody.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise TimeoutError(f"no name server has answered within {timeout_s:.3g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer
