"""Addresses of a host, within a time that is a total: the system's resolver knows none."""

import ipaddress
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


LOOPBACK = ("127.0.0.1", "::1")


def endpoints_of(host: str, port: int, timeout_s: float) -> list[Endpoint]:
    """Return the addresses of a host, in the system's order of preference.

    Those of ``localhost`` and of every name below it are of this machine, whatever the resolver knows (RFC
    6761, 6.3).

    Raises:
        OSError: there is no such host; ``TimeoutError`` where the name servers do not answer in time.
        UnicodeError: this is no name of a host.

    """
    answers: queue.SimpleQueue[list[Endpoint] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_of_this_machine(host, port) if _is_of_this_machine(host) else _asked(host, port))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    # Nothing can interrupt the resolver. A daemon's end is waited for by nobody.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise TimeoutError(f"no name server has answered within {timeout_s:.3g} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _asked(host: str, port: int) -> list[Endpoint]:
    return [Endpoint(*one) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _is_of_this_machine(host: str) -> bool:
    return f".{host.lower().removesuffix('.')}".endswith(".localhost")


def _of_this_machine(host: str, port: int) -> list[Endpoint]:
    """Return the loopback addresses that the resolver knows of a name, or else all."""
    try:
        found = _asked(host, port)
    except socket.gaierror:
        found = []
    own = [one for one in found if ipaddress.ip_address(one.address[0]).is_loopback]
    return own or [one for address in LOOPBACK for one in _asked(address, port)]
