"""What a list of runs says of one of them, kept in its folder so that a list reads no measurements.

A run of thousands of points takes seconds to read. Its summary is small, and is made anew when the folder or
the version of Loadcurve has changed since.
"""

import contextlib
import os
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadcurve import __version__
from loadcurve.result.folder import RUN_FILE, TRIALS_FILE
from loadcurve.result.load import Count, Record

SUMMARY_FILE = "summary.json"


class FileState(Record):
    """What tells whether a file has changed."""

    bytes: Count
    modified_ns: int
    """The time of the last change, in nanoseconds since 1970."""


class SummarySource(Record):
    """What a summary was made of, and by which version; a file that is not there is ``None``."""

    loadcurve_version: str
    run: FileState | None
    trials: FileState | None


class VerdictCounts(Record):
    """How many measured points have each verdict."""

    valid: Count
    suspect: Count
    invalid: Count


class RunSummary(Record):
    """A run in a few lines."""

    format: Literal["loadcurve-summary/1"]
    source: SummarySource
    started_at: str
    title: str
    question: str | None
    answer: str
    """A sentence: who leads and by how much, who cannot be told apart, or the capacity that was found."""
    complete: bool
    """``False`` for a run that was interrupted, or is still under way."""
    servers: tuple[str, ...]
    """The servers with a measured point, in the order of the study."""
    trials: Count
    """Trials with a measured point."""
    points: VerdictCounts
    findings: Count


def source_of(folder: Path) -> SummarySource:
    """Return the state of the files that a summary is made of; taken before they are read."""
    return SummarySource(
        loadcurve_version=__version__,
        run=_state(folder / RUN_FILE),
        trials=_state(folder / TRIALS_FILE),
    )


def read_summary(folder: Path) -> RunSummary | None:
    """Return the summary in a run folder; ``None`` where there is none that fits what the folder holds."""
    try:
        summary = RunSummary.model_validate_json((folder / SUMMARY_FILE).read_bytes())
    except (OSError, ValidationError):
        return None
    return summary if summary.source == source_of(folder) else None


def keep_summary(folder: Path, summary: RunSummary) -> None:
    """Write a summary into its run folder, where that can be written to; elsewhere it is made each time."""
    staged = folder / f".{SUMMARY_FILE}.{os.getpid()}"
    try:
        staged.write_text(summary.model_dump_json(indent=2) + "\n", encoding="utf-8")
        staged.replace(folder / SUMMARY_FILE)
    except OSError:
        with contextlib.suppress(OSError):
            staged.unlink(missing_ok=True)


def _state(file: Path) -> FileState | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return FileState(bytes=found.st_size, modified_ns=found.st_mtime_ns)
