"""Where the page listens, and which requests are meant for it."""

import ipaddress
import os
import socket
from dataclasses import dataclass
from typing import Self

from loadcurve.errors import BadInput

ANY_LOOPBACK_PORT = "127.0.0.1:0"
"""This machine alone, on a port that is free."""
LARGEST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """A host, by name or number, and a port; port 0 stands for any that is free."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, of: str = "the page") -> Self:
        """Read ``HOST:PORT``, the address ``of`` something; a host of IPv6 is in square brackets.

        Raises ``BadInput`` where it is none.
        """
        host, colon, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not host or (":" in host and not bracketed) or not _is_port(port):
            raise BadInput(
                f"found {text} as the address of {of}; expected HOST:PORT, such as "
                f"{ANY_LOOPBACK_PORT}, where port 0 means any free port"
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= LARGEST_PORT


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that takes connections already, so that the page can be opened from now on."""

    socket: socket.socket
    host: str
    """As it was given."""

    @classmethod
    def at(cls, address: Address) -> Self:
        """Listen at an address.

        Raises ``BadInput`` where that cannot be, because another program has the port for instance.
        """
        try:
            [(family, _, _, _, place), *_] = socket.getaddrinfo(
                address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            listening = socket.create_server(place[:2], family=family)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise BadInput(
                f"the page cannot listen at {address.host}:{address.port}: {reason}. Choose another with "
                f"--watch-address (--address of `loadcurve watch`), such as {ANY_LOOPBACK_PORT} for any free "
                "port of this machine."
            ) from error
        return cls(listening, address.host)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self._number.is_loopback

    @property
    def url(self) -> str:
        """Where a browser finds the page."""
        host = socket.gethostname() if self._number.is_unspecified else self.host
        port = self.socket.getsockname()[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def names(self) -> frozenset[str]:
        """Return the names by which a browser may ask for the page."""
        own = {socket.gethostname().lower()} if self._number.is_unspecified else set()
        return frozenset({"localhost", self.host.lower()} | own)

    @property
    def _number(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        return ipaddress.ip_address(self.socket.getsockname()[0].partition("%")[0])


def announcement(listener: Listener) -> str:
    """Say where the page is, and aloud if others than this machine can reach it."""
    here = f"The page of this run: {listener.url}"
    if listener.is_loopback:
        return here
    return (
        f"{here}\nWarning: {listener.host} can be reached from other machines. Everyone who can reach it "
        "can read the page and the report, without a password."
    )


def is_meant_for(host_header: str | None, names: frozenset[str]) -> bool:
    """Say whether a request with this ``Host`` comes from a browser that was directed here.

    A site elsewhere can let its own name point to this machine (DNS rebinding), and so have a browser
    ask here for it. It cannot do that with a number, nor with a name that is ours. The port is not looked at:
    a tunnel may have another one at its other end.
    """
    host = (host_header or "").strip().lower()
    host = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in names
    return True
