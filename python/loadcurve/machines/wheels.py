"""Packages that are compiled for one version of Python, for another version than the one here."""

import contextlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from loadcurve.errors import LoadcurveError
from loadcurve.machines.bootstrap import STAGED, agent_folder, remove_unused

FETCH_TIMEOUT_S: Final = 45.0
"""The other machine waits for a minute for what it is sent."""

Version = tuple[int, int]


class NotFetched(LoadcurveError):  # noqa: N818 -- the name says what happened
    """A package for another Python is not available here; the text says why."""


def files_for(package: str, version: str, python: Version) -> dict[str, Path]:
    """Return the files of a package for a Python, by their names there; they are fetched once.

    They come from where pip, or else uv, gets packages. Raises NotFetched.
    """
    name = f"{package}-{version}-py{python[0]}.{python[1]}-{platform.machine()}"
    folder = Path(agent_folder()).with_name("packages") / name
    if not folder.is_dir():
        _fetch(f"{package}=={version}", python, folder)
    return {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}


def _fetch(requirement: str, python: Version, folder: Path) -> None:
    """Get a package into a folder, which is there as a whole or not at all."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        remove_unused(str(folder.parent), STAGED)
        with tempfile.TemporaryDirectory(prefix=STAGED, dir=folder.parent) as staged:
            _run(_command(requirement, ".".join(map(str, python)), Path(staged)))
            for wheel in Path(staged).glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(Path(staged, "files"))
            # Another command may have been faster.
            with contextlib.suppress(FileExistsError):
                Path(staged, "files").rename(folder)
    except (OSError, zipfile.BadZipFile) as error:
        if not folder.is_dir():
            raise NotFetched(f"{requirement} cannot be stored in {folder.parent}: {error}") from None


COMMON: Final = ("--quiet", "--no-deps", "--only-binary=:all:")


def _command(requirement: str, python: str, staged: Path) -> list[str]:
    processor, of_glibc = platform.machine(), platform.libc_ver()[0] == "glibc"
    if importlib.util.find_spec("pip") is not None:
        tag = f"manylinux2014_{processor}" if of_glibc else f"musllinux_1_1_{processor}"
        pip = (sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input")
        wheel = ("--implementation=cp", f"--python-version={python}", f"--platform={tag}")
        return [*pip, *COMMON, *wheel, f"--dest={staged}", requirement]
    if (uv := shutil.which("uv")) is not None:
        tag = f"{processor}-manylinux2014" if of_glibc else f"{processor}-unknown-linux-musl"
        wheel = (f"--python={sys.executable}", f"--python-version={python}", f"--python-platform={tag}")
        return [uv, "pip", "install", *COMMON, *wheel, f"--target={staged / 'files'}", requirement]
    raise NotFetched("neither pip nor uv is installed here")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603 -- pip or uv
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FETCH_TIMEOUT_S,
            env={**os.environ, "PIP_RETRIES": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotFetched(f"{Path(command[0]).name} did not end within {FETCH_TIMEOUT_S:g} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotFetched(said[-1] if said else f"{command[0]} ended with status {done.returncode}")
