"""Which runs and studies are this user's own: what others have made may run anything, and is not carried out.

To resume a run is to run the commands of its study. Where that lies and with which options it began is in
the run's record, and a run folder may come from anybody. So each run that begins leaves a small file in the
state folder, named after the digest of its record, and is looked for there when it is resumed. The folder may
have been moved meanwhile; a record that somebody has changed has another digest.
"""

import contextlib
import hashlib
import os
import pwd
import stat
from pathlib import Path

from loadcurve.files import open_regular, read_regular
from loadcurve.host.own_files import is_own
from loadcurve.host.state import forget_old, is_private, state_folder
from loadcurve.result.run_files import RUN_BYTES_MAX, RUN_FILE
from loadcurve.study.bundled import FOLDER

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


def why_not_own(file: Path) -> str | None:
    """Say why a study may be of somebody else's making; ``None`` where it is this user's own.

    A file of root's is trusted, too, as the system's own files are, and so are studies that come with
    Loadcurve. In a run folder only a study is that this user's Loadcurve has written there.
    """
    if file.resolve().is_relative_to(FOLDER):
        return None
    status = file.stat()
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to {_user(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return "every user may write to it"
    for folder in {file.parent, file.resolve().parent}:
        if (folder / RUN_FILE).exists() and not is_own("studies", file.resolve()):
            return "it is in a run folder that you have not made on this machine"
    return None


def _user(number: int) -> str:
    try:
        return f"the user {pwd.getpwuid(number).pw_name}"
    except KeyError:
        return f"the user {number}"
