"""Installing and removing servers: wholly or not at all."""

import contextlib
import fcntl
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from loadcurve.errors import BadInput, refusal, sentence
from loadcurve.server.installed import fetch
from loadcurve.server.installed.place import MANIFEST, UNPACKED, Installed, installed_server
from loadcurve.server.installed.recipe import Recipe
from loadcurve.server.installed.unpack import PYTHON, unpack, write_program

Fetch = Callable[[Recipe, Path], list[Path]]
"""Puts the packages of a recipe into a folder, and returns their files in the recipe's order."""

LOCK = ".lock"
STAGED = ".installing-"


def install(recipe: Recipe, servers: Path, fetched: Fetch = fetch.fetched) -> Installed:
    """Install a server into its own folder of ``servers``, unless it was installed there by this recipe.

    An installation by another recipe is replaced once the new one is complete.

    Raises ``BadInput``: the packages cannot be had, are not the catalogue's or are for another machine, or
    the folder cannot be written; what was there before is unchanged.
    """
    name = recipe.name
    there = installed_server(name, servers)
    if there is not None and there.recipe_digest == recipe.digest:
        return there
    if recipe.machine not in {"any", platform.machine()}:
        raise BadInput(
            f"{name} cannot be installed: its packages are for {recipe.machine}, and this machine is "
            f"{platform.machine()}."
        )
    try:
        servers.mkdir(parents=True, exist_ok=True)
        with _alone(servers), _staging(servers) as staging:
            _make(recipe, staging, servers / name, fetched)
            _replace(servers / name, staging / name, staging / "before")
    except OSError as error:
        raise BadInput(sentence(f"{name} cannot be installed: {refusal(error)}")) from None
    except BadInput as error:
        raise BadInput(f"{name} cannot be installed: {error}") from None
    installed = installed_server(name, servers)
    if installed is None:
        raise BadInput(f"{name} cannot be installed: its program {recipe.program or PYTHON} cannot be run.")
    return installed


def remove(name: str, servers: Path) -> bool:
    """Remove an installed server, or what is left of one; say whether there was any."""
    folder = servers / name
    if not folder.is_dir():
        return False
    try:
        with _alone(servers):
            # Without this file, what remains after an interrupt is not taken for a server.
            (folder / MANIFEST).unlink(missing_ok=True)
            shutil.rmtree(folder)
    except OSError as error:
        raise BadInput(sentence(f"{name} cannot be removed: {refusal(error)}")) from None
    return True


def _make(recipe: Recipe, staging: Path, final: Path, fetched: Fetch) -> None:
    """Fetch, check and unpack the packages, and write what the installation says of itself last."""
    files_folder = staging / "files"
    files_folder.mkdir()
    files = fetched(recipe, files_folder)
    for package, file in zip(recipe.packages, files, strict=True):
        fetch.require_digest(recipe, package, file)
    staged = staging / recipe.name
    staged.mkdir()
    staged.chmod(0o755)
    unpack(recipe, files, staged / UNPACKED)
    program = write_program(recipe, staged, final)
    said = {
        "program": program,
        "recipe": recipe.digest,
        "packages": [package.title for package in recipe.packages],
    }
    manifest = staged / MANIFEST
    manifest.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    manifest.chmod(0o644)


def _replace(folder: Path, new: Path, before: Path) -> None:
    if folder.exists():
        folder.rename(before)
    new.rename(folder)


@contextlib.contextmanager
def _alone(servers: Path) -> Iterator[None]:
    """Let no other process install into or remove from this folder meanwhile."""
    lock = os.open(servers / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


@contextlib.contextmanager
def _staging(servers: Path) -> Iterator[Path]:
    """Make a folder on the same file system for the time of a block; remove those of killed processes."""
    for left in servers.glob(f"{STAGED}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=STAGED, dir=servers) as name:
        yield Path(name)
