"""The process of the page beside a run, started before it and gone with it, however it ends."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from loadcurve.server.adoption import start_own
from loadcurve.server.spawn import bound_to
from loadcurve.watch.address import Listener

READY = b"ready\n"
FAREWELL_S = 5.0
"""So long the readers may take to fetch the last state and the report."""
PATIENCE_S = 5.0
"""How much longer than its farewell the process may take to end."""


@contextlib.contextmanager
def page_beside_run(folder: Path, listener: Listener, cpus: Collection[int]) -> Iterator[None]:
    """Serve the page of a run folder from a separate process, on these CPUs, as long as the block lasts.

    It is ready when the block begins, so that what its start costs falls on no measurement. It ends when its
    standard input is closed, so the end of this process, however it comes, ends it, too. Behind the block it
    has notified its readers of the end. If it fails the run continues without it.
    """
    with listener.socket, bound_to(cpus):
        process = start_own(
            lambda: subprocess.Popen(  # noqa: S603 -- this package's own module
                # Without -P a file of the current folder could be taken for a module.
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "loadcurve.watch",
                    str(folder),
                    listener.host,
                    str(listener.socket.fileno()),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[listener.socket.fileno()],
                # Ctrl-C in the terminal is for the run, which ends the page itself.
                start_new_session=True,
            )
        )
    try:
        assert process.stdout is not None, "asked for"  # noqa: S101
        process.stdout.readline()
        yield
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        # This closes its standard input and waits for its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=FAREWELL_S + PATIENCE_S)
    finally:
        process.kill()
        process.wait()


def be_of_no_account() -> None:
    """Let this process run only when a CPU has nothing else to do, as far as the system knows that."""
    os.nice(19)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
