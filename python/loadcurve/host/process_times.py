"""What every process has used of this machine's CPUs: two readings give who used them between."""

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

PROC: Final = Path("/proc")
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
KERNEL_THREADS_PARENT: Final = 2
"""The process that starts the kernel's own threads, ``kthreadd``."""

Identity = tuple[int, int]
"""A process: its id, which the kernel uses again, and when it was started, in ticks since the machine was."""


@dataclass(frozen=True, slots=True)
class ProcessTime:
    """One process, and what it has used."""

    identity: Identity
    parent: int
    session: int
    name: str
    """By which the kernel knows its program: the first 15 bytes."""
    own_s: float
    """Of all of its threads."""
    reaped_s: float
    """Of its children that have ended."""
    cpu: int
    """Where it ran last."""

    @property
    def pid(self) -> int:
        """Its id."""
        return self.identity[0]

    @property
    def is_of_kernel(self) -> bool:
        """Whether it is a thread of the kernel, which works for whatever program asked for something."""
        return KERNEL_THREADS_PARENT in (self.parent, self.pid)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a line of ``/proc/PID/stat``, see proc(5); raises ``ValueError`` for any other text."""
        # The name, in parentheses, may itself hold spaces and parentheses.
        begin, end = text.index("("), text.rindex(")")
        fields = text[end + 1 :].split()
        if len(fields) <= 36:  # noqa: PLR2004 -- the place of the last field that is read
            raise ValueError(f"a line of {len(fields)} fields")
        user, system, reaped_user, reaped_system = map(int, fields[11:15])
        return cls(
            identity=(int(text[:begin]), int(fields[19])),
            parent=int(fields[1]),
            session=int(fields[3]),
            name=text[begin + 1 : end],
            own_s=(user + system) / TICKS_PER_S,
            reaped_s=(reaped_user + reaped_system) / TICKS_PER_S,
            cpu=int(fields[36]),
        )


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What a process used between two readings."""

    process: ProcessTime
    """As it was last."""
    own_s: float
    with_reaped_s: float
    """With its children that ended meanwhile."""


@dataclass(frozen=True)
class ProcessTable:
    """All processes that can be seen from here at one moment; those of other containers may not be."""

    processes: dict[Identity, ProcessTime]

    @classmethod
    def now(cls, proc: Path = PROC) -> Self:
        """Read it: some 20 µs for each process."""
        return cls({one.identity: one for one in _read(proc)})

    def since(self, earlier: Self) -> list[ProcessUse]:
        """Return what each process that lives now has used since, one that is new since its start."""
        return [_use(one, earlier.processes.get(identity)) for identity, one in self.processes.items()]

    def with_descendants(self, pids: Iterable[int]) -> set[int]:
        """Return the ids of processes and of all that they have started, as far as the kernel knows it."""
        children: dict[int, list[int]] = {}
        for one in self.processes.values():
            children.setdefault(one.parent, []).append(one.pid)
        found: set[int] = set()
        left = list(pids)
        while left:
            pid = left.pop()
            if pid not in found:
                found.add(pid)
                left += children.get(pid, [])
        return found


def used_by(uses: Collection[ProcessUse], pids: Collection[int]) -> float:
    """Return what these processes used, with those of their children that have ended meanwhile, in s."""
    return sum(use.with_reaped_s for use in uses if use.process.pid in pids)


def threads_of(pid: int, proc: Path = PROC) -> ProcessTable:
    """Return the threads of a process, each as a process; an empty table if it has ended."""
    return ProcessTable.now(proc / str(pid) / "task")


def _read(proc: Path) -> Iterator[ProcessTime]:
    try:
        with os.scandir(proc) as entries:
            names = [entry.name for entry in entries if entry.name.isdecimal()]
    except OSError:
        return
    for name in names:
        try:
            with open(f"{proc}/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123 -- there may be thousands
                yield ProcessTime.read(file.read().decode(errors="replace"))
        except (OSError, ValueError):
            # It has ended.
            continue


def _use(now: ProcessTime, then: ProcessTime | None) -> ProcessUse:
    own_s = max(now.own_s - (then.own_s if then else 0.0), 0.0)
    reaped_s = max(now.reaped_s - (then.reaped_s if then else 0.0), 0.0)
    return ProcessUse(now, own_s, own_s + reaped_s)
