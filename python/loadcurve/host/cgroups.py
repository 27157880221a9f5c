"""Control groups: holding a server to a share of this machine, and learning what that did to it.

Both versions of the kernel's interface are known (cgroups(7)): version 2 has one tree for all controllers,
version 1 a tree for each.
"""

import contextlib
import errno
import os
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadcurve.errors import NothingMeasured
from loadcurve.host.credits import Burst
from loadcurve.result.records import LimitUse

PERIOD_US = 100_000
"""The length of time within which a share of the CPUs is counted; the kernel's default."""
MIN_QUOTA_US = 1_000
"""The least processor time in a period that the kernel takes."""

REMOVE_TIMEOUT_S = 5.0
POLL_S = 0.01

Controller = Literal["cpu", "memory"]


@dataclass(frozen=True)
class Limits:
    """How much of the machine a server may use; ``None`` leaves a resource unlimited."""

    cpus: float | None = None
    """Processor seconds in each second: 1.0 is as much as one CPU gives, on whichever CPUs it is used."""
    memory_bytes: int | None = None
    """Memory of all processes together, page cache included. Swap is not used beyond it."""
    burst: Burst | None = None
    """What of ``cpus`` remains when credits are used up; whoever starts a server imitates it over time."""
    period_us: int = PERIOD_US
    """Within which ``cpus`` is counted; a server that has used its share waits for the next one."""

    @property
    def controllers(self) -> list[Controller]:
        """The controllers that these limits need."""
        limited: dict[Controller, float | None] = {"cpu": self.cpus, "memory": self.memory_bytes}
        return [controller for controller, limit in limited.items() if limit is not None]


NO_LIMITS = Limits()


class LimitsUnavailable(NothingMeasured):
    """The limits that were asked for cannot be set here; nothing is measured without them."""


@dataclass(frozen=True)
class Tree:
    """The folder under which groups are made for some controllers."""

    version: Literal[1, 2]
    folder: Path


class ControlGroup:
    """A group of processes that is held to limits: planned, made, and at the end removed."""

    def __init__(self, limits: Limits, places: dict[Controller, Tree]) -> None:
        """Plan a group with these folders, one for each limited controller; nothing exists yet."""
        self._limits = limits
        self._places = places

    @classmethod
    def planned(
        cls, name: str, limits: Limits, trees: dict[Controller, Tree] | None = None
    ) -> "ControlGroup":
        """Return a group that :meth:`make` makes; by default in the trees of this machine.

        Raises ``LimitsUnavailable``: no group here can have such a controller.
        """
        if not limits.controllers:
            return cls(limits, {})
        trees = control_group_trees() if trees is None else trees
        places: dict[Controller, Tree] = {}
        for controller in limits.controllers:
            if controller not in trees:
                raise LimitsUnavailable(
                    f"the limit of {_RESOURCES[controller]} cannot be set: no control group with the "
                    f"controller {controller} can be made here. Remove the limit, or use another machine."
                )
            tree = trees[controller]
            places[controller] = Tree(tree.version, tree.folder / name)
        return cls(limits, places)

    @classmethod
    def that_holds(cls, proc: Path, limits: Limits, own: Path = Path("/proc/self")) -> "ControlGroup":
        """Return the group in which another program has put a process, whose folder is ``/proc/PID``.

        ``own`` is the folder of a process that sees the machine's groups, as one in a container may not.

        Raises ``LimitsUnavailable``: the kernel does not hold the process to a limit.
        """
        places: dict[Controller, Tree] = {}
        for controller in limits.controllers:
            groups = _groups_above(proc, controller, own)
            place = next((group for group in groups if _holds(group, controller, limits)), None)
            if place is None:
                raise LimitsUnavailable(f"the limit of {_RESOURCES[controller]} is not in effect")
            places[controller] = place
        return cls(limits, places)

    def make(self) -> None:
        """Make the group, empty, with its limits.

        Raises ``LimitsUnavailable``: this user may not; nothing is left of the group.
        """
        try:
            for folder in self.folders:
                folder.mkdir()
            self._set_limits()
        except OSError as error:
            self.remove()
            raise LimitsUnavailable(
                f"the limits cannot be set: {error.filename}: {error.strerror}. Run as root, or inside a "
                "control group that is delegated to you (systemd-run --user --scope -p Delegate=yes …), "
                "or remove the limits."
            ) from None

    @property
    def folders(self) -> list[Path]:
        """Every folder of the group."""
        return list(dict.fromkeys(place.folder for place in self._places.values()))

    def entering(self) -> tuple[str, ...]:
        """Return the words before a command that put it into the group before it begins."""
        if not self._places:
            return ()
        files = [str(folder / "cgroup.procs") for folder in self.folders]
        script = 'until [ "$1" = -- ]; do echo $$ > "$1" || exit 126; shift; done; shift; exec "$@"'
        return ("sh", "-c", script, "sh", *files, "--")

    def set_cpus(self, cpus: float) -> None:
        """Change the limit of CPUs of a group that has been made with one.

        Raises ``OSError``: it cannot be written.
        """
        _limit_cpus(self._places["cpu"], cpus, self._limits.period_us)

    def use(self) -> LimitUse | None:
        """Read what the limit of memory has done so far; ``None`` where there is none."""
        memory = self._places.get("memory")
        if memory is None:
            return None
        events, peak = _MEMORY_FILES[memory.version]
        return LimitUse(
            oom_kills=_named_numbers(memory.folder / events).get("oom_kill"),
            memory_peak_bytes=_number(memory.folder / peak),
        )

    def remove(self) -> None:
        """Remove the group, whose processes must have ended; one that was never made is no error."""
        remove_groups(self.folders)

    def _set_limits(self) -> None:
        for controller, place in self._places.items():
            if controller == "cpu" and self._limits.cpus is not None:
                _limit_cpus(place, self._limits.cpus, self._limits.period_us)
            if controller == "memory" and self._limits.memory_bytes is not None:
                _limit_memory(place, self._limits.memory_bytes)


_CONTROLLERS: tuple[Controller, ...] = ("cpu", "memory")
_RESOURCES: dict[Controller, str] = {"cpu": "CPUs", "memory": "memory"}
_MEMORY_FILES = {
    1: ("memory.oom_control", "memory.max_usage_in_bytes"),
    2: ("memory.events", "memory.peak"),
}
"""Where each version reports the kills and the peak."""


def remove_groups(folders: Collection[Path]) -> None:
    """Remove the folders of control groups; the kernel needs a moment after the last process has ended."""
    deadline = time.monotonic() + REMOVE_TIMEOUT_S
    for folder in folders:
        while not _is_removed(folder) and time.monotonic() <= deadline:
            time.sleep(POLL_S)


def _is_removed(folder: Path) -> bool:
    """Remove a folder, and say whether it is gone; one that never was may be refused for other reasons."""
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def control_group_trees(proc: Path = Path("/proc/self")) -> dict[Controller, Tree]:
    """Find under which folder groups are to be made, for each controller that they can have here.

    Where this process may make none, it is one in which the system refuses them.
    """
    own = dict(_own_groups(proc))
    trees: dict[Controller, Tree] = {}
    for mount_point, kind, options in _mounts(proc):
        if kind == "cgroup2":
            trees |= _unified_trees(mount_point, own.get("", "/"))
        for controller in _CONTROLLERS:
            if kind == "cgroup" and controller in options:
                folder = _inside(mount_point, own.get(controller, "/"))
                trees[controller] = Tree(1, folder)
    return trees


def unified_group(proc: Path = Path("/proc/self")) -> Path | None:
    """Return the folder of a process's group of version 2; ``None`` where this machine does not show one."""
    group = dict(_own_groups(proc)).get("")
    mount_point = _unified_mount()
    return None if group is None or mount_point is None else _inside(mount_point, group)


def unified_folder(group: str) -> Path | None:
    """Return the folder of a group of version 2 by its path; ``None`` where this machine does not show it."""
    mount_point = _unified_mount()
    folder = None if mount_point is None else mount_point / group.lstrip("/")
    return folder if folder is not None and folder != mount_point and folder.is_dir() else None


def _unified_mount() -> Path | None:
    return next((place for place, kind, _ in _mounts(Path("/proc/self")) if kind == "cgroup2"), None)


def used_cpu_s(folders: Iterable[Path]) -> float:
    """Return the processor seconds that a group of version 2 has used, of the first folder that counts them.

    Raises ``OSError``: none of them does.
    """
    for folder in folders:
        used_us = _named_numbers(folder / "cpu.stat").get("usage_usec")
        if used_us is not None:
            return used_us / 1e6
    raise OSError(errno.ENOENT, "no control group of version 2 counts its CPU time")


def groups_around(proc: Path = Path("/proc/self")) -> list[Path]:
    """Return the folders of the groups that can limit a process's processor time, the nearest first."""
    return [place.folder for place in _groups_above(proc, "cpu", proc)]


def _groups_above(proc: Path, controller: Controller, own: Path) -> Iterator[Tree]:
    """Yield the group of a process that has a controller, and the groups around it, the nearest first."""
    groups = dict(_own_groups(proc))
    for mount_point, kind, options in _mounts(own):
        version: Literal[1, 2] = 2 if kind == "cgroup2" else 1
        group = groups.get("" if version == 2 else controller)  # noqa: PLR2004 -- the name of the version
        if group is None or (version == 1 and controller not in options):
            continue
        folder = mount_point / group.lstrip("/")
        for place in (folder, *folder.parents):
            if place.is_relative_to(mount_point):
                yield Tree(version, place)


def _holds(place: Tree, controller: Controller, limits: Limits) -> bool:
    """Say whether a group's own limit is the one that was asked for, or less."""
    if controller == "cpu":
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if place.version == 1 else ("cpu.max",)
        words = [word for name in names for word in _words(place.folder / name)]
        quota_us, period_us = (words[0], words[1]) if len(words) == 2 else ("max", "")  # noqa: PLR2004
        # The quota is a whole number of microseconds, and not the same one for every engine.
        most_us = (limits.cpus or 0.0) * float(period_us or 0) + 1
        return quota_us.isdecimal() and int(quota_us) <= most_us
    limit = _number(place.folder / ("memory.limit_in_bytes" if place.version == 1 else "memory.max"))
    return limit is not None and limit <= (limits.memory_bytes or 0)


def _unified_trees(mount_point: Path, own: str) -> dict[Controller, Tree]:
    """Return the tree of each controller of version 2: the same one for all that this process may use.

    A group that has processes cannot have limited children, so where groups can be made at all it is beside
    the group of this process, or at the root. A process is in one group of version 2 alone: limits in two
    folders would not hold together, so the folder with more of the controllers is taken.
    """
    own_folder = _inside(mount_point, own)
    candidates = [own_folder.parent] if own_folder != mount_point else []
    writable = [folder for folder in (*candidates, mount_point) if os.access(folder, os.W_OK)]
    at_root = _trees_below(mount_point)
    # Of equals the first one, which is the nearest. Where none may be written, making a group says why.
    return at_root | max(map(_trees_below, writable), key=len, default=at_root)


def _trees_below(folder: Path) -> dict[Controller, Tree]:
    """Return a folder of version 2 as the tree of each controller that groups in it have."""
    enabled = _words(folder / "cgroup.subtree_control")
    return {controller: Tree(2, folder) for controller in _CONTROLLERS if controller in enabled}


def _inside(mount_point: Path, group: str) -> Path:
    """Return the folder of a group, or the mount point where a container hides it."""
    folder = mount_point / group.lstrip("/")
    return folder if folder.is_dir() else mount_point


def _own_groups(proc: Path) -> Iterator[tuple[str, str]]:
    """Each controller with the group of this process; version 2 has no controller's name."""
    for line in _lines(proc / "cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        for controller in controllers.split(","):
            yield controller, group


def _mounts(proc: Path) -> Iterator[tuple[Path, str, list[str]]]:
    """Each mounted tree of control groups: where, of which type, and its options."""
    for line in _lines(proc / "mountinfo"):
        place, separator, source = line.partition(" - ")
        if separator:
            kind, _, options = source.split(" ", 2)
            if kind in {"cgroup", "cgroup2"}:
                yield Path(place.split()[4]), kind, options.split(",")


def quota_and_period_us(cpus: float, period_us: int) -> tuple[int, int]:
    """Return the processor time in each period, and the period: longer, where that would be too little."""
    quota_us = round(cpus * period_us)
    return (quota_us, period_us) if quota_us >= MIN_QUOTA_US else (MIN_QUOTA_US, round(MIN_QUOTA_US / cpus))


def _limit_cpus(place: Tree, cpus: float, shortest_period_us: int) -> None:
    quota_us, period_us = quota_and_period_us(cpus, shortest_period_us)
    if place.version == 1:
        _write(place.folder / "cpu.cfs_period_us", period_us)
        _write(place.folder / "cpu.cfs_quota_us", quota_us)
    else:
        _write(place.folder / "cpu.max", f"{quota_us} {period_us}")


def _limit_memory(place: Tree, memory_bytes: int) -> None:
    limit, with_swap, swap_bytes = (
        ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", memory_bytes)
        if place.version == 1
        else ("memory.max", "memory.swap.max", 0)
    )
    _write(place.folder / limit, memory_bytes)
    # A kernel that does not account for swap has no such file, and then nothing to limit.
    with contextlib.suppress(FileNotFoundError):
        _write(place.folder / with_swap, swap_bytes)


def _write(file: Path, value: object) -> None:
    # The kernel's files are there already: one that is not must not be made.
    descriptor = os.open(file, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    except OSError as error:
        error.filename = str(file)
        raise
    finally:
        os.close(descriptor)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _words(file: Path) -> list[str]:
    return " ".join(_lines(file)).split()


def _number(file: Path) -> int | None:
    words = _words(file)
    return int(words[0]) if words and words[0].isdecimal() else None


def _named_numbers(file: Path) -> dict[str, int]:
    """Read a file of lines with a name and a whole number."""
    pairs = [line.split() for line in _lines(file)]
    return {name: int(number) for name, number in (pair for pair in pairs if len(pair) == 2)}  # noqa: PLR2004 -- as said
