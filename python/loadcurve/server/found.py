"""Looking for a server on this machine: its program, its folders and its version."""

import glob
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadcurve.server.build import Build, build_of
from loadcurve.server.catalog import PACKAGE_FOLDER, PACKAGED_CATALOG, CatalogEntry
from loadcurve.server.failure import ServerFailure
from loadcurve.server.install import install_command_here
from loadcurve.server.settings import SettingValue, choose_settings

NATIVE_FOLDER = PACKAGE_FOLDER / "native"
EXTRA_PROGRAM_FOLDERS = ("/usr/sbin", "/usr/local/sbin")
"""Where servers are installed although an ordinary user's PATH does not lead there."""

VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class FoundServer:
    """A server that can be started. ``settings`` holds each setting of its entry; "auto" is still open."""

    entry: CatalogEntry
    binary: Path
    version: str
    parts: Mapping[str, Path]
    """The folders and files of the installed server, by the names that its description gives them."""
    settings: Mapping[str, SettingValue]


@dataclass(frozen=True)
class MissingServer:
    """A server that this machine lacks: what was looked for, and how to install it, where known."""

    entry: CatalogEntry
    reason: str
    install: str | None
    build: Build | None = None
    """How it is built, where that is all it lacks."""

    def failure(self) -> ServerFailure:
        """Return the failure of a trial that needs this server."""
        hint = f" Install it with: {self.install}" if self.install else ""
        return ServerFailure(
            "not_installed", f"{self.entry.description.title} is missing: {self.reason}.{hint}"
        )


def find_server(
    entry: CatalogEntry, given_settings: Mapping[str, object], binary: Path | None = None
) -> FoundServer | MissingServer:
    """Look for a server on this machine, or at the path of a program where one is given.

    Raises:
        UnusableSetting: a given setting is unknown or does not fit.
        ServerFailure: the server is there, and its version cannot be found out ("version_unknown").

    """
    description = entry.description
    settings = choose_settings(entry.name, description.settings, given_settings)
    build = build_of(entry)
    if build is not None and binary is None and not build.is_done():
        return _unbuilt(entry, build)
    program = _given_program(binary) if binary else _search_program(entry, build)
    if isinstance(program, str):
        hint = None if binary else install_command_here(description.install)
        return MissingServer(entry, program, hint)
    parts = _search_parts(entry, program)
    if isinstance(parts, str):
        return MissingServer(entry, parts, install_command_here(description.install))
    return FoundServer(entry, program, read_version(entry, program, parts), parts, settings)


def places(entry: CatalogEntry, binary: Path) -> dict[str, str]:
    """Return the values of the placeholders that are known once the program is."""
    return {
        "entry": str(entry.folder),
        "native": str(NATIVE_FOLDER),
        "binary": str(binary),
        "binary_folder": str(binary.parent),
    }


def _given_program(binary: Path) -> Path | str:
    """Return a given program's absolute path, or what is wrong with it."""
    if not binary.is_file():
        return f"there is no program {binary}"
    if not os.access(binary, os.X_OK):
        return f"{binary} is not executable; if it is the program, run: chmod +x {binary}"
    return binary.absolute()


def _unbuilt(entry: CatalogEntry, build: Build) -> MissingServer:
    """Return what is missing of a server that is not built: its program, or what would build it."""
    if shutil.which(build.tool) is None:
        reason = f"it is built from source by {build.tool}, which was not found on PATH"
        return MissingServer(entry, reason, install_command_here(entry.description.install))
    catalog = entry.folder.parent
    words = [] if catalog == PACKAGED_CATALOG else ["--catalog", str(catalog)]
    check = shlex.join(["loadcurve", "servers", "check", entry.name, *words])
    return MissingServer(entry, "it is not built yet", check, build)


def _search_program(entry: CatalogEntry, build: Build | None) -> Path | str:
    """Return the path of the first candidate that is there, or what was looked for."""
    search_path = os.pathsep.join((os.environ.get("PATH", os.defpath), *EXTRA_PROGRAM_FOLDERS))
    known = {"entry": entry.folder, "native": NATIVE_FOLDER, "build": build and build.folder}
    programs = [candidate.format(**known) for candidate in entry.description.binary]
    for program in programs:
        found = shutil.which(program, path=search_path)
        if found:
            return Path(found).absolute()
    return f"no program {' or '.join(programs)} was found on PATH, in {' or in '.join(EXTRA_PROGRAM_FOLDERS)}"


def _search_parts(entry: CatalogEntry, binary: Path) -> dict[str, Path] | str:
    """Return the installed server's folders and files, or which of them is missing."""
    known = places(entry, binary)
    parts: dict[str, Path] = {}
    for name, candidates in entry.description.folders.items():
        paths = [Path(candidate.format(**known)) for candidate in candidates]
        existing = next((path for path in paths if path.is_dir()), None)
        if existing is None:
            return f"its folder of {name} is none of {', '.join(map(str, paths))}"
        parts[name] = existing.resolve()
    for name, patterns in entry.description.files.items():
        # What takes the places of names is a path, whose own characters match only themselves.
        literal = {place: glob.escape(str(path)) for place, path in (known | parts).items()}
        filled = [pattern.format(**literal) for pattern in patterns]
        matches = next(filter(None, map(glob.glob, filled)), None)
        if matches is None:
            return f"its file of {name} is none of {', '.join(filled)}"
        parts[name] = Path(max(matches)).resolve()
    return parts


def read_version(entry: CatalogEntry, binary: Path, parts: Mapping[str, Path]) -> str:
    """Ask a program for its version.

    Raises:
        ServerFailure: "version_unknown", with what the program said.

    """
    source = entry.description.version
    command = [word.format(**places(entry, binary), **parts) for word in source.command]
    asked = (
        f"The version of {entry.description.title} is unknown, so it is not measured: `{' '.join(command)}`"
    )
    try:
        finished = subprocess.run(  # noqa: S603 -- the command is the catalogue's
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ServerFailure(
            "version_unknown", f"{asked} did not end within {VERSION_TIMEOUT_S:g} s."
        ) from None
    except OSError as error:
        raise ServerFailure("version_unknown", f"{asked} cannot be run: {error.strerror}.") from None
    output = finished.stdout.decode(errors="replace")
    match = re.search(source.pattern, output)
    if match is None or not all(match.groups()):
        text = f"{asked} printed nothing that matches the pattern {source.pattern}."
        raise ServerFailure("version_unknown", text, output.strip())
    return " ".join(match.groups())
