"""Processes as the kernel shows them in ``/proc``: who is who, who listens where, and ending them safely.

A process id alone says little, because the kernel uses it again. Here a process is its id together with its
start time, and a signal goes through a pidfd whose process was compared with that identity.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

PROC = Path("/proc")

DEAD_STATES = frozenset("ZX")
"""States of a process that has ended and only waits to be reaped, see proc(5)."""

LISTEN_STATE = "0A"
"""``TCP_LISTEN`` as ``/proc/net/tcp`` writes it."""
UNCONNECTED_STATE = "07"
"""``TCP_CLOSE``: as ``/proc/net/udp`` writes it, a socket that takes datagrams of anyone."""


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, not a later one of the same id; ``start_ticks`` counts from the machine's start."""

    pid: int
    start_ticks: int


@dataclass(frozen=True)
class ProcessStatus:
    """What ``/proc/PID/stat`` says of a process."""

    identity: ProcessIdentity
    parent: int
    session: int
    has_terminal: bool
    """Whether it is controlled from a terminal, as what a person starts is, and a server never."""
    ended: bool


def read_status(pid: int) -> ProcessStatus | None:
    """Read the status of a process; ``None`` where there is no such process."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in parentheses, may itself hold spaces and parentheses.
    fields = text[text.rindex(")") + 1 :].split()
    return ProcessStatus(
        identity=ProcessIdentity(pid, start_ticks=int(fields[19])),
        parent=int(fields[1]),
        session=int(fields[3]),
        has_terminal=int(fields[4]) != 0,
        ended=fields[0] in DEAD_STATES,
    )


def identify(pid: int) -> ProcessIdentity:
    """Return the identity of a process that exists; raises ProcessLookupError where it does not."""
    status = read_status(pid)
    if status is None:
        raise ProcessLookupError(pid)
    return status.identity


def keeps_its_id(process: ProcessIdentity) -> bool:
    """Say whether this very process still has its id: it runs, or waits to be reaped."""
    status = read_status(process.pid)
    return status is not None and status.identity == process


def is_running(process: ProcessIdentity) -> bool:
    """Say whether this very process still runs; one that waits to be reaped does not."""
    status = read_status(process.pid)
    return status is not None and status.identity == process and not status.ended


def running_processes() -> Iterator[ProcessStatus]:
    """Every process of the machine that has not ended."""
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            status = read_status(int(folder.name))
            if status is not None and not status.ended:
                yield status


def carries_variable(process: ProcessIdentity, variable: str) -> bool:
    """Say whether a process was started with this environment variable, given as ``NAME=value``.

    False as well where the environment may not be read or the process has written over it.
    """
    try:
        environment = (PROC / str(process.pid) / "environ").read_bytes()
    except OSError:
        return False
    return os.fsencode(variable) in environment.split(b"\0")


def open_files(process: ProcessIdentity) -> list[str] | None:
    """Return what a process has open, as the kernel names it; ``None`` where that may not be read."""
    links = []
    try:
        for link in (PROC / str(process.pid) / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                links.append(str(link.readlink()))
    except (FileNotFoundError, ProcessLookupError):
        return []
    except PermissionError:
        return None
    return links


def uses_folder(process: ProcessIdentity, folder: Path) -> bool:
    """Say whether a process works in a folder or has a file of it open, as far as that may be read."""
    used = open_files(process) or []
    with contextlib.suppress(OSError):
        used.append(str((PROC / str(process.pid) / "cwd").readlink()))
    return any(Path(path).is_relative_to(folder) for path in used)


def send_signal(process: ProcessIdentity, signal_number: signal.Signals) -> None:
    """Send a signal to this very process; nothing happens where it has ended, whoever has its id now."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if is_running(process):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal_number)
    finally:
        os.close(descriptor)


def listening_sockets(port: int, *, over_udp: bool = False) -> set[int]:
    """Return the inodes of the sockets of this network that listen on a port, on any address."""
    return {listener.inode for listener in listeners(over_udp=over_udp) if listener.port == port}


def listening_ports() -> dict[int, int]:
    """Return the port of each TCP socket of this network that listens, on any address, by its inode."""
    return {listener.inode: listener.port for listener in listeners()}


@dataclass(frozen=True)
class Listener:
    """A socket on the network of this process: one of TCP that listens, or of UDP for anyone."""

    inode: int
    address: IPv4Address | IPv6Address
    port: int
    user: int
    """The id of the user who made it."""


def listeners(*, over_udp: bool = False) -> Iterator[Listener]:
    """Yield each TCP socket of this network that listens, or each UDP one that takes datagrams of anyone."""
    state = UNCONNECTED_STATE if over_udp else LISTEN_STATE
    for table in ("udp", "udp6") if over_udp else ("tcp", "tcp6"):
        try:
            lines = (PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]
        except FileNotFoundError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == state:
                address, _, port = fields[1].rpartition(":")
                yield Listener(int(fields[9]), _address(address), int(port, 16), int(fields[7]))


def addresses_instead(sockets: Iterable[Listener], port: int, address: str) -> set[str]:
    """Return the addresses at which sockets listen on a port, where none of them is reached at this one."""
    own = {one.address for one in sockets if one.port == port}
    is_reached = any(one.is_unspecified or one == ip_address(address) for one in own)
    return set() if is_reached else {str(one) for one in own}


def _address(digits: str) -> IPv4Address | IPv6Address:
    """Return an address that the kernel writes as words of 32 bits in the machine's order of bytes."""
    words = [digits[start : start + 8] for start in range(0, len(digits), 8)]
    address = ip_address(b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words))
    return getattr(address, "ipv4_mapped", None) or address


def held_sockets(process: ProcessIdentity) -> set[int] | None:
    """Return the inodes of the sockets that a process has open; ``None`` where that may not be read."""
    files = open_files(process)
    if files is None:
        return None
    return {int(file[len("socket:[") : -1]) for file in files if file.startswith("socket:[")}
