"""Processes of a server that leave it: they become children of this process instead of the machine's first.

A server may start a daemon that leaves its session, its folder and its environment behind. Where there is no
control group to know it by, the kernel can still hand over to this process whatever below it loses its
parent (``PR_SET_CHILD_SUBREAPER``, see prctl(2)).
"""

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Callable
from typing import AnyStr

from loadcurve.server.processes import PROC, ProcessIdentity, read_status, running_processes

PR_SET_CHILD_SUBREAPER = 36

_own_children: set[ProcessIdentity] = set()
_changing = threading.Lock()


def start_own(start: Callable[[], subprocess.Popen[AnyStr]]) -> subprocess.Popen[AnyStr]:
    """Start a child in a session apart, which is no server's, whoever looks for those meanwhile.

    Raises what ``start`` raises.
    """
    with _changing:
        process = start()
        if (status := read_status(process.pid)) is not None:
            _own_children.add(status.identity)
    return process


def adopt_orphans(*, adopts: bool) -> None:
    """Take in, or no longer, what below this process loses its parent; without Linux nothing happens."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(adopts), 0, 0, 0)


def adopted_since(leader: ProcessIdentity) -> list[ProcessIdentity]:
    """Return the children that came to this process from a server; those that have ended are reaped.

    ``leader`` is the server's main process. A child of this process itself, as that is, is in the session of
    this process, or was started by :func:`start_own`.
    """
    with _changing:
        statuses = [
            status
            for pid in _children()
            if (status := read_status(pid)) is not None and status.identity not in _own_children
        ]
    session = os.getsid(0)
    adopted = []
    for status in statuses:
        if status.session == session or status.has_terminal:
            continue
        if status.parent != os.getpid() or _began(status.identity) < _began(leader):
            continue
        if status.ended:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(status.identity.pid, os.WNOHANG)
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
