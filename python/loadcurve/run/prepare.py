"""Everything that is looked up before anything is measured."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.cpus import CpuDivision
from loadcurve.result.records import ContentRecord, ServerRecord
from loadcurve.server.catalog import Catalog
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.instance import Server
from loadcurve.server.ledger import LedgerEntry
from loadcurve.study.model import Study
from loadcurve.study.problems import Problem
from loadcurve.study.toml_document import TomlDocument


@dataclass(frozen=True)
class Served:
    """The files that every server of a study serves."""

    folder: Path
    records: Mapping[str, ContentRecord]


@contextmanager
def served_content(study: Study, seed: int) -> Iterator[Served]:
    """Yield the study's content: the person's own folder, or files generated for the length of the block.

    Raises:
        BadInput: the files cannot be read or written.

    """
    if study.content.folder is not None:
        yield Served(study.content.folder, content_of_folder(study.content.folder))
        return
    # The ledger knows the folder, so that the next run removes it should this one be killed.
    entry = LedgerEntry("content", Path(tempfile.gettempdir()))
    folder = entry.start.private_folder
    try:
        yield Served(folder, make_content(folder, study.content.files, seed))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        entry.remove()


def find_servers(
    study: Study, document: TomlDocument, catalog: Catalog
) -> dict[str, FoundServer | MissingServer]:
    """Look for every server of the study on this machine.

    Raises:
        BadInput: the study names a server or a setting that the catalogue does not know, with its line.
        NothingMeasured: none of the servers is installed.

    """
    found: dict[str, FoundServer | MissingServer] = {}
    problems = []
    for name, server in study.servers.items():
        binary = None if server.binary is None else Path(server.binary)
        try:
            found[name] = find_server(catalog[server.use], server.settings, binary)
        except BadInput as error:
            problems.append(document.report(Problem(("servers", name), str(error))))
        except ServerFailure as failure:
            found[name] = MissingServer(catalog[server.use], failure.text, None)
    if problems:
        raise BadInput("\n".join(problems))
    missing = {name: server for name, server in found.items() if isinstance(server, MissingServer)}
    if len(missing) == len(found):
        lines = [describe_missing(name, server) for name, server in missing.items()]
        raise NothingMeasured("\n".join(["none of the study's servers is installed:", *lines]))
    return found


def describe_missing(name: str, server: MissingServer) -> str:
    """Return one line that says why a server cannot be measured and how to install it."""
    hint = f"; install it with: {server.install}" if server.install else ""
    return f"{name} is not measured: {server.reason}{hint}"


@dataclass(frozen=True)
class TriedServer:
    """A server as it ran once before the first trial: its settings in use and its rendered configuration."""

    settings: Mapping[str, object]
    configuration: Mapping[str, str]


def try_server(
    found: FoundServer, served: Served, paths: list[str], cpus: CpuDivision
) -> TriedServer | ServerFailure:
    """Start a server once before the first trial, verify every path and stop it.

    What goes wrong here will go wrong in each of its trials, which is where it is recorded.
    """
    try:
        with Server(found, served.folder, served.records, cpus.server) as server:
            server.verify(paths)
            return TriedServer(server.settings, server.configuration)
    except ServerFailure as failure:
        return failure


def server_record(
    server: FoundServer | MissingServer, tried: TriedServer | ServerFailure | None
) -> ServerRecord:
    """Return what the record of the run says of one server."""
    description = server.entry.description
    known = tried if isinstance(tried, TriedServer) else TriedServer({}, {})
    return ServerRecord(
        title=description.title,
        catalog_entry=server.entry.name,
        status="found" if isinstance(server, FoundServer) else "missing",
        version=server.version if isinstance(server, FoundServer) else None,
        binary=str(server.binary) if isinstance(server, FoundServer) else None,
        settings=dict(known.settings),
        configuration=dict(known.configuration),
        install=server.install if isinstance(server, MissingServer) else None,
        documentation=description.documentation,
    )
