"""The head of ``numbers.json``: what a list of runs says of one of them, without its measurements.

A run of thousands of points takes seconds to read and to analyse. What was computed of it is kept in its
folder, and is made anew when the folder or the version of Loadcurve has changed since.
"""

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, ValidationError
from pydantic_core import from_json

from loadcurve.files import read_regular
from loadcurve.record import Count, Record
from loadcurve.result.checksum import unsealed
from loadcurve.result.run_files import NUMBERS_FILE, RUN_FILE, TRIALS_FILE
from loadcurve.version import VERSION

HEAD_BYTES = 4096
"""Within these bytes the numbers say what they were made of."""
NUMBERS_BYTES_MAX = 64 * 2**20
"""One that is larger is made anew."""


class FileState(Record):
    """What shows whether a file has changed."""

    bytes: Count
    modified_ns: int
    """The time of the last change of its content, in nanoseconds since 1970."""
    changed_ns: int
    """The same of its content or its place, which the kernel sets: it differs in every copy."""
    inode: Count


class NumbersSource(Record):
    """What the numbers were made of, and by which version; a file that is not there is ``None``."""

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


class NumbersHead(Record):
    """The first part of ``numbers.json``; the rest is skipped where it is not needed."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: Literal["loadcurve-numbers/1"]
    source: NumbersSource
    summary: RunSummary


def source_of(folder: Path) -> NumbersSource:
    """Return the state of the files that a run's numbers are made of; taken before they are read."""
    return NumbersSource(
        loadcurve_version=VERSION,
        run=_state(folder / RUN_FILE),
        trials=_state(folder / TRIALS_FILE),
    )


def read_summary(folder: Path) -> RunSummary | None:
    """Return the summary in a run folder; ``None`` where none fits what the folder holds."""
    text = kept_text(folder)
    try:
        return None if text is None else NumbersHead.model_validate_json(text).summary
    except ValidationError:
        return None


def kept_text(folder: Path) -> bytes | None:
    """Return the text of the kept numbers; ``None`` where none were kept that fit what the folder holds.

    Who sends a folder cannot know what the kernel notes of its copy, so that numbers which came with it are
    neither believed nor read any further.
    """
    try:
        data = read_regular(folder / NUMBERS_FILE, NUMBERS_BYTES_MAX)
        head = from_json(data[:HEAD_BYTES].decode(errors="ignore"), allow_partial=True)
    except (OSError, ValueError):
        return None
    source = source_of(folder).model_dump(mode="json")
    if not isinstance(head, dict) or head.get("source") != source:
        return None
    text = unsealed(data)
    return text.content if text.state == "intact" else None


def _state(file: Path) -> FileState | None:
    try:
        found = file.lstat()
    except OSError:
        return None
    return FileState(
        bytes=found.st_size,
        modified_ns=found.st_mtime_ns,
        changed_ns=found.st_ctime_ns,
        inode=found.st_ino,
    )
