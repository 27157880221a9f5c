"""Where things are kept that outlive a command, per user and machine."""

import os
from pathlib import Path


def state_folder(name: str) -> Path:
    """Return the folder of one kind of facts, below ``$XDG_STATE_HOME`` or ``~/.local/state``."""
    return _base("XDG_STATE_HOME", "~/.local/state") / "loadcurve" / name


def cache_folder() -> Path:
    """Return the folder of what can be made again, below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    return _base("XDG_CACHE_HOME", "~/.cache") / "loadcurve"


def _base(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    # The XDG base directory specification wants a relative path to be ignored.
    return Path(base) if base and Path(base).is_absolute() else Path(default).expanduser()
