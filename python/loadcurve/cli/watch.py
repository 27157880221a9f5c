"""``loadcurve watch``."""

import contextlib
import os
import threading
import time
from pathlib import Path

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.interrupts import wait_for_an_interrupt
from loadcurve.result.folder import Run
from loadcurve.result.run_files import may_begin, no_run_folder
from loadcurve.watch.address import ANY_LOOPBACK_PORT, Address, Listener, announcement
from loadcurve.watch.following import FollowedRun
from loadcurve.watch.process import be_of_no_account
from loadcurve.watch.progress import read_progress
from loadcurve.watch.server import WatchServer

BEGINS_WITHIN_S = 5.0
"""``load`` and ``run`` look at the machine for about two seconds before they make the folder."""
LOOK_INTERVAL_S = 0.1


def watch_command(folder: Path, address: str | None) -> None:
    """Serve the page of a run folder until an interrupt.

    Raises ``BadInput``: the folder holds no run, or the page cannot listen at the address.
    """
    run = _begun(folder)
    listener = Listener.at(Address.parse(address or ANY_LOOPBACK_PORT))
    _stand_aside(run)
    with WatchServer(listener, folder) as server:
        talk = new_console(stderr=True)
        talk.print(Text(announcement(listener)), soft_wrap=not talk.is_terminal)
        threading.Thread(target=server.serve, daemon=True).start()
        wait_for_an_interrupt()


def _begun(folder: Path) -> Run:
    """Return the run of a folder, or the one that begins in it soon; raises ``BadInput`` where none does."""
    followed = FollowedRun(folder)
    run = followed.read()
    if run is None and may_begin(folder):
        new_console(stderr=True).print(
            Text(f"no run has begun in {folder}; waiting {BEGINS_WITHIN_S:g} s for it"), soft_wrap=True
        )
        deadline_s = time.monotonic() + BEGINS_WITHIN_S
        while run is None and time.monotonic() < deadline_s:
            time.sleep(LOOK_INTERVAL_S)
            run = followed.read()
    if run is None:
        raise no_run_folder(folder)
    return run


def _stand_aside(run: Run) -> None:
    """Leave the CPUs to a run that is still under way on this machine, as far as there are others."""
    kept = read_progress(run.folder)
    if kept is not None and kept.run_lives:
        usable = os.sched_getaffinity(0)
        server, load = (set(run.run.host.get(side) or ()) for side in ("server_cpus", "load_cpus"))
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, usable - server - load or usable & load)
    be_of_no_account()
