"""Where things are kept that outlive a command, per user and machine."""

import contextlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

KEPT_S: Final = 365 * 24 * 3600.0
"""What is known of files that may never be looked for again is kept for a year."""


def state_folder(name: str) -> Path:
    """Return the folder of one kind of facts, below ``$XDG_STATE_HOME`` or ``~/.local/state``."""
    return _base("XDG_STATE_HOME", "~/.local/state") / "loadcurve" / name


def data_folder() -> Path:
    """Return the folder of what was installed, below ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    return _base("XDG_DATA_HOME", "~/.local/share") / "loadcurve"


def cache_folder() -> Path:
    """Return the folder of what can be made again, below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return _base("XDG_CACHE_HOME", "~/.cache") / "loadcurve"


def is_private(status: os.stat_result) -> bool:
    """Say whether a file is this user's and closed to others, so that nobody else has written it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)


def forget_old(folder: Path, kept_s: float = KEPT_S, remove: Callable[[Path], None] = Path.unlink) -> None:
    """Remove what has been in a folder for long enough; raises ``OSError`` for the folder itself."""
    oldest_s = time.time() - kept_s
    for one in folder.iterdir():
        with contextlib.suppress(OSError):
            if one.lstat().st_mtime < oldest_s:
                remove(one)


def _base(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    # The XDG base directory specification wants a relative path to be ignored.
    return Path(base) if base and Path(base).is_absolute() else Path(default).expanduser()
