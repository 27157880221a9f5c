"""Environments of interpreters that lie beside an application, whose programs nobody has activated."""

import re
from pathlib import Path
from typing import Final

PLACES: Final = (".venv/bin", "venv/bin", "env/bin", "node_modules/.bin", "vendor/bin")
"""Where such environments keep their programs, in the folder of an application."""
_LACKS_A_MODULE = re.compile(r"ModuleNotFoundError: No module named '(?P<name>[\w.]{1,80})'")
"""What Python says last where an application lacks a package."""


def program_beside(folder: Path, name: str) -> Path | None:
    """Return where an environment in a folder has a program of this name; ``None`` where none has."""
    found = (Path(place, name) for place in PLACES if (folder / place / name).is_file())
    return next(found, None)


def advice_on_module(folder: Path, program: Path, said: str) -> str:
    """Return a sentence where Python lacked a package, and an environment beside has the program; else ""."""
    found = _LACKS_A_MODULE.search(said)
    if found is None:
        return ""
    beside = program_beside(folder, program.name)
    if beside is None or (folder / beside).parent == program.parent:
        return ""
    return (
        f" It ran by {program}, which lacks the package {found['name']}; an environment beside the "
        f"application has the same program: begin start with {beside}."
    )
