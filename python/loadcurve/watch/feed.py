"""What the readers of the page are told, made when there is something new and a reader to tell it."""

import json
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from loadcurve.errors import BadInput
from loadcurve.files import is_regular
from loadcurve.report.html import REPORT_FILE
from loadcurve.result.folder import RUN_FILE, TRIALS_FILE, Run
from loadcurve.result.following import FollowedRun
from loadcurve.result.progress import KeptProgress, read_progress
from loadcurve.watch.figures import figures
from loadcurve.watch.quiet import DRAWING_S, LONGEST_WAIT_S, is_quiet
from loadcurve.watch.status import Seen

LOOKED_AT = (RUN_FILE, TRIALS_FILE, REPORT_FILE)
FileState = tuple[int, int] | None
"""Size and time of the last change; ``None`` for a file that is not there."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The figures as one line of JSON, and how many points they hold."""

    points: int
    data: str


@dataclass(frozen=True, slots=True)
class Latest:
    """The run as it was last seen, and the number of that look: with another one something has changed."""

    number: int
    seen: Seen


class Feed:
    """Follows a run folder for all readers at once; without a reader nothing calls it."""

    def __init__(self, folder: Path) -> None:
        """Follow a folder that need not exist yet."""
        self.folder = folder
        self._lock = threading.Lock()
        self._followed = FollowedRun(folder)
        self._state: tuple[list[FileState], KeptProgress | None] | None = None
        self._number = 0
        self._seen = Seen(folder, None, None, has_report=False)
        self._drawn: Drawn | None = None
        self._stale_since_s = 0.0
        self._made_in_s = 0.0

    def look(self, *, run_has_ended: bool = False) -> Latest:
        """Look at the folder, and return what there is to tell.

        Who knows that the run has ended says so: of a process that is killed, its lock may go after all else.
        """
        with self._lock:
            kept = read_progress(self.folder)
            if kept is not None and run_has_ended:
                kept = replace(kept, run_lives=False)
            state = ([_file_state(self.folder / name) for name in LOOKED_AT], kept)
            if state != self._state:
                self._state = state
                self._number += 1
                self._read(kept)
            return Latest(self._number, self._seen)

    def draw(self, *, is_first: bool = False) -> Drawn | None:
        """Return the figures of the run as it was last seen, or older ones; ``None`` where there are none.

        New ones are made when the run is quiet, or at once for a reader's first, who has none.
        """
        with self._lock:
            if self._seen.run is not None:
                self._draw(self._seen.run, is_first=is_first)
            return self._drawn

    def _read(self, kept: KeptProgress | None) -> None:
        points = len(self._seen.run.points) if self._seen.run else 0
        run, problem = self._seen.run, None
        try:
            run = self._followed.read()
        except BadInput as error:
            problem = str(error)
        has_report = is_regular(self.folder / REPORT_FILE)
        self._seen = Seen(self.folder, run, kept, has_report=has_report, problem=problem)
        if run is not None and points == (self._drawn.points if self._drawn else 0) < len(run.points):
            self._stale_since_s = time.monotonic()

    def _draw(self, run: Run, *, is_first: bool) -> None:
        if len(run.points) == (self._drawn.points if self._drawn else 0):
            return
        began_s = time.monotonic()
        needed_s = DRAWING_S + self._made_in_s
        has_waited = began_s - self._stale_since_s >= LONGEST_WAIT_S
        if not (is_first or has_waited or is_quiet(self._seen.progress, time.time(), needed_s)):
            return
        self._drawn = Drawn(len(run.points), json.dumps(figures(run)))
        self._made_in_s = time.monotonic() - began_s


def _file_state(file: Path) -> FileState:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
