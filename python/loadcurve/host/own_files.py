"""Which files this user's Loadcurve has written, wherever they lie: those of a run folder may be anybody's.

A page may hold scripts, and a study commands. So each one that is written leaves a file in the state folder,
named after the digest of its content: it is known wherever its folder is moved, and one that somebody has
changed is not.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Final, Literal

from loadcurve.files import open_regular, read_regular
from loadcurve.host.state import forget_old, is_private, state_folder

OwnKind = Literal["pages", "studies"]
"""The folder of these files, in that of the user's state."""
BYTES_MAX: Final = 1 << 28
"""No page of ours is as large."""


def remember_own(kind: OwnKind, content: bytes) -> None:
    """Remember what this user's Loadcurve writes; without a writable state it counts as anybody's."""
    with contextlib.suppress(OSError):
        file = _file_of(kind, hashlib.sha256(content).hexdigest())
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        forget_old(file.parent)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))


def is_own(kind: OwnKind, path: Path) -> bool:
    """Say whether a file, and no link, holds what this user's Loadcurve has written."""
    try:
        digest = hashlib.sha256(read_regular(path, BYTES_MAX)).hexdigest()
        with open_regular(_file_of(kind, digest)) as known:
            status = os.fstat(known.fileno())
    except OSError:
        return False
    return is_private(status)


def _file_of(kind: OwnKind, digest: str) -> Path:
    return state_folder(kind) / digest
