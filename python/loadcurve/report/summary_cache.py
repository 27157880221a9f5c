"""The summaries of the runs in one folder, kept in the user's state: a list of runs reads one file.

A summary is taken from there where the files of its run are as they were. Whatever is wrong with the file,
the summaries are made anew from the run folders, which alone count.
"""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from loadcurve.files import make_folder, open_regular, write_whole
from loadcurve.host.state import is_private, state_folder
from loadcurve.report.listed_summary import ListedSummary
from loadcurve.result.checksum import sealed, unsealed
from loadcurve.result.run_files import NUMBERS_FILE, RUN_FILE, TRIALS_FILE
from loadcurve.version import VERSION

SUMMARIES = "summaries"
"""The folder of these files, in that of the user's state."""
FORMAT = "loadcurve-summaries/2"
CACHE_BYTES_MAX = 64 * 2**20

FilesState = tuple[tuple[int, int, int, int] | None, ...]
"""Length, times of the last changes in ns, and inode of each file that a summary is made of."""


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """A summary, and the state of the files that it was made of."""

    files: FilesState
    summary: ListedSummary

    @classmethod
    def from_plain(cls, found: Mapping[str, Any]) -> Self:
        """Return what :meth:`plain` has written."""
        files = tuple(None if one is None else tuple(one) for one in found["files"])
        return cls(files, ListedSummary.from_plain(found["summary"]))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"files": self.files, "summary": self.summary.plain()}


def files_state(folder: Path) -> FilesState:
    """Return the state of the files in a run folder that its summary depends on."""
    place = os.fspath(folder)
    return _state(f"{place}/{RUN_FILE}"), _state(f"{place}/{TRIALS_FILE}"), _state(f"{place}/{NUMBERS_FILE}")


def read_summaries(folder: Path) -> Mapping[str, KeptSummary]:
    """Return what was kept of the runs in a folder; nothing where that is not this user's, or is damaged."""
    try:
        with open_regular(_file(folder)) as file:
            if not is_private(os.fstat(file.fileno())):
                return {}
            text = unsealed(file.read(CACHE_BYTES_MAX))
        if text.state != "intact":
            return {}
        kept = json.loads(text.content)
        if (kept["format"], kept["loadcurve_version"]) != (FORMAT, VERSION):
            return {}
        return {folder: KeptSummary.from_plain(one) for folder, one in kept["runs"].items()}
    except (OSError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}


def keep_summaries(folder: Path, runs: Mapping[str, KeptSummary]) -> None:
    """Keep the summaries of the runs in a folder, where the user's state can be written."""
    plain = {folder: one.plain() for folder, one in runs.items()}
    kept = {"format": FORMAT, "loadcurve_version": VERSION, "runs": plain}
    file = _file(folder)
    with contextlib.suppress(OSError):
        make_folder(file.parent)
        write_whole(file, sealed(json.dumps(kept, separators=(",", ":"), ensure_ascii=False)))
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
