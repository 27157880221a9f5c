"""``loadcurve servers``: the catalogue, as it is on this machine."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.cli.server_installation import in_words
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import KINDS
from loadcurve.report.column import WORDS, WRAPPED, Column
from loadcurve.report.terminal_tables import column_table, facts_table
from loadcurve.server.catalog import CatalogEntry, load_catalog
from loadcurve.server.check import CatalogRow, CheckedServer, catalog_rows, check_server
from loadcurve.server.container.found import location_of
from loadcurve.server.container.location import InContainer
from loadcurve.server.found import NATIVE_FOLDER, MissingServer, Overrides, find_server
from loadcurve.server.location import Location
from loadcurve.server.settings import Setting, UnusableSetting
from loadcurve.study.container import ContainerTable
from loadcurve.toml.expected import show
from loadcurve.toml.problems import problems_of

INDENT = "    "
WIDTH_OF_PLACES = 30
"""What long versions leave of a line to the place of a program, with the gaps between the columns."""
LEAST_WIDTH = 10


class Listed(NamedTuple):
    """A server as the list shows it."""

    name: str
    version: str
    where: str


def list_command(catalogs: Sequence[Path]) -> None:
    """Print the catalogue, web servers and databases apart, and how what is missing is installed."""
    entries = list(load_catalog(catalogs))
    here = catalog_rows(entries)
    rows = {
        kind: _rows((entry for entry in entries if kind in entry.description.kinds), here) for kind in KINDS
    }
    out = new_console(is_list=True)
    tables = server_tables({kind.server.partition(" ")[2]: cells for kind, cells in rows.items()}, out.width)
    for number, table in enumerate(tables):
        if number:
            out.print()
        out.print(table)
    _print_installation([row for row in here if row.found is None], out)


def server_tables(rows: Mapping[str, Sequence[Listed]], width: int) -> Iterator[Table]:
    """Yield a table of each kind of servers, by its title, with the same columns; each place is whole.

    What has no room in ``width`` characters continues in the next line.
    """
    names, versions = (max(map(len, cells)) for cells in list(zip(*chain(*rows.values()), strict=True))[:2])
    versions = max(LEAST_WIDTH, min(versions, width - names - WIDTH_OF_PLACES))
    for title, cells in rows.items():
        columns: list[Column[Listed]] = [
            Column(title, lambda row: row.name, {"min_width": names}),
            Column("version", lambda row: row.version, {"width": versions}),
            Column("where", lambda row: row.where, WORDS),
        ]
        yield column_table(cells, columns)


def _print_installation(missing: Sequence[CatalogRow], out: Console) -> None:
    """Print how servers are installed, outside of tables, which would break commands at their columns."""
    if missing:
        out.print(Text("\nto install or build", style="dim"))
    for row in missing:
        out.print(Text(f"  {row.name}"))
        for line in command_lines(_install(row), out.width - len(INDENT)):
            out.print(Text(f"{INDENT}{line}"), soft_wrap=True)
    if any(row.entry.description.recipe is not None for row in missing):
        out.print(Text("or in a folder of their own, without changing the system", style="dim"))
        names = [row.name for row in missing if row.entry.description.recipe is not None]
        for line in command_lines(f"loadcurve servers install {' '.join(names)}", out.width - len(INDENT)):
            out.print(Text(f"{INDENT}{line}"), soft_wrap=True)


def _rows(entries: Iterable[CatalogEntry], here: Iterable[CatalogRow]) -> list[Listed]:
    """Return a row for each server: what is here, then what a study names, then the rest."""
    entries = list(entries)
    rows = [row for row in here if row.entry in entries]
    named = [
        Listed(entry.name, "any", f"set in the study with {entry.description.from_study} = …")
        for entry in entries
        if entry.description.from_study is not None
    ]
    cells = {row.name: Listed(row.name, row.version or row.status, _where(row)) for row in rows}
    found = [cells[row.name] for row in rows if row.found is not None]
    missing = [cells[row.name] for row in rows if row.found is None]
    return [*found, *named, *missing]


def show_command(name: str, catalogs: Sequence[Path]) -> None:
    """Print what the catalogue knows of one server."""
    entry = load_catalog(catalogs)[name]
    recipe = entry.description.recipe
    facts: dict[str, str | None] = {
        "title": entry.description.title,
        "protocol": entry.description.protocol if entry.description.from_study is None else None,
    }
    rows = catalog_rows([entry])
    for row in rows:
        facts |= {
            "status": row.status,
            "version": row.version,
            "program": None if row.found is None else str(row.found.binary),
            "problem": row.problem,
        }
    facts |= {
        "can be installed": None if recipe is None else in_words(recipe),
        "documentation": entry.description.documentation,
        "notes": "\n".join(entry.description.notes),
    }
    out = new_console()
    out.print(facts_table(facts.items()))
    _print_installation([row for row in rows if row.install], out)
    if entry.description.settings:
        out.print()
        out.print(_settings(entry))


def _settings(entry: CatalogEntry) -> Table:
    columns: list[Column[tuple[str, Setting]]] = [
        Column("setting", lambda row: row[0], WRAPPED),
        Column("default", lambda row: show(row[1].default), WRAPPED),
        Column("meaning", lambda row: row[1].doc, WRAPPED),
    ]
    return column_table(sorted(entry.description.settings.items()), columns)


def container_options(**options: object) -> ContainerTable:
    """Return the options of a container, named as a study's keys; ``None`` leaves one out.

    Raises ``BadInput``: one does not fit beside another.
    """
    given = {key: value for key, value in options.items() if value is not None}
    try:
        return ContainerTable.model_validate(given)
    except ValidationError as error:
        problems = problems_of(error, ContainerTable)
        raise BadInput("\n".join(f"--{'.'.join(it.path)}: {it.text}" for it in problems)) from None


def check_command(name: str, catalogs: Sequence[Path], container: ContainerTable) -> None:
    """Start a server, verify its answers, stop it, and show each step; where it is not built yet, build it.

    Raises:
        BadInput: the server cannot run in such a container.
        ServerFailure: a step failed; the text says which.

    """
    entry = load_catalog(catalogs)[name]
    say = new_console(stderr=True).print
    if entry.description.build is not None:
        found = find_server(entry, {})
        if isinstance(found, MissingServer) and found.build is not None:
            found.build.run(say)
    try:
        location = location_of(entry, container, None, say)
    except UnusableSetting as error:
        raise BadInput(f"--{error.setting}: {error}") from None
    checked = check_server(entry, Overrides(location=location))
    out = new_console()
    out.print(Text(f"{name} {checked.found.version} at {checked.found.binary}{_inside(location)}"))
    out.print(_round(checked))


def _round(checked: CheckedServer) -> Table:
    """Show what was done with a server, step by step."""
    verified = [
        f"{path}, {answer.bytes:,} bytes, SHA-256 {answer.sha256[:12]}…"
        for path, answer in checked.content.items()
    ]
    ready_path = checked.found.entry.description.ready.path
    if ready_path is not None and not checked.content:
        verified.append(f"{ready_path}, answered with status 200")
    if not checked.found.kind.serves_content:
        verified.append("what was written was read back, and removed")
    stop = checked.found.entry.description.stop
    how = f"by {stop.signal} after {checked.stopped_after_s * 1000:,.0f} ms"
    if checked.stopped_after_s > stop.timeout_s:
        how = f"by force, {stop.timeout_s:g} s after {stop.signal}"
    return facts_table(
        [
            ("started", f"at {checked.address}, in its own folder"),
            ("ready", f"after {checked.ready_after_s * 1000:,.0f} ms"),
            *(("verified", words) for words in verified),
            ("stopped", f"{how}: no process left, port free, folder gone"),
        ]
    )


def _inside(location: Location) -> str:
    if not isinstance(location, InContainer):
        return ""
    return f" in {location.image.name} by {location.engine.name} {location.engine_version}"


def command_lines(commands: str, width: int) -> list[str]:
    """Return commands as lines that can be copied: each begins a line, and no word is broken."""
    first, *others = commands.split(" && ")
    lines = [f"{line} &&" for line in (first, *others[:-1])] + others[-1:] if others else [first]
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    ]


def _install(row: CatalogRow) -> str:
    return row.install or f"unknown; see: loadcurve servers {row.name}"


def _where(row: CatalogRow) -> str:
    if row.found is None:
        return ""
    if row.found.binary.is_relative_to(NATIVE_FOLDER):
        return "part of Loadcurve"
    return str(row.found.binary)
