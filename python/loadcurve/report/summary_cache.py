"""The summaries of the runs in one folder, kept in the user's state: a list of runs reads one file.

A summary is taken from there where the files of its run are as they were. Whatever is wrong with the file,
the summaries are made anew from the run folders, which alone count.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from loadcurve.files import make_folder, open_regular, write_whole
from loadcurve.host.state import is_private, state_folder
from loadcurve.loads.values import Record
from loadcurve.result.checksum import sealed, unsealed
from loadcurve.result.run_files import RUN_FILE, TRIALS_FILE
from loadcurve.result.summary import NUMBERS_FILE, RunSummary
from loadcurve.version import VERSION

SUMMARIES = "summaries"
"""The folder of these files, in that of the user's state."""
CACHE_BYTES_MAX = 64 * 2**20

FilesState = tuple[tuple[int, int, int, int] | None, ...]
"""Length, times of the last changes in ns, and inode of each file that a summary is made of."""


class KeptSummary(Record):
    """A summary, and the state of the files that it was made of."""

    files: FilesState
    summary: RunSummary


class KeptSummaries(Record):
    """The summaries of the runs in a folder, by their own folders' paths."""

    format: Literal["loadcurve-summaries/1"]
    loadcurve_version: str
    runs: dict[str, KeptSummary]


def files_state(folder: Path) -> FilesState:
    """Return the state of the files in a run folder that its summary depends on."""
    return tuple(_state(f"{folder}/{name}") for name in (RUN_FILE, TRIALS_FILE, NUMBERS_FILE))


def read_summaries(folder: Path) -> Mapping[str, KeptSummary]:
    """Return what was kept of the runs in a folder; nothing where that is not this user's, or is damaged."""
    try:
        with open_regular(_file(folder)) as file:
            if not is_private(os.fstat(file.fileno())):
                return {}
            text = unsealed(file.read(CACHE_BYTES_MAX))
        if text.state != "intact":
            return {}
        kept = KeptSummaries.model_validate_json(text.content)
    except (OSError, ValidationError):
        return {}
    return kept.runs if kept.loadcurve_version == VERSION else {}


def keep_summaries(folder: Path, runs: Mapping[str, KeptSummary]) -> None:
    """Keep the summaries of the runs in a folder, where the user's state can be written."""
    kept = KeptSummaries(format="loadcurve-summaries/1", loadcurve_version=VERSION, runs={**runs})
    file = _file(folder)
    with contextlib.suppress(OSError):
        make_folder(file.parent)
        write_whole(file, sealed(kept.model_dump_json()))
        file.chmod(stat.S_IRUSR | stat.S_IWUSR)


def _file(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
    return state_folder(SUMMARIES) / f"{name}.json"


def _state(file: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.lstat(file)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
