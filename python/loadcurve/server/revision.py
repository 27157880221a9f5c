"""The revision of a folder under version control, which is the version of a program that lies there."""

from pathlib import Path

from loadcurve.host import git


def revision_of(folder: Path) -> str | None:
    """Return the revision of a folder in a Git repository, such as ``git 1a2b3c4d5e6f, changed``.

    A tag before the revision is part of it. ``None`` where there is no Git, no repository or no commit.
    """
    described = git.answer(folder, "describe", "--always", "--tags", "--abbrev=12")
    if not described:
        return None
    changed = git.answer(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"git {described}" + (", changed" if changed else "")
