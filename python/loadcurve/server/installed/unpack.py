"""Unpacking packages beside each other, and the program by which the server is then started."""

import os
import shlex
import shutil
import stat
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from loadcurve.errors import BadInput, refusal, sentence
from loadcurve.server.installed.fetch import pip, run_tool
from loadcurve.server.installed.place import PROGRAMS, UNPACKED
from loadcurve.server.installed.recipe import Recipe

PYTHON_SCRIPT = b"#!"
PYTHON = "python3"
SYSTEM_PYTHON = Path("/usr/bin/python3")


def unpack(recipe: Recipe, files: Sequence[Path], folder: Path) -> None:
    """Unpack the files of a recipe's packages into a folder that other users may read.

    Raises ``BadInput``: a file is not of its registry's format, or a tool refuses.
    """
    folder.mkdir()
    if recipe.registry == "debian":
        for file in files:
            run_tool(["dpkg-deb", "--extract", str(file), str(folder)], folder)
    elif recipe.registry == "pypi":
        options = ["--no-index", "--no-deps", "--no-compile", "--quiet", "--disable-pip-version-check"]
        run_tool([*pip(), "install", *options, "--target", str(folder), *map(str, files)], folder)
    else:
        for file in files:
            _extract(file, folder)
    _let_everyone_read(folder)


def _extract(file: Path, folder: Path) -> None:
    try:
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise BadInput(sentence(f"{file.name} cannot be unpacked: {error}")) from None
    except OSError as error:
        raise BadInput(sentence(f"{file.name} cannot be unpacked: {refusal(error)}")) from None


def _let_everyone_read(folder: Path) -> None:
    """Let other users read what was unpacked, and run what its owner may, but nothing with other rights."""
    for parent, _, names in os.walk(folder):
        Path(parent).chmod(0o755)
        for name in names:
            file = Path(parent) / name
            if not file.is_symlink():
                is_program = file.stat().st_mode & stat.S_IXUSR
                file.chmod(0o755 if is_program else 0o644)


def write_program(recipe: Recipe, staged: Path, final: Path) -> str:
    """Make the program of a server that is unpacked in ``staged`` and will be in ``final``; return its name.

    It is a link, or a script where the program needs libraries, arguments or the folder of its modules.

    Raises ``BadInput``: the packages hold no such program.
    """
    if recipe.program is None:
        return _write_script(staged / PROGRAMS / PYTHON, [_modules_in(final / UNPACKED)], [str(_python())])
    program = staged / UNPACKED / recipe.program
    if not program.is_file():
        raise BadInput(f"The packages hold no program {recipe.program}; expected it by the catalogue.")
    # Wheels keep no modes of files.
    program.chmod(0o755)
    unpacked = final / UNPACKED
    own = staged / PROGRAMS / program.name
    with program.open("rb") as opened:
        is_python = recipe.registry == "pypi" and opened.read(2) == PYTHON_SCRIPT
    if not (is_python or recipe.arguments or recipe.libraries):
        own.parent.mkdir(mode=0o755)
        own.symlink_to(os.path.relpath(program, own.parent))
        return own.name
    words = [
        str(unpacked / recipe.program),
        *(one.replace("{folder}", str(unpacked)) for one in recipe.arguments),
    ]
    lines = []
    if recipe.libraries:
        paths = shlex.quote(":".join(str(unpacked / one) for one in recipe.libraries))
        lines.append(
            f"LD_LIBRARY_PATH={paths}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}; export LD_LIBRARY_PATH"
        )
    if is_python:
        lines.append(_modules_in(unpacked))
        words.insert(0, str(_python()))
    return _write_script(own, lines, words)


def _modules_in(unpacked: Path) -> str:
    """Return the line of a script by which Python finds the modules that were unpacked."""
    return f"PYTHONPATH={shlex.quote(str(unpacked))}; export PYTHONPATH"


def _write_script(script: Path, before: Sequence[str], words: Sequence[str]) -> str:
    """Write a script that becomes the program of these words, with its own arguments; return its name."""
    script.parent.mkdir(mode=0o755)
    lines = ["#!/bin/sh", *before, f'exec {shlex.join(words)} "$@"']
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    return script.name


def _python() -> Path:
    """Return the Python of a server: this one, or the system's where other users cannot reach this one."""
    here = Path(sys.executable)
    is_open = all(folder.stat().st_mode & stat.S_IXOTH for folder in here.resolve().parents)
    is_open = is_open and all(folder.stat().st_mode & stat.S_IXOTH for folder in here.parents)
    if os.geteuid() != 0 or is_open or shutil.which(SYSTEM_PYTHON) is None:
        return here
    return SYSTEM_PYTHON
