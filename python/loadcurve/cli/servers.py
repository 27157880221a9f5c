"""``loadcurve servers``: the catalogue, as it is on this machine."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadcurve.report.text import ABSENT
from loadcurve.server.catalog import load_catalog
from loadcurve.server.check import CatalogRow, catalog_rows, check_server
from loadcurve.server.found import MissingServer, find_server
from loadcurve.study.expected import show


def list_command(catalogs: Sequence[Path]) -> None:
    """Print the whole catalogue in one table."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("server", "title", "version", "where, or how to install it"):
        table.add_column(title, overflow="fold")
    for row in catalog_rows(load_catalog(catalogs)):
        table.add_row(*[Text(cell) for cell in (row.name, row.title, row.version or row.status, _where(row))])
    Console(highlight=False).print(table)


def show_command(name: str, catalogs: Sequence[Path]) -> None:
    """Print what the catalogue knows of one server."""
    entry = load_catalog(catalogs)[name]
    row = next(row for row in catalog_rows(load_catalog(catalogs)) if row.name == name)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim")
    table.add_column()
    out = Console(highlight=False)
    facts = {
        "title": row.title,
        "status": row.status,
        "version": row.version or ABSENT,
        "where": _where(row),
        "documentation": row.documentation,
        "notes": "\n".join(entry.description.notes) or ABSENT,
    }
    for key, value in facts.items():
        table.add_row(key, Text(value))
    out.print(table)
    settings = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("setting", "default", "meaning"):
        settings.add_column(title)
    for setting, declared in entry.description.settings.items():
        settings.add_row(setting, Text(show(declared.default)), Text(declared.doc))
    if entry.description.settings:
        out.print()
        out.print(settings)


def check_command(name: str, catalogs: Sequence[Path]) -> None:
    """Start a server, verify its answers, stop it, and say so; where it is not built yet, build it first.

    Raises:
        ServerFailure: a step failed; the text says which.

    """
    entry = load_catalog(catalogs)[name]
    found = find_server(entry, {})
    if isinstance(found, MissingServer) and found.build is not None:
        found.build.run(Console(stderr=True, highlight=False).print)
    checked = check_server(entry)
    out = Console(highlight=False)
    out.print(Text(f"{name} {checked.found.version} at {checked.found.binary}"))
    out.print(f"ready after {checked.ready_after_s * 1000:,.0f} ms, verified, stopped, nothing left behind")


def _where(row: CatalogRow) -> str:
    if row.binary is not None:
        return str(row.binary)
    return row.install or row.problem or ABSENT
