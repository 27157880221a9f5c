"""One whole round with a server, and the catalogue as rows: what the command ``servers`` shows."""

import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadcurve.server.catalog import Catalog, CatalogEntry
from loadcurve.server.content import make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.install import install_command_here
from loadcurve.server.instance import Server
from loadcurve.server.settings import SettingValue

CHECK_CONTENT_BYTES = {"1k.txt": 1024, "64k.txt": 64 * 1024}
CHECK_SEED = 1


@dataclass(frozen=True)
class CheckedServer:
    """A server that was started, verified and stopped; ``ready_after_s`` runs from start to first answer."""

    found: FoundServer
    settings: Mapping[str, SettingValue]
    configuration: Mapping[str, str]
    ready_after_s: float


@dataclass(frozen=True)
class CatalogRow:
    """One server of the catalogue as it is on this machine; "broken" means there, but of unknown version."""

    name: str
    title: str
    documentation: str
    status: Literal["found", "missing", "not built", "broken"]
    version: str | None
    binary: Path | None
    problem: str | None
    install: str | None


def check_server(
    entry: CatalogEntry,
    given_settings: Mapping[str, object] | None = None,
    binary: Path | None = None,
    cpus: Collection[int] | None = None,
) -> CheckedServer:
    """Start a server with some generated content, verify every answer, and stop it.

    Raises:
        BadInput: a setting does not fit, the ledger cannot be written, or the CPUs cannot be had.
        ServerFailure: the server is missing, or fails at any step; the code says why.

    """
    found = find_server(entry, given_settings or {}, binary)
    if isinstance(found, MissingServer):
        raise found.failure()
    with tempfile.TemporaryDirectory(prefix="loadcurve-content-") as folder:
        # A server that root starts reads the content as another user.
        Path(folder).chmod(0o755)
        content = make_content(Path(folder), CHECK_CONTENT_BYTES, CHECK_SEED)
        started = time.monotonic()
        with Server(found, Path(folder), content, cpus) as server:
            ready_after_s = time.monotonic() - started
            server.verify([f"/{name}" for name in content])
            return CheckedServer(found, server.settings, server.configuration, ready_after_s)


def catalog_rows(catalog: Catalog) -> list[CatalogRow]:
    """Look for every server of a catalogue on this machine; no server is started."""
    return [_row(entry) for entry in catalog]


def _row(entry: CatalogEntry) -> CatalogRow:
    description = entry.description
    try:
        found = find_server(entry, {})
    except ServerFailure as failure:
        install = install_command_here(description.install)
        return CatalogRow(
            entry.name,
            description.title,
            description.documentation,
            "broken",
            None,
            None,
            failure.text,
            install,
        )
    if isinstance(found, MissingServer):
        return CatalogRow(
            entry.name,
            description.title,
            description.documentation,
            "missing" if found.build is None else "not built",
            None,
            None,
            found.reason,
            found.install,
        )
    return CatalogRow(
        entry.name,
        description.title,
        description.documentation,
        "found",
        found.version,
        found.binary,
        None,
        None,
    )
