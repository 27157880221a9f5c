"""The head of ``numbers.json``: what a list of runs says of one of them, without its measurements.

A run of thousands of points takes seconds to read and to analyse. What was computed of it is kept in its
folder, travels with every copy of it, and is made anew when the run's files or the version of Loadcurve are
others: each file is known by what the kernel notes of it, or else by its digest.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, ValidationError
from pydantic_core import from_json

from loadcurve.files import read_regular, regular_sha256
from loadcurve.record import Count, Record
from loadcurve.result.checksum import unsealed
from loadcurve.result.run_files import NUMBERS_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE
from loadcurve.version import VERSION

DIGEST_BYTES_MAX = 2**31
"""The numbers of a run with a larger file are made anew in every copy."""
HEAD_BYTES = 4096
"""Within these bytes the numbers say what they were made of."""
NUMBERS_BYTES_MAX = 64 * 2**20
"""One that is larger is made anew."""
NUMBERS_PARTS_MAX = 1_000_000
"""One with more lists and objects is made anew: in memory each takes many times its text."""


class FileState(Record):
    """What shows whether a file has changed."""

    bytes: Count
    modified_ns: int
    """The time of the last change of its content, in nanoseconds since 1970."""
    changed_ns: int
    """The same of its content or its place, which the kernel sets: it differs in every copy."""
    inode: Count
    sha256: str | None
    """The digest of its content, which is the same in every copy; ``None`` of what cannot be read."""


class NumbersSource(Record):
    """What the numbers were made of, and by which version; a file that is not there is ``None``."""

    loadcurve_version: str
    run: FileState | None
    trials: FileState | None
    study: FileState | None


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

    format: Literal["loadcurve-numbers/2"]
    source: NumbersSource
    summary: RunSummary


_SOURCES = {"run": RUN_FILE, "trials": TRIALS_FILE, "study": STUDY_FILE}
"""The files that numbers are made of, by their names in :class:`NumbersSource`."""


def source_of(folder: Path) -> NumbersSource:
    """Return the state of the files that a run's numbers are made of; taken before they are read."""
    return NumbersSource(
        loadcurve_version=VERSION, **{name: _state(folder / file) for name, file in _SOURCES.items()}
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

    Numbers may come from anybody, as the records beside them do, so that who reads them bounds what follows
    from them.
    """
    try:
        data = read_regular(folder / NUMBERS_FILE, NUMBERS_BYTES_MAX)
        head = from_json(data[:HEAD_BYTES].decode(errors="ignore"), allow_partial=True)
        source = NumbersSource.model_validate(head.get("source") if isinstance(head, dict) else None)
    except (OSError, ValueError):
        return None
    if data.count(b"{") + data.count(b"[") > NUMBERS_PARTS_MAX or not _fits(source, folder):
        return None
    text = unsealed(data)
    return text.content if text.state == "intact" else None


def _fits(source: NumbersSource, folder: Path) -> bool:
    """Say whether the files in a folder are those that numbers were made of, there or in another place."""
    if source.loadcurve_version != VERSION:
        return False
    return all(_is_as_noted(folder / file, getattr(source, name)) for name, file in _SOURCES.items())


def _is_as_noted(file: Path, noted: FileState | None) -> bool:
    """Say whether a file is as it was, reading it only where what the kernel notes leaves that open."""
    found = _status(file)
    if found is None or noted is None:
        return found is None and noted is None
    if found.st_size != noted.bytes:
        return False
    is_untouched = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino) == (
        noted.modified_ns,
        noted.changed_ns,
        noted.inode,
    )
    return is_untouched or (noted.sha256 is not None and _sha256(file) == noted.sha256)


def _state(file: Path) -> FileState | None:
    found = _status(file)
    if found is None:
        return None
    return FileState(
        bytes=found.st_size,
        modified_ns=found.st_mtime_ns,
        changed_ns=found.st_ctime_ns,
        inode=found.st_ino,
        sha256=_sha256(file),
    )


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.lstat()
    except OSError:
        return None


def _sha256(file: Path) -> str | None:
    try:
        return regular_sha256(file, DIGEST_BYTES_MAX)
    except OSError:
        return None
