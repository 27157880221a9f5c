"""The processes of a server that runs already: those that a study names, or that listen where it is."""

import os
import pwd
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from loadcurve.host.process_times import ProcessTable, ProcessTime
from loadcurve.server.container.engine import Engine, first_process_of
from loadcurve.server.group import group_of_its_own, members_of_groups
from loadcurve.server.listeners import FORWARDERS, Place, holders_of
from loadcurve.server.processes import (
    PROC,
    Listener,
    ProcessIdentity,
    held_sockets,
    is_running,
    listeners,
    read_status,
)
from loadcurve.server.settings import UnusableSetting
from loadcurve.server.unit import processes_of_unit, unit_of

INIT_PID = 1
RESERVES_FOR_PODMAN = "conmon"
"""It has started the container, and holds the socket of a port that the kernel passes on."""


@dataclass(frozen=True)
class ByPid:
    """A process by its id, with all that it has started and starts."""

    pid: int


@dataclass(frozen=True)
class ByUnit:
    """A unit of systemd by its name."""

    name: str


@dataclass(frozen=True)
class ByContainer:
    """A container by its name or id, of whichever engine knows it."""

    name: str


Named = ByPid | ByUnit | ByContainer
"""By what a study names the processes of a server that runs already."""


@dataclass(frozen=True)
class SeenProcesses:
    """The processes of a server that runs already, which the probe can follow."""

    text: str
    """Which they are, in words."""
    roots: tuple[ProcessIdentity, ...]
    """Those whose descendants the others are; the first is the main one."""
    group: Path | None = None
    """The control group of version 2 that holds them and nothing else, where there is one."""
    missing: tuple[str, ...] = ()
    """What of them cannot be seen, and why."""
    on_this_network: bool = field(default=True)
    """Whether their sockets are among those of this machine."""

    @property
    def cpus(self) -> frozenset[int]:
        """The CPUs on which they may run."""
        pids = members_of_groups([self.group]) if self.group else _family(self.roots)
        found: set[int] = set()
        for pid in pids:
            with suppress(OSError):
                found |= os.sched_getaffinity(pid)
        return frozenset(found)

    @property
    def program(self) -> Path | None:
        """The file that the main process executes, by its path there; ``None`` where that may not be read."""
        try:
            return (PROC / str(self.roots[0].pid) / "exe").readlink()
        except OSError:
            return None

    @property
    def ended(self) -> list[ProcessIdentity]:
        """The roots that do not run any more; of a control group none, which is followed as a whole."""
        return [] if self.group is not None else [root for root in self.roots if not is_running(root)]

    def ports(self, *, over_udp: bool = False) -> list[int]:
        """Return the ports of this network on which they listen, of TCP or of UDP."""
        return _ports(_family(self.roots), listeners(over_udp=over_udp))


@dataclass(frozen=True)
class UnseenProcesses:
    """The processes of a server that runs already cannot be seen."""

    reason: str
    """Why, as the end of a sentence."""


class _UnseenError(Exception):
    """The processes of a server cannot be seen; the text says why, as the end of a sentence."""


def processes_of(named: Sequence[Named], place: Place | None) -> SeenProcesses | UnseenProcesses:
    """Return the processes of a server that is reached at ``place``; where none are named, those that listen.

    Of several that are named, one at least has to listen there: the others work behind it.

    Raises ``UnusableSetting``: what is named is not there, or is not the server's.
    """
    try:
        if not named:
            return _of_place(place)
        seen = [_of_named(one) for one in named]
    except _UnseenError as unseen:
        return UnseenProcesses(str(unseen))
    if place is not None and any(one.on_this_network for one in seen):
        if not place.is_here:
            text = f"not used: the server is reached at {place.address}, which is no address of this machine"
            raise UnusableSetting(key_of(named[0]), text)
        if all(
            one.on_this_network and not isinstance(by, ByContainer)
            for by, one in zip(named, seen, strict=True)
        ):
            _require_owner(named, seen, place)
    return _together(seen)


def _of_named(named: Named) -> SeenProcesses:
    match named:
        case ByPid(pid):
            return _of_pid(pid)
        case ByUnit(name):
            return _of_unit(name)
        case ByContainer(name):
            return _of_container(name)
        case _:
            assert_never(named)


def _together(seen: Sequence[SeenProcesses]) -> SeenProcesses:
    """Return the processes of all that is named; those that two names have in common are there once."""
    first, *others = seen
    if not others:
        return first
    return SeenProcesses(
        text="; ".join(one.text for one in seen),
        roots=tuple(dict.fromkeys(root for one in seen for root in one.roots)),
        # A group of one of them would leave out the others.
        group=None,
        missing=tuple(dict.fromkeys(text for one in seen for text in one.missing)),
        on_this_network=any(one.on_this_network for one in seen),
    )


def key_of(named: Named) -> str:
    """Return the key of a study by which processes are named so."""
    return {ByPid: "pid", ByUnit: "unit", ByContainer: "container"}[type(named)]


def _of_place(place: Place | None) -> SeenProcesses:
    """Return the processes that listen where the server is reached."""
    if place is None:
        raise _UnseenError("its URL names no single address and port; name them with pid, unit or container")
    sockets = _sockets_at(place)
    table = ProcessTable.now()
    holders = holders_of(sockets, table)
    if not holders.found:
        raise _UnseenError(_why_nobody_is_found(place, sockets, are_all_read=not holders.unread))
    forwarders = FORWARDERS | {RESERVES_FOR_PODMAN}
    if forwarder := next((one for one in holders.found if one.name in forwarders), None):
        raise _UnseenError(
            f"{_named(forwarder)} listens on {place.port_in_words}, and only passes connections on; name the "
            "server with container or pid"
        )
    roots = _roots(holders.found, table)
    if [one.pid for one in roots] == [INIT_PID] and roots[0].name == "systemd":
        raise _UnseenError(f"systemd itself listens on {place.port_in_words}; name the server with unit")
    if os.getpid() in table.with_descendants(one.pid for one in roots):
        raise _UnseenError(
            f"{_named(roots[0])} listens on {place.port_in_words} and has started this command, whose own "
            "use would be its, too"
        )
    return _seen(roots, f"which listens on {place.port_in_words}", table)


def _sockets_at(place: Place) -> list[Listener]:
    """Return the sockets that accept the load's connections; raises _UnseenError where none here does."""
    if not place.is_here:
        raise _UnseenError(f"it is reached at {place.address}, which is no address of this machine")
    if sockets := place.listeners():
        return sockets
    raise _UnseenError(
        f"no socket of this machine listens on {place.port_in_words}: its connections are passed on, as into "
        "the network of a container; name them with container or pid"
    )


def _why_nobody_is_found(place: Place, sockets: Collection[Listener], *, are_all_read: bool) -> str:
    owner = _user(next(iter(sockets)).user)
    if are_all_read:
        return (
            f"{place.port_in_words} is that of a process that cannot be seen here, such as one of a container"
        )
    return (
        f"{place.port_in_words} is that of a process of the user {owner}, and this user may not see which: "
        f"name it with pid or unit, or {_to_see_all()}"
    )


def _roots(holders: Iterable[ProcessTime], table: ProcessTable) -> list[ProcessTime]:
    """Return the holders of a socket that no other one has started, or the program that has started them all.

    The first process of a machine, which may have opened the socket for a service, is none beside others.
    """
    found = list(holders)
    if len(found) > 1:
        found = [one for one in found if one.pid != INIT_PID]
    pids = {one.pid for one in found}
    below = [one for one in found if pids.isdisjoint(_ancestors(one, table))]
    parents = {one.parent for one in below}
    parent = _by_pid(table).get(min(parents)) if len(parents) == 1 and len(below) > 1 else None
    is_theirs = (
        parent is not None
        and parent.pid != INIT_PID
        and _executable(parent.pid) in set(map(_executable, pids)) - {None}
    )
    return [parent] if parent is not None and is_theirs else sorted(below, key=lambda one: one.identity[::-1])


def _of_pid(pid: int) -> SeenProcesses:
    status = read_status(pid)
    table = ProcessTable.now()
    process = None if status is None or status.ended else _by_pid(table).get(pid)
    if process is None:
        raise UnusableSetting("pid", f"found {pid}; {_no_such_process(pid)}")
    if os.getpid() in table.with_descendants([pid]):
        text = (
            f"found {pid} ({process.name}), which has started this command; expected the server's main "
            "process"
        )
        raise UnusableSetting("pid", text)
    return _seen([process], "", table)


def _no_such_process(pid: int) -> str:
    with suppress(OSError, StopIteration, ValueError):
        lines = (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        leader = int(next(line for line in lines if line.startswith("Tgid:")).split()[1])
        if leader != pid:
            return f"that is a thread; expected the id of its process, {leader}"
    return "there is no such process here; expected the id of the server's main process"


def _require_owner(named: Sequence[Named], seen: Sequence[SeenProcesses], place: Place) -> None:
    """Raise UnusableSetting where others than these processes are known to listen where the server is."""
    table = ProcessTable.now()
    key, what = key_of(named[0]), ", ".join(_in_short(one, table) for one in named)
    pids = [root.pid for one in seen for root in one.roots]
    sockets = place.listeners()
    holders = holders_of(sockets, table)
    of_named = table.with_descendants(pids)
    outside = [one for one in holders.found if one.pid not in of_named and one.pid != INIT_PID]
    if not any(one.pid in of_named for one in holders.found):
        if not of_named.isdisjoint(holders.unread) or (not holders.found and holders.unread):
            # It may be one of those whose open files may not be read.
            return
        ports = _ports(of_named, listeners(over_udp=place.is_over_udp))
        instead = f", but on {_in_words(ports)}" if ports else ""
        do, also = ("do", " beside it") if len(named) > 1 else ("does", "")
        who = _expected(key, _roots(outside, table), also) if outside else "no process that can be seen does"
        raise UnusableSetting(
            key, f"found {what}, which {do} not listen on {place.port_in_words}{instead}: {who}"
        )
    of_roots = {one.parent for pid in pids if (one := _by_pid(table).get(pid))}
    parents = [one for one in outside if one.pid in of_roots]
    if key == "pid" and parents:
        text = (
            f"found {what}, one of several processes that {_named(parents[0])} has started to listen on "
            f"{place.port_in_words}; expected that one, pid = {parents[0].pid}, or no pid"
        )
        raise UnusableSetting("pid", text)


def _in_short(named: Named, table: ProcessTable) -> str:
    """Return what a study names, and for a process which one it is."""
    if not isinstance(named, ByPid):
        return f'"{named.name}"'
    process = _by_pid(table).get(named.pid)
    return f"{named.pid}" if process is None else f"{named.pid} ({process.name})"


def _expected(key: str, owners: Collection[ProcessTime], also: str) -> str:
    owner = next(iter(owners))
    unit = unit_of(owner.pid)
    instead = f'unit = "{unit}"' if key == "unit" and unit else f"pid = {owner.pid}"
    return f"{_named(owner)} does; expected {instead}{also}, or no {key}"


def _of_unit(name: str) -> SeenProcesses:
    unit = processes_of_unit(name)
    table = ProcessTable.now()
    known = _by_pid(table)
    pids = [pid for pid in unit.pids if pid in known]
    if not pids:
        raise UnusableSetting("unit", f'found "{name}", whose processes cannot be seen from here')
    if os.getpid() in pids:
        raise UnusableSetting("unit", f'found "{name}", to which this command itself belongs')
    below = [pid for pid in pids if set(pids).isdisjoint(_ancestors(known[pid], table))]
    roots = sorted((known[pid] for pid in below), key=lambda one: (one.pid != unit.main_pid, one.identity[1]))
    return _seen(roots, f"the unit {name}", table, group=unit.group, is_named=True)


def _of_container(name: str) -> SeenProcesses:
    engine, pid = first_process_of(name, [Engine("podman"), Engine("docker")])
    table = ProcessTable.now()
    first = _by_pid(table).get(pid)
    if first is None:
        raise _UnseenError(
            f"by {engine}, the first process of the container {name} is {pid}, which cannot be seen from "
            "here: it is on another machine, or outside this container"
        )
    group = group_of_its_own(pid)
    return _seen([first], f"the container {name}", table, group=group, is_named=True)


def _seen(
    roots: Collection[ProcessTime],
    which: str,
    table: ProcessTable,
    *,
    group: Path | None = None,
    is_named: bool = False,
) -> SeenProcesses:
    listed = list(roots)
    main = listed[0]
    pids = members_of_groups([group]) if group else table.with_descendants(one.pid for one in listed)
    if is_named:
        text = (
            f"{which} ({_named(main)} and {len(pids) - 1} more)"
            if len(pids) > 1
            else f"{which} ({_named(main)})"
        )
    else:
        others = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
        text = f"{_named(main)}{others}{', ' if which else ''}{which}, with all that it starts"
    return SeenProcesses(
        text=text,
        roots=tuple(ProcessIdentity(*one.identity) for one in listed),
        group=group,
        missing=tuple(_missing(pids)),
        on_this_network=_is_on_this_network(main.pid),
    )


def _missing(pids: Collection[int]) -> Iterator[str]:
    """Yield what cannot be seen of another user's processes."""
    table_status = [read_status(pid) for pid in pids]
    hidden = [one for one in table_status if one is not None and held_sockets(one.identity) is None]
    if hidden:
        with suppress(OSError):
            owner = _user((PROC / str(hidden[0].identity.pid)).stat().st_uid)
            yield (
                f"open files, proportional memory and disk reads of processes of the user {owner} may be "
                f"missing, as this user may not see them: {_to_see_all()}"
            )


def _is_on_this_network(pid: int) -> bool:
    try:
        return (PROC / str(pid) / "ns/net").readlink() == (PROC / "self/ns/net").readlink()
    except OSError:
        # Another user's, of which this is not known, is mostly on it.
        return True


def _ports(pids: Iterable[int], sockets: Iterable[Listener]) -> list[int]:
    ports = {one.inode: one.port for one in sockets}
    statuses = [status for pid in pids if (status := read_status(pid)) is not None]
    return sorted(
        {ports[held] for one in statuses for held in (held_sockets(one.identity) or set()) & ports.keys()}
    )


def _family(roots: Iterable[ProcessIdentity]) -> set[int]:
    return ProcessTable.now().with_descendants(root.pid for root in roots)


def _by_pid(table: ProcessTable) -> dict[int, ProcessTime]:
    return {one.pid: one for one in table.processes.values()}


def _ancestors(process: ProcessTime, table: ProcessTable) -> set[int]:
    by_pid, found = _by_pid(table), set[int]()
    parent = by_pid.get(process.parent)
    while parent is not None and parent.pid not in found:
        found.add(parent.pid)
        parent = by_pid.get(parent.parent)
    return found


def _executable(pid: int) -> Path | None:
    try:
        return (PROC / str(pid) / "exe").readlink()
    except OSError:
        return None


def _named(process: ProcessTime) -> str:
    return f"process {process.pid} ({process.name})"


def _to_see_all() -> str:
    """Say how to see the processes of every user."""
    return "run as root" if os.geteuid() else "run with the capability CAP_SYS_PTRACE"


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _in_words(ports: Collection[int]) -> str:
    return f"{'port' if len(ports) == 1 else 'ports'} {', '.join(map(str, ports))}"
