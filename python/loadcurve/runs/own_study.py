"""Whether a study is this user's own: one of somebody else's may run anything."""

import os
import pwd
import stat
from pathlib import Path

from loadcurve.host.own_files import is_own
from loadcurve.result.run_files import RUN_FILE
from loadcurve.study.bundled import FOLDER


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
