"""Whose the time of the load's CPUs was during a load, and of the server's, where it shares them."""

import os
import resource
import socket
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Self

from loadcurve.generate.generator import CpuSeconds
from loadcurve.generate.hosts import named_ports
from loadcurve.host.process_times import ProcessTable, used_by
from loadcurve.host.processor_times import ProcessorTimes
from loadcurve.host.strangers import kernel_threads_s, named, own_family, strangers
from loadcurve.result.cpu_time import CpuTime, Spent, divided
from loadcurve.server.listeners import FORWARDERS
from loadcurve.server.processes import ProcessIdentity, held_sockets, listening_sockets

UDP: Final = "udp"
LOOK_MAX_S: Final = 0.1
"""Looking for the server among all open files of the machine ends here, and it is unknown."""


@dataclass(frozen=True)
class _Moment:
    times: ProcessorTimes
    table: ProcessTable
    own_s: float
    """What this process has used, with its children that have ended."""

    @classmethod
    def now(cls) -> Self:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own_s = time.process_time() + children.ru_utime + children.ru_stime
        return cls(ProcessorTimes.now(), ProcessTable.now(), own_s)


@dataclass(frozen=True)
class _ServerHere:
    """The server's processes, where it is on this machine; without any, it is on another one."""

    pids: frozenset[int]
    cpus: frozenset[int]
    """Where they may run."""

    def is_gone(self, table: ProcessTable) -> bool:
        """Say whether it has ended, and what it has used with it."""
        return bool(self.pids) and self.pids.isdisjoint(pid for pid, _ in table.processes)


class TimeWatch:
    """Reads who has used the CPUs before a load; asked after it, it says whose their time was."""

    def __init__(
        self, work: Mapping[str, str], cpus: Collection[int], level_before: "TimeWatch | None" = None
    ) -> None:
        """Read it before a load on these CPUs and on what ``work`` names, see :func:`work_of`.

        The server of the next level of a load is that of ``level_before``: looking for it takes CPU time,
        which would be missing to a load that continues.
        """
        self._cpus = frozenset(cpus)
        self._before = _Moment.now()
        self.server: _ServerHere | None = level_before.server if level_before else None
        """``None`` where it is here and its processes cannot be found."""
        if level_before is None:
            self.server = _server_here(work, self._before.table)
        self._after: _Moment | None = None

    def used(self) -> CpuSeconds:
        """Return what both sides have used until now, each since it began."""
        now = _Moment.now()
        own, of_server = _families(now.table, self.server.pids if self.server else ())
        times = {one.pid: one.own_s + one.reaped_s for one in now.table.processes.values()}
        # The time of another process of the load, such as a probe, is that of the load.
        generator_s = now.own_s + sum(times.get(pid, 0.0) for pid in own - {os.getpid()})
        server_s = sum(times.get(pid, 0.0) for pid in of_server) if of_server else None
        return CpuSeconds(now.times.moment_s, server_s, generator_s)

    def ends(self) -> None:
        """Note that the window is over, where the load continues."""
        self._after = _Moment.now()

    def divided(self, paused_s: float) -> CpuTime | None:
        """Return whose the time was; ``None`` where a server here cannot be seen, or has ended.

        That is the time of the load's CPUs, and of those on which the server may run where both share any.
        """
        after, before = self._after or _Moment.now(), self._before
        server = self.server
        if server is None or server.is_gone(after.table):
            return None
        shared = bool(server.cpus & self._cpus)
        cpus = sorted(self._cpus | server.cpus if shared else self._cpus)
        spent = after.times.since(before.times, cpus)
        length_s = after.times.moment_s - before.times.moment_s
        if spent is None or length_s <= 0:
            return None
        uses = after.table.since(before.table)
        own, of_server = _families(after.table, server.pids)
        others = strangers(uses, own | of_server, cpus)
        return divided(
            cpus,
            Spent(
                length_s=length_s,
                idle_s=spent.idle_s,
                interrupts_s=spent.irq_s + spent.softirq_s,
                softirq_s=spent.softirq_s,
                steal_s=spent.steal_s,
                server_s=used_by(uses, of_server) if shared else None,
                generator_s=after.own_s - before.own_s + used_by(uses, own - {os.getpid()}),
                others_seen_s=sum(use.own_s for use in others),
                kernel_threads_s=kernel_threads_s(uses, cpus),
                paused_s=paused_s,
            ),
            named(others, length_s),
        )


def work_of(plan: object) -> Mapping[str, str]:
    """Return what names the server of a plan: the URL of a database, the address of a web server.

    Over QUIC the port is one of UDP, which another program than that of TCP may have.
    """
    way = getattr(getattr(plan, "load", None), "way", None)
    network = {"network": UDP} if getattr(way, "is_over_quic", False) else {}
    for name in ("url", "address"):
        if isinstance(found := getattr(plan, name, None), str):
            return {name: found, **network}
    return {}


def _server_here(work: Mapping[str, str], table: ProcessTable) -> _ServerHere | None:
    """Return the server's processes on this machine; ``None`` where they cannot be found."""
    places = named_ports(work) if work else []
    if not places:
        return None
    ports = {port for host, port in places if _is_here(host)}
    if not ports:
        return _ServerHere(frozenset(), frozenset())
    over_udp = work.get("network") == UDP
    inodes = set[int]().union(*(listening_sockets(port, over_udp=over_udp) for port in ports))
    holders = _holders(inodes, table)
    if not holders:
        return None
    _, pids = _families(table, holders)
    cpus = frozenset[int]().union(*map(_affinity, pids))
    return _ServerHere(frozenset(pids), cpus) if cpus else None


def _families(table: ProcessTable, server: Collection[int]) -> tuple[set[int], set[int]]:
    """Return the processes of the load and of the server; either may have started the other."""
    own, of_server = own_family(table), table.with_descendants(server)
    return (own, of_server - own) if os.getpid() in of_server else (own - of_server, of_server)


def _is_here(host: str) -> bool:
    """Say whether an address is one of this machine's: only to such a one a socket can be bound."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as bound:
                bound.bind(address)
        except OSError:
            continue
        return True
    return False


def _holders(inodes: set[int], table: ProcessTable) -> set[int]:
    """Return the processes that have one of these sockets open; no process if any is a forwarder."""
    deadline_s = time.monotonic() + LOOK_MAX_S
    found = set()
    # What was started last is the likeliest, and the first to be looked at.
    for one in sorted(table.processes.values(), key=lambda one: -one.identity[1]):
        if one.is_of_kernel or one.pid == os.getpid():
            continue
        if time.monotonic() > deadline_s:
            break
        if not inodes.isdisjoint(held_sockets(ProcessIdentity(*one.identity)) or ()):
            if one.name in FORWARDERS:
                return set()
            found.add(one.pid)
    return found


def _affinity(pid: int) -> set[int]:
    try:
        return os.sched_getaffinity(pid)
    except OSError:
        return set()
