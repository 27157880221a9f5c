"""Processes of a server that leave it: they become children of this process instead of the machine's first.

A server may start a daemon that leaves its session, its folder and its environment behind. Where there is no
control group to know it by, the kernel can still hand over to this process whatever below it loses its
parent (``PR_SET_CHILD_SUBREAPER``, see prctl(2)).
"""

import contextlib
import ctypes
import os

from loadcurve.server.processes import PROC, ProcessIdentity, read_status, running_processes

PR_SET_CHILD_SUBREAPER = 36

own_children: set[int] = set()
"""Children that this process itself has started in sessions of their own, beside a server."""


def adopt_orphans(*, adopts: bool) -> None:
    """Take in, or no longer, what below this process loses its parent; without Linux nothing happens."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)


def adopted_since(leader: ProcessIdentity) -> list[ProcessIdentity]:
    """Return the children that came to this process from a server; those that have ended are reaped.

    ``leader`` is the server's main process. A child of this process itself is in the session of this
    process, or among :data:`own_children`.
    """
    session = os.getsid(0)
    adopted = []
    for pid in _children():
        status = None if pid in own_children or pid == leader.pid else read_status(pid)
        if status is None or status.session == session or status.has_terminal:
            continue
        if status.parent != os.getpid() or _began(status.identity) < _began(leader):
            continue
        if status.ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        else:
            adopted.append(status.identity)
    return adopted


def _began(process: ProcessIdentity) -> tuple[int, int]:
    """Return what puts processes in the order of their starts: within one tick ids rise."""
    return process.start_ticks, process.pid


def strays_below(leader: ProcessIdentity) -> list[ProcessIdentity]:
    """Return the processes below a server's main process that have left its session; looks at all there are.

    They are children of no one here yet, and nothing may show whose they are once their parents have ended.
    """
    below = {leader.pid}
    strays = []
    processes = list(running_processes())
    while new := [one for one in processes if one.parent in below and one.identity.pid not in below]:
        below |= {one.identity.pid for one in new}
        strays += [one.identity for one in new if one.session != leader.pid]
    return strays


def _children() -> list[int]:
    """Return the ids of the children of this process that its main thread has, which adopts orphans."""
    try:
        file = PROC / "self" / "task" / str(os.getpid()) / "children"
        return [int(word) for word in file.read_text(encoding="ascii").split()]
    except FileNotFoundError:
        # A kernel without CONFIG_PROC_CHILDREN.
        return [one.identity.pid for one in running_processes() if one.parent == os.getpid()]
