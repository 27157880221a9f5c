"""A control group for each server, in which the kernel adds up the processor time of all its processes.

A sum over processes alone may miss some: where a process ignores SIGCHLD, the kernel forgets the times of its
children that end. The group limits nothing. Only version 2 of control groups is used, and only where this
process may make a group within its own, as root may, and the user of a desktop session.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from loadcurve.host.cgroups import remove_groups, unified_group
from loadcurve.server.processes import PROC

MEMBERS_FILE = "cgroup.procs"


def group_parent() -> Path | None:
    """Return the folder of this process's own group; ``None`` where no group can be made in it."""
    own = unified_group()
    can_be_used = own is not None and os.access(own, os.W_OK) and os.access(own / MEMBERS_FILE, os.W_OK)
    return own if can_be_used else None


@contextmanager
def born_in_group(group: Path | None) -> Iterator[None]:
    """Make a group and let all that is started within the block be born in it, where that is possible.

    This process itself moves there and back, so that no child can come before it is in the group.

    Raises ``OSError``: this process cannot move back.
    """
    if group is None or not _move_into_new(group):
        yield
        return
    try:
        yield
    finally:
        _move_into(group.parent)


def group_of_its_own(pid: int) -> Path | None:
    """Return the group of a process that was started here, where it does not hold this process, too."""
    group, own = unified_group(PROC / str(pid)), unified_group()
    holds_both = group is not None and own is not None and own.is_relative_to(group)
    return None if holds_both else group


def members_of_groups(groups: Collection[Path]) -> set[int]:
    """Return the ids of all processes in groups, each of which may have been removed."""
    members: set[int] = set()
    for group in groups:
        with suppress(OSError):
            members.update(map(int, (group / MEMBERS_FILE).read_text(encoding="ascii").split()))
    return members


def _move_into_new(group: Path) -> bool:
    """Make a group and move this process into it; say whether that was possible."""
    try:
        group.mkdir()
    except OSError:
        return False
    try:
        _move_into(group)
    except OSError:
        remove_groups([group])
        return False
    return True


def _move_into(group: Path) -> None:
    # Zero stands for the process that writes.
    (group / MEMBERS_FILE).write_text("0", encoding="ascii")
