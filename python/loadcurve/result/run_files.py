"""The names of the files in a run folder; a light module, for a look before anything heavy is imported."""

import os
import time
from pathlib import Path

from loadcurve.errors import BadInput

RUNS_FOLDER = Path("loadcurve-runs")
"""Where run folders go, below the current folder, unless another place is named."""
RUN_FILE = "run.json"
RUN_COPY_FILE = "run-copy.json"
"""The same again: without it no figure can be read."""
TRIALS_FILE = "trials.jsonl"
NUMBERS_FILE = "numbers.json"
"""What was computed of a run."""
STUDY_FILE = "study.toml"
REPORT_FILE = "report.html"
FIRST_FILES = frozenset({STUDY_FILE, TRIALS_FILE, RUN_COPY_FILE})
"""What a folder has before its run begins with ``run.json``."""
LOADS_FILE = "loads.json"
"""That of a folder of several loads at once, in which each has a run folder."""
SUITE_RECORD_FILE = "suite.json"
"""That of a folder of a suite, in which each of its studies has a run folder."""
INPUTS_FOLDER = "inputs"
"""What a run was given beside its study."""
ARCHIVE_SUFFIX = ".loadcurve.zip"
"""Of a run as one file."""
RUN_BYTES_MAX = 4 * 2**20
"""Many times what is written into any of the files that do not grow with the points."""
_FOLDER_MARK_BYTES = 2
RUNS_NAMED_MAX = 3
"""Of the run folders in another folder."""


def new_folder(name: str) -> Path:
    """Return a folder under loadcurve-runs that is named after the study and the time of day.

    Random digits at its end tell it from that of a run which begins in the same second.
    """
    began = time.strftime("%Y%m%d-%H%M%S")
    return RUNS_FOLDER / f"{name}-{began}-{os.urandom(_FOLDER_MARK_BYTES).hex()}"


def has_several_loads(folder: Path) -> bool:
    """Say whether a folder is that of several loads at once."""
    return os.path.lexists(folder / LOADS_FILE)


def is_of_suite(folder: Path) -> bool:
    """Say whether a folder has the runs of a suite of studies."""
    return os.path.lexists(folder / SUITE_RECORD_FILE)


def runs_of_suite(folder: Path) -> list[Path]:
    """Return the run folders in that of a suite, by name; none where a run has not begun."""
    return sorted(file.parent for file in folder.glob(f"*/{RUN_FILE}"))


def is_archive(path: Path) -> bool:
    """Say whether a path is that of a run as one file, by its name."""
    return path.name.endswith(ARCHIVE_SUFFIX) and path.is_file()


def may_begin(folder: Path) -> bool:
    """Say whether a run may begin in a folder: it is not there yet, or has nothing but what comes first."""
    try:
        return {one.name for one in folder.iterdir()} <= FIRST_FILES
    except FileNotFoundError:
        return True
    except OSError:
        return False


def require_run_folder(folder: Path) -> None:
    """Raise ``BadInput`` unless a folder holds what a run folder begins with."""
    if not os.path.lexists(folder / RUN_FILE):
        raise no_run_folder(folder)


def _if_renamed(file: Path) -> str:
    """Return what to do with a file that may be a run as one file under another name."""
    if file.suffix != ".zip" or file.name.endswith(ARCHIVE_SUFFIX):
        return ""
    name = file.name.removesuffix(".zip") + ARCHIVE_SUFFIX
    return f" A run as one file, by `loadcurve pack`, is known by the end of its name: call it {name}."


def no_run_folder(folder: Path) -> BadInput:
    """Return the error for a folder that holds no run."""
    if has_several_loads(folder):
        return BadInput(
            f"{folder} has several loads at once: give one of the folders in it, or show all with "
            f"`loadcurve report {folder}`."
        )
    if is_of_suite(folder):
        return BadInput(f"{folder} has the runs of several studies: give one of the folders in it.")
    wanted = "Give a folder written by `loadcurve run`, such as one in loadcurve-runs/."
    if not os.path.lexists(folder):
        return BadInput(f"{folder} is not a run folder: there is no such folder. {wanted}")
    if not folder.is_dir():
        return BadInput(f"{folder} is not a run folder: it is a file. {wanted}{_if_renamed(folder)}")
    if runs := runs_of_suite(folder):
        more = f" and {len(runs) - RUNS_NAMED_MAX} more" if len(runs) > RUNS_NAMED_MAX else ""
        named = ", ".join(map(str, runs[:RUNS_NAMED_MAX]))
        return BadInput(f"{folder} is not a run folder, but has some: give one of {named}{more}.")
    return BadInput(f"{folder} is not a run folder: it contains no {RUN_FILE}. {wanted}")
