"""One whole round with a server, and the catalogue as rows: what the command ``servers`` shows."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadcurve.errors import BadInput
from loadcurve.result.records import ContentRecord
from loadcurve.server.catalog import CatalogEntry
from loadcurve.server.content import make_content
from loadcurve.server.description import placeholders
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import NOTHING_ELSE, FoundServer, MissingServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.install import install_command_here
from loadcurve.server.settings import SettingValue
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder

CHECK_CONTENT_BYTES = {"1k.txt": 1024, "64k.txt": 64 * 1024}
CHECK_SEED = 1


@dataclass(frozen=True)
class CheckedServer:
    """A server that was started, verified and stopped."""

    found: FoundServer
    settings: Mapping[str, SettingValue]
    configuration: Mapping[str, str]
    address: str
    """Where it listened, as ``host:port``."""
    content: Mapping[str, ContentRecord]
    """What its answers were, by path; nothing of a database, and of an application that serves no files."""
    ready_after_s: float
    """From the start to the first answer."""
    stopped_after_s: float
    """From the signal until nothing was left."""


@dataclass(frozen=True)
class CatalogRow:
    """One server of the catalogue as it is on this machine; "broken" means there, but of unknown version.

    Without ``found`` there is a ``problem``, and ``install`` says what to do about it, where that is known.
    """

    entry: CatalogEntry
    status: Literal["found", "missing", "not built", "broken"]
    found: FoundServer | None
    problem: str | None
    install: str | None

    @property
    def name(self) -> str:
        """The server's name in the catalogue."""
        return self.entry.name

    @property
    def version(self) -> str | None:
        """The version that was found."""
        return None if self.found is None else self.found.version


def check_server(entry: CatalogEntry, overrides: Overrides = NOTHING_ELSE) -> CheckedServer:
    """Start a server, a web server with some generated content, verify every answer, and stop it.

    An application, which serves no files, has to be ready.

    Raises:
        BadInput: the server is one that only a study can name, or the ledger cannot be written.
        ServerFailure: the server is missing, or fails at any step; the code says why.

    """
    if entry.description.from_study is not None:
        text = f"{entry.name} is defined by a study: try it with loadcurve run --quick"
        raise BadInput(text)
    found = find_server(entry, {}, overrides)
    if isinstance(found, MissingServer):
        raise found.failure()
    if not entry.description.kind.serves_content:
        return _round_with(found, None, {})
    contents = CHECK_CONTENT_BYTES if _uses_content(entry) else {}
    with temporary_folder("content", READ_BY_ALL_MODE) as folder:
        content = make_content(folder, contents, CHECK_SEED)
        return _round_with(found, folder, content)


def _uses_content(entry: CatalogEntry) -> bool:
    """Say whether a web server serves files that are given to it, or is an application with its own pages.

    Such a one is ready by other than a file, and nothing of it names the content.
    """
    description = entry.description
    if description.messages or description.ready.is_of_files:
        return description.may_serve_files
    texts = [*(description.prepare or []), *(description.start or []), *description.environment.values()]
    used = entry.templates.check(description.config.values(), description.template_names)
    return "content" in used.union(*map(placeholders, texts))


def _round_with(
    found: FoundServer, folder: Path | None, content: Mapping[str, ContentRecord]
) -> CheckedServer:
    answers = {f"/{name}": record for name, record in content.items()}
    started = time.monotonic()
    with Server(found, folder, content) as server:
        ready = time.monotonic()
        if answers or folder is None:
            server.verify(list(answers))
        address, configuration = server.address, server.configuration
        stopping = time.monotonic()
    return CheckedServer(
        found=found,
        settings=server.settings,
        configuration=configuration,
        address=address,
        content=answers,
        ready_after_s=ready - started,
        stopped_after_s=time.monotonic() - stopping,
    )


def catalog_rows(entries: Iterable[CatalogEntry]) -> list[CatalogRow]:
    """Look for servers on this machine, but not for those that only a study can name; none is started."""
    return [_row(entry) for entry in entries if entry.description.from_study is None]


def _row(entry: CatalogEntry) -> CatalogRow:
    try:
        looked_for = find_server(entry, {})
    except ServerFailure as failure:
        install = install_command_here(entry.description.install)
        return CatalogRow(entry, "broken", None, str(failure), install)
    if isinstance(looked_for, MissingServer):
        return CatalogRow(
            entry,
            "missing" if looked_for.build is None else "not built",
            None,
            looked_for.reason,
            looked_for.install,
        )
    return CatalogRow(entry, "found", looked_for, None, None)
