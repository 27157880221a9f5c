"""Starting a process in its own session, bound to CPUs, that does not outlive a killed parent."""

import functools
import math
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.server.adoption import start_own

POLL_S = 0.02


def spawn(
    argv: Sequence[str], folder: Path, log: Path, cpus: Collection[int] | None, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a process in a folder, its output going to a log file, and return it.

    The kernel ends it with SIGTERM when the *thread* that started it ends, so that thread must outlive it.

    Raises:
        BadInput: this process may not use one of the CPUs.
        OSError: the process cannot be started or the log not be written.

    """
    with bound_to(cpus), log.open("wb") as output:
        return start_own(
            lambda: subprocess.Popen(  # noqa: S603 -- the command is the catalogue's
                [*ends_with_parent(), *argv],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        )


def run_to_its_end(
    argv: Sequence[str],
    folder: Path,
    log: Path,
    *,
    cpus: Collection[int] | None,
    environment: Mapping[str, str],
    interrupted: Callable[[], bool],
    timeout_s: float = math.inf,
) -> int:
    """Start a process as :func:`spawn` does and return its status, negative where a signal ended it.

    It is killed, with what it has started, when an interrupt comes or its time is over.

    Raises:
        BadInput: this process may not use one of the CPUs.
        OSError: the process cannot be started or the log not be written.

    """
    process = spawn(argv, folder, log, cpus, environment)
    deadline = time.monotonic() + timeout_s
    while process.poll() is None and not interrupted() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


@contextmanager
def bound_to(cpus: Collection[int] | None) -> Iterator[None]:
    """Bind this thread, and so what it starts, to CPUs for the length of a block; ``None`` changes nothing.

    Raises ``BadInput``: this process may not use one of the CPUs.
    """
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        try:
            os.sched_setaffinity(0, cpus)
        except (OSError, ValueError):
            raise _unusable(cpus, before) from None
        # The kernel leaves out the CPUs that may not be used, without an error as long as one remains.
        if os.sched_getaffinity(0) != set(cpus):
            raise _unusable(cpus, before)
        yield
    finally:
        os.sched_setaffinity(0, before)


def ends_with_parent() -> tuple[str, ...]:
    """Return the words before a command that make it end with this process; none without such a setpriv.

    The kernel says nothing of a parent that has ended before it is asked to: that one is no longer the parent
    when the shell behind looks, which then ends by itself.
    """
    asking = setpriv("--pdeathsig", "TERM")
    if not asking:
        return ()
    script = '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"'
    return (*asking, "sh", "-c", script, "sh", str(os.getpid()))


@functools.cache
def setpriv(*options: str) -> tuple[str, ...]:
    """Return the words before a command that start it with these options of setpriv; none if that fails.

    The setpriv of busybox knows fewer options than that of util-linux.
    """
    program = shutil.which("setpriv")
    if program is None:
        return ()
    prefix = (program, *options, "--")
    probe = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603
    return prefix if probe.returncode == 0 else ()


def _unusable(cpus: Collection[int], usable: Collection[int]) -> BadInput:
    return BadInput(
        f"The server cannot be bound to the CPUs {_join(cpus)}: this process may use {_join(usable)}. "
        "Change `server_cpus` in [host], or `cpus` of the server."
    )


def _join(cpus: Collection[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))
