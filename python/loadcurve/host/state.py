"""Where facts are kept that outlive a command, per user and machine."""

import os
from pathlib import Path


def state_folder(name: str) -> Path:
    """Return the folder of one kind of facts, below ``$XDG_STATE_HOME`` or ``~/.local/state``."""
    base = os.environ.get("XDG_STATE_HOME")
    # The XDG base directory specification wants a relative path to be ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path("~/.local/state").expanduser()
    return root / "loadcurve" / name
