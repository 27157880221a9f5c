"""Fetching packages by the registries' own tools, as these are configured on this machine.

Nothing is believed for where it comes from: the digest of each file is compared with the catalogue's.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from loadcurve.errors import BadInput, refusal, sentence
from loadcurve.server.installed.recipe import REGISTRY_NAMES, PinnedPackage, Recipe

FETCH_TIMEOUT_S = 900.0
SAID_LINES = 6
NEEDED = {"debian": ("apt-get", "apt-cache", "dpkg-deb"), "npm": ("npm",), "pypi": ()}
"""The programs that a registry's packages are fetched and unpacked with."""


def fetched(recipe: Recipe, folder: Path) -> list[Path]:
    """Fetch the packages of a recipe into an empty folder, and return their files in its order.

    Raises ``BadInput``: a tool is missing or refuses, or a file is another one than the catalogue expects.
    """
    missing = [program for program in NEEDED[recipe.registry] if shutil.which(program) is None]
    if missing:
        raise BadInput(
            f"{' and '.join(missing)} cannot be found on PATH, which fetches from "
            f"{REGISTRY_NAMES[recipe.registry]}."
        )
    fetch = {"debian": _from_debian, "pypi": _from_pypi, "npm": _from_npm}[recipe.registry]
    return fetch(recipe, folder)


def require_digest(recipe: Recipe, package: PinnedPackage, file: Path) -> None:
    """Raise ``BadInput`` where the file of a package has another digest than the catalogue's."""
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != package.sha256:
        raise BadInput(
            f"the file of {package.title} from {REGISTRY_NAMES[recipe.registry]}, {file.name}, is not the "
            f"one that the catalogue names: its SHA-256 is {found}; expected {package.sha256}."
        )


def run_tool(command: Sequence[str], folder: Path) -> str:
    """Run a tool in a folder and return its output; raises ``BadInput`` with what it said where it fails."""
    try:
        finished = subprocess.run(  # noqa: S603 -- names and versions are the catalogue's, checked
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_TIMEOUT_S,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"{command[0]} did not end within {FETCH_TIMEOUT_S:g} s.") from None
    except OSError as error:
        raise BadInput(sentence(f"{command[0]} cannot be run: {refusal(error)}")) from None
    if finished.returncode != 0:
        said = [line for line in (finished.stderr or finished.stdout).splitlines() if line.strip()]
        told = " ".join(said[-SAID_LINES:]) or f"status {finished.returncode}"
        raise BadInput(sentence(f"{Path(command[0]).name} says: {told}"))
    return finished.stdout


def _from_pypi(recipe: Recipe, folder: Path) -> list[Path]:
    files = []
    for package in recipe.packages:
        asked = f"{package.name}=={package.version}"
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
        files.append(_new_file(folder, [*pip(), "download", *options, "--dest", str(folder), asked]))
    return files


def pip() -> list[str]:
    """Return the words that run pip, that of this Python before that of PATH; raises ``BadInput``."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    other = shutil.which("pip3") or shutil.which("pip")
    if other is None:
        raise BadInput(
            "pip cannot be found, which fetches from PyPI; on Debian: apt-get install python3-pip."
        )
    return [other]


def _from_npm(recipe: Recipe, folder: Path) -> list[Path]:
    return [
        _new_file(folder, ["npm", "pack", "--silent", f"{package.name}@{package.version}"])
        for package in recipe.packages
    ]


def _new_file(folder: Path, command: Sequence[str]) -> Path:
    """Run a tool that puts one file into a folder, and return that file."""
    before = set(folder.iterdir())
    run_tool(command, folder)
    new = set(folder.iterdir()) - before
    if len(new) != 1:
        raise BadInput(f"{command[0]} was asked for one file and left {len(new)} of them.")
    return new.pop()


def _from_debian(recipe: Recipe, folder: Path) -> list[Path]:
    """Fetch packages of a release by this machine's mirror of Debian, whatever release the machine has."""
    options = _apt_options(recipe, folder)
    run_tool(["apt-get", *options, "-qq", "update"], folder)
    files = []
    for package in recipe.packages:
        try:
            asked = f"{package.name}={package.version}"
            files.append(_new_file(folder, ["apt-get", *options, "-qq", "download", asked]))
        except BadInput as error:
            listed = run_tool(["apt-cache", *options, "madison", package.name], folder)
            offered = sorted({line.split("|")[1].strip() for line in listed.splitlines() if "|" in line})
            has = ", ".join(offered) or "no such package"
            raise BadInput(f"{error} Debian {recipe.release} has {has}; expected {package.title}.") from None
    return files


def _apt_options(recipe: Recipe, folder: Path) -> list[str]:
    """Return options by which apt knows this release alone, and keeps all that it learns in the folder."""
    listed = run_tool(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(COMPONENT)|$(REPO_URI)", "Created-By: Packages"],
        folder,
    )
    fields = [line.split("|") for line in listed.splitlines()]
    mirrors = [uri for origin, component, uri in fields if (origin, component) == ("Debian", "main")]
    if not mirrors:
        raise BadInput(
            "apt knows no mirror of Debian here, or has not been updated; expected one in /etc/apt."
        )
    private = folder / "apt"
    (private / "lists" / "partial").mkdir(parents=True)
    (private / "cache" / "archives" / "partial").mkdir(parents=True)
    sources = private / "sources.list"
    # It need not know the keys of that release: the digests in the catalogue decide.
    sources.write_text(f"deb [trusted=yes] {mirrors[0]} {recipe.release} main\n", encoding="utf-8")
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": private / "lists",
        "Dir::Cache": private / "cache",
        "Acquire::Languages": "none",
        # Its own user could not write there.
        "APT::Sandbox::User": "",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
