"""Dividing the machine's CPUs between the server and the load."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from loadcurve.errors import BadInput


@dataclass(frozen=True)
class CpuDivision:
    """The CPUs of each side, ascending."""

    server: tuple[int, ...]
    load: tuple[int, ...]
    spare: tuple[int, ...] = ()
    """Those of neither side; where the sides are two machines, of the server's."""
    apart: bool = False
    """Whether each side is a separate machine, and its CPUs are counted there."""

    @property
    def probe(self) -> tuple[int, ...]:
        """The CPUs of the probe, which runs where the server does.

        Spare ones, or else the load's, where disturbing shows in the lateness, or the server's, where the
        load has none.
        """
        return self.spare or (self.server if self.apart else self.load)

    @property
    def observers(self) -> tuple[int, ...]:
        """The CPUs of this machine for what is no part of the measurement."""
        return self.load if self.apart else self.probe

    @property
    def overlap(self) -> tuple[int, ...]:
        """The CPUs that both sides use, where load and server disturb each other."""
        return () if self.apart else tuple(cpu for cpu in self.server if cpu in self.load)

    def with_server(self, cpus: Collection[int]) -> "CpuDivision":
        """Return the division for a server that is bound to other CPUs, under the same load."""
        spare = tuple(cpu for cpu in self.spare if cpu not in cpus)
        return CpuDivision(tuple(sorted(cpus)), self.load, spare, self.apart)


def cpus_apart(
    server: Sequence[int] | None,
    load: Sequence[int] | None,
    of_server: Collection[int],
    available: Collection[int] | None = None,
) -> CpuDivision:
    """Return which CPUs serve on a machine that has ``of_server``, and which load on this one.

    A side that is not given gets all CPUs of its machine.

    Raises ``UnusableCpu``: a CPU is given that the machine does not have, or this process may not use.
    """
    usable = sorted(os.sched_getaffinity(0) if available is None else available)
    require_usable("server_cpus", server or (), of_server)
    require_usable("load_cpus", load or (), usable)
    serving = tuple(sorted(of_server if server is None else server))
    spare = tuple(cpu for cpu in sorted(of_server) if cpu not in serving)
    return CpuDivision(serving, tuple(sorted(usable if load is None else load)), spare, apart=True)


def divide_cpus(
    server: Sequence[int] | None, load: Sequence[int] | None, available: Collection[int] | None = None
) -> CpuDivision:
    """Return which CPUs serve and which load, out of those that this process may use.

    A side that is not given gets the CPUs that the other leaves; when neither is given, each gets half, the
    load the larger one. A machine of one CPU serves both.

    Raises ``UnusableCpu``: a CPU is given that this process may not use.
    """
    usable = sorted(os.sched_getaffinity(0) if available is None else available)
    for name, cpus in (("server_cpus", server), ("load_cpus", load)):
        require_usable(name, cpus or (), usable)
    if server is None and load is None:
        half = len(usable) // 2
        server, load = (usable[:half], usable[half:]) if half else (usable, usable)
    elif server is None:
        server = [cpu for cpu in usable if cpu not in (load or ())] or usable
    elif load is None:
        load = [cpu for cpu in usable if cpu not in server] or usable
    load = load or ()
    spare = [cpu for cpu in usable if cpu not in server and cpu not in load]
    return CpuDivision(tuple(sorted(server)), tuple(sorted(load)), tuple(spare))


def require_usable(key: str, cpus: Collection[int], available: Collection[int] | None = None) -> None:
    """Raise ``UnusableCpu`` where ``key`` names a CPU that this process may not use."""
    usable = sorted(os.sched_getaffinity(0) if available is None else available)
    missing = [cpu for cpu in cpus if cpu not in usable]
    if missing:
        expected = ", ".join(map(str, usable))
        raise UnusableCpu(key, f"found {missing[0]}; expected CPUs that this process may use: {expected}")


class UnusableCpu(BadInput):
    """A CPU is given that this process may not use; ``key`` is where, such as ``server_cpus``."""

    def __init__(self, key: str, text: str) -> None:
        """Make the error of one key."""
        super().__init__(text)
        self.key = key


@contextmanager
def own_threads_on(cpus: Collection[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts, on these CPUs for the length of a block.

    The harness belongs to the load's side: what its display costs must not fall on the server's CPUs.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
