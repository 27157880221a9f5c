"""Servers that a run to be measured again needs and this machine lacks: installed where the person agrees."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from loadcurve import units
from loadcurve.cli.console import new_console
from loadcurve.cli.server_installation import in_words, installed
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.server.catalog import Catalog, CatalogEntry, catalogs_of, load_catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.installed.place import servers_folder
from loadcurve.study.several import studies_in
from loadcurve.study.tables import StudyServer
from loadcurve.toml.document import TomlDocument


@dataclass(frozen=True, slots=True)
class Lacking:
    """A server that was measured, and is not on this machine."""

    name: str
    """In the study."""
    version: str | None
    """That was measured."""
    missing: MissingServer

    @property
    def entry(self) -> CatalogEntry:
        """What the catalogue knows of it."""
        return self.missing.entry


def provide_servers(
    study_file: Path, measured: Mapping[str, str | None], catalogs: Sequence[Path], *, agrees: bool
) -> None:
    """Install the servers of a study that were measured, are missing, and can be had by version and digest.

    ``measured`` has the version of each server that is to be measured again. Without agreement, by ``agrees``
    or at the terminal, nothing is installed. What is still missing is said, with the command that installs
    it; the run measures the others.

    Raises ``BadInput`` where the study or the catalogue cannot be read.
    """
    talk = new_console(stderr=True)
    catalog = load_catalog([*catalogs_of(TomlDocument.read(study_file)), *catalogs])
    found = list(lacking_servers(study_file, measured, catalog))
    can_be_had = [one for one in found if one.entry.description.recipe is not None]
    for one in found:
        talk.print(Text(_in_words(one)), soft_wrap=True)
    if not can_be_had:
        return
    if agrees or _agrees_at_terminal(can_be_had, talk):
        for entry in {one.entry.name: one.entry for one in can_be_had}.values():
            _install(entry, talk)
        return
    names = " ".join(dict.fromkeys(one.entry.name for one in can_be_had))
    talk.print(
        Text(f"To measure {units.listing(one.name for one in can_be_had)} too, repeat the command with --yes "
             f"or after: loadcurve servers install {names}"),
        soft_wrap=True,
    )  # fmt: skip


def lacking_servers(
    study_file: Path, measured: Mapping[str, str | None], catalog: Catalog
) -> Iterator[Lacking]:
    """Yield the measured servers of a study from the catalogue that are not on this machine.

    Those that run in containers, on other machines or already are not looked for, nor those that the run
    builds itself.
    """
    seen = set()
    for study in studies_in(study_file):
        for name, server in study.servers.items():
            if name in seen or name not in measured or server.use not in catalog:
                continue
            entry = catalog[server.use]
            if not _is_looked_for(entry, server) or study.server_machine_of(name) is not None:
                continue
            seen.add(name)
            missing = _missing(entry)
            if missing is not None:
                yield Lacking(name, measured[name], missing)


def _is_looked_for(entry: CatalogEntry, server: StudyServer) -> bool:
    is_own = entry.description.from_study is not None or server.binary or server.start or server.programs
    return not is_own and server.engine is None


def _missing(entry: CatalogEntry) -> MissingServer | None:
    try:
        looked_for = find_server(entry, {})
    except (ServerFailure, BadInput):
        # It is there, and what is wrong with it is found by the run.
        return None
    return looked_for if isinstance(looked_for, MissingServer) and looked_for.build is None else None


def _in_words(one: Lacking) -> str:
    version = "" if one.version is None else f" (measured: {one.version})"
    recipe = one.entry.description.recipe
    how = f"install it with: {one.missing.install}" if one.missing.install else "see its documentation"
    if recipe is not None:
        how = f"loadcurve servers install {one.entry.name} fetches {in_words(recipe)} into {servers_folder()}"
    return f"{one.name}{version} is missing here; {how}"


def _agrees_at_terminal(found: Sequence[Lacking], talk: Console) -> bool:
    names = units.listing(dict.fromkeys(one.entry.name for one in found))
    return bool(
        sys.stdin.isatty()
        and talk.is_terminal
        and typer.confirm(f"Install {names}?", default=False, err=True)
    )


def _install(entry: CatalogEntry, talk: Console) -> None:
    def say(words: str) -> None:
        talk.print(Text(words), soft_wrap=True)

    say(f"fetching {entry.name} …")
    try:
        say(f"{entry.name}: {installed(entry, servers_folder(), say)}")
    except LoadcurveError as error:
        say(f"{entry.name}: {error}")
