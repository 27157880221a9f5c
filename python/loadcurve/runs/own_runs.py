"""Which runs this user has begun on this machine: what the record of another one says is never carried out.

To resume a run is to run the commands of its study. Where that lies and with which options it began is in
the run's record, and a run folder may come from anybody. So each run that begins leaves a small file in the
state folder, named after the digest of its record, and is looked for there when it is resumed. The folder may
have been moved meanwhile; a record that somebody has changed has another digest.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from loadcurve.files import open_regular, read_regular
from loadcurve.host.state import forget_old, is_private, state_folder
from loadcurve.result.run_files import RUN_BYTES_MAX, RUN_FILE

BEGUN_RUNS = "begun-runs"
"""The folder of these files, in that of the user's state."""


def remember_begun(run_folder: Path, record: bytes) -> None:
    """Write down that this user begins the run in a folder, whose ``run.json`` will hold ``record``.

    Where the state folder cannot be written, the study must be named when the run is resumed.
    """
    with contextlib.suppress(OSError):
        file = _file_of(record)
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        forget_old(file.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as written:
            # The digest alone decides; the place is for the person who looks at the file.
            written.write(f"{run_folder.absolute()}\n")


def has_begun(run_folder: Path) -> bool:
    """Say whether this user has begun the run in a folder: its file is theirs, and closed to others."""
    try:
        with open_regular(_file(run_folder)) as file:
            status = os.fstat(file.fileno())
    except OSError:
        return False
    return is_private(status)


def forget_begun(run_folder: Path) -> None:
    """Remove what was written down of a run, which is complete."""
    with contextlib.suppress(OSError):
        _file(run_folder).unlink(missing_ok=True)


def _file(run_folder: Path) -> Path:
    """Return the file of a run; raises ``OSError`` where its record cannot be read."""
    return _file_of(read_regular(run_folder / RUN_FILE, RUN_BYTES_MAX))


def _file_of(record: bytes) -> Path:
    return state_folder(BEGUN_RUNS) / hashlib.sha256(record).hexdigest()
