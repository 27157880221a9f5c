"""The revision of a folder under version control, which is the version of a program that lies there."""

import subprocess
from pathlib import Path

TIMEOUT_S = 5.0
_SAFELY = ("--no-optional-locks", "-c", "core.fsmonitor=false")
"""Nothing is written into the repository, and no program runs that its own settings name."""


def revision_of(folder: Path) -> str | None:
    """Return the revision of a folder in a Git repository, such as ``git 1a2b3c4d5e6f, changed``.

    A tag before the revision is part of it. ``None`` where there is no Git, no repository or no commit.
    """
    described = _git(folder, "describe", "--always", "--tags", "--abbrev=12")
    if not described:
        return None
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"git {described}" + (", changed" if changed else "")


def _git(folder: Path, *words: str) -> str | None:
    """Return what Git prints; ``None`` where it fails."""
    try:
        finished = subprocess.run(  # noqa: S603 -- the words are those of this module
            ["git", "-C", str(folder), *_SAFELY, *words],  # noqa: S607 -- the git of PATH
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return finished.stdout.strip() if finished.returncode == 0 else None
