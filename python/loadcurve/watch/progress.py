"""``progress.json``: what a run does at the moment and how far it is, for whoever follows its folder.

The run writes it between loads, never during one, and removes it when its report is written. As long as the
run lives it holds a lock on the file, which the kernel drops however the run ends: a file without a lock is
what a killed run left behind.
"""

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadcurve.files import open_regular
from loadcurve.loads.values import Point, PositiveCount
from loadcurve.record import Count, Record, Time
from loadcurve.result.records import PlannedTrial
from loadcurve.watch.kept_file import KeptFile

PROGRESS_FILE = "progress.json"
PROGRESS_BYTES_MAX = 2**20


class RunProgress(Record):
    """How far a run is."""

    format: Literal["loadcurve-progress/1"]
    trial: PlannedTrial
    """The one under way, or the last one."""
    trials_planned: Count
    point: Point | None
    """The point whose load is under way; ``None`` where none is."""
    attempt: PositiveCount = 1
    """Above 1 where the point is measured again, because the machine was disturbed."""
    since_unix_s: Time
    """When this began, in seconds since 1970, for people."""
    since_monotonic_s: float
    """The same on the machine's monotonic clock, which nobody sets: for what is counted from it."""
    warmup_s: Time | None
    """The load's warm-up; ``None`` without a load, as the next one."""
    duration_s: Time | None
    """The measured part of the load behind its warm-up; ``None``, too, where a number of requests ends it."""
    counted: Literal["points", "trials"]
    """What the next two count."""
    over: Count
    planned: Count
    at_most: bool
    """Whether the run may end before it has taken all that is planned."""
    left_s: Time | None
    """About how long the rest takes, from this moment on; ``None`` where it is not known."""


@dataclass(frozen=True, slots=True)
class KeptProgress:
    """What ``progress.json`` holds, and whether the run that wrote it still lives."""

    progress: RunProgress
    run_lives: bool


class ProgressFile(KeptFile):
    """The progress of a run under way."""

    def __init__(self, folder: Path) -> None:
        """Prepare the file in a run folder, which need not exist before the first :meth:`write`."""
        super().__init__(folder / PROGRESS_FILE)
        self._bytes = 0

    def write(self, progress: RunProgress) -> None:
        """Say how far the run is now."""
        text = progress.model_dump_json().encode()
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                self._descriptor = os.open(
                    self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644
                )
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
                # What a killed run left may be longer.
                os.ftruncate(self._descriptor, 0)
            # The lock belongs to this very file, so it is written over and not replaced. Spaces cover the
            # rest of a longer text, so that one write is enough and nobody reads two texts in one.
            self._bytes = max(self._bytes, len(text))
            os.pwrite(self._descriptor, text.ljust(self._bytes) + b"\n", 0)


def read_progress(folder: Path) -> KeptProgress | None:
    """Return what a run folder says of its progress; ``None`` where it says nothing, or not yet."""
    try:
        with open_regular(folder / PROGRESS_FILE) as file:
            progress = RunProgress.model_validate_json(file.read(PROGRESS_BYTES_MAX))
            run_lives = _is_locked(file.fileno())
            # A run that ends removes the file before it drops the lock, perhaps since the file was opened.
            was_removed = not run_lives and os.fstat(file.fileno()).st_nlink == 0
            return None if was_removed else KeptProgress(progress, run_lives)
    except (OSError, ValidationError):
        return None


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
