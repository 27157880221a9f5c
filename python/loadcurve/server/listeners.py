"""Who listens where a server is reached that runs already: sockets of this machine, and whose they are."""

import socket
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, Self
from urllib.parse import urlsplit

from loadcurve.host.process_times import ProcessTable, ProcessTime
from loadcurve.protocol import known_database, protocol_of_url
from loadcurve.redaction import without_password
from loadcurve.server.lookup import endpoints_of
from loadcurve.server.processes import Listener, ProcessIdentity, held_sockets, listeners

FORWARDERS: Final = frozenset(
    {"docker-proxy", "rootlessport", "slirp4netns", "pasta", "ssh", "sshd", "kubectl"}
)
"""Programs that listen for a server that is another process, perhaps of another machine."""
LOOK_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Place:
    """Where a server is reached: a numeric address and a port."""

    address: IPv4Address | IPv6Address
    port: int
    is_over_udp: bool = False
    """Whether it is a port of UDP, which another program than that of TCP may have."""

    @classmethod
    def of_web_server(cls, endpoint: str, *, is_over_quic: bool = False) -> Self | None:
        """Return the place of a numeric ``host:port``, whose zone is left out; ``None`` for anything else."""
        host, _, port = endpoint.rpartition(":")
        try:
            return cls(ip_address(host.strip("[]").partition("%")[0]), int(port), is_over_quic)
        except ValueError:
            return None

    @classmethod
    def of_database(cls, url: str) -> Self | None:
        """Return the place of the one host that a database's URL names; ``None`` where that is no one place.

        That is a socket in a folder, several hosts, a name that is looked up elsewhere, or one of no address.
        """
        parts, protocol = urlsplit(without_password(url)), protocol_of_url(url)
        if protocol is None or protocol == "http" or "," in parts.netloc or parts.scheme.endswith("+srv"):
            return None
        try:
            host, port = parts.hostname, parts.port or known_database(protocol).usual_port
            if not host:
                return None
            found = endpoints_of(host, port, LOOK_TIMEOUT_S)
        except (OSError, ValueError):
            return None
        return cls(ip_address(str(found[0][-1][0]).partition("%")[0]), port) if found else None

    @property
    def is_here(self) -> bool:
        """Whether it is an address of this machine: what is sent there then has it as its source, too."""
        if self.address.is_loopback:
            return True
        family = socket.AF_INET if self.address.version == 4 else socket.AF_INET6  # noqa: PLR2004 -- IPv4
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as unsent:
                unsent.connect((str(self.address), self.port))
                return ip_address(unsent.getsockname()[0]) == self.address
        except OSError:
            return False

    def __str__(self) -> str:
        """Return it as ``host:port``."""
        host = str(self.address)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def port_in_words(self) -> str:
        """The port, with its protocol where that is not TCP."""
        return f"{'UDP ' if self.is_over_udp else ''}port {self.port}"

    def listeners(self) -> list[Listener]:
        """Return the sockets of this network that accept its connections, on its address or on any."""
        on_port = [one for one in listeners(over_udp=self.is_over_udp) if one.port == self.port]
        own = [one for one in on_port if one.address == self.address]
        return own or [one for one in on_port if one.address.is_unspecified]


@dataclass(frozen=True)
class Holders:
    """The processes that have some sockets open, as far as that may be read."""

    found: Collection[ProcessTime]
    unread: Collection[int]
    """The ids of processes whose open files may not be read."""


def holders_of(sockets: Collection[Listener], table: ProcessTable) -> Holders:
    """Return the processes that have one of these sockets open."""
    inodes = {one.inode for one in sockets}
    found, unread = [], []
    for one in table.processes.values():
        if one.is_of_kernel:
            continue
        held = held_sockets(ProcessIdentity(*one.identity))
        if held is None:
            unread.append(one.pid)
        elif not inodes.isdisjoint(held):
            found.append(one)
    return Holders(found, unread)
