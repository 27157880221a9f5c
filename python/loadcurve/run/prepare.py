"""Everything that is looked up before anything is measured."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.cpus import CpuDivision, UnusableCpu, divide_cpus
from loadcurve.result.records import ContentRecord, ServerRecord
from loadcurve.server.answers import content_name
from loadcurve.server.catalog import Catalog
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server
from loadcurve.server.instance import Server
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import LedgerEntry
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.expected import nearest, show
from loadcurve.study.model import Study
from loadcurve.study.problems import KeyPath, Problem
from loadcurve.study.requests import paths_to_verify
from loadcurve.study.tables import StudyServer
from loadcurve.study.toml_document import TomlDocument


@dataclass(frozen=True)
class Served:
    """The files that every server of a study serves."""

    folder: Path
    records: Mapping[str, ContentRecord]


def chosen_cpus(study: Study, document: TomlDocument) -> CpuDivision:
    """Return which CPUs serve and which load.

    Raises:
        BadInput: the study names a CPU that this process may not use, with its line.

    """
    try:
        return divide_cpus(study.host.server_cpus, study.host.load_cpus)
    except UnusableCpu as error:
        raise BadInput(document.report(Problem(("host", error.side), str(error)))) from error


@contextmanager
def served_content(study: Study, document: TomlDocument, seed: int) -> Iterator[Served]:
    """Yield the study's content: the person's own folder, or files generated for the length of the block.

    Raises:
        BadInput: the files cannot be read or written, or a request asks for a file that is not in the folder.

    """
    if study.content.folder is not None:
        records = content_of_folder(study.content.folder)
        _require_requested_files(study, document, records, seed)
        yield Served(study.content.folder, records)
        return
    entry: LedgerEntry | None = None
    try:
        with interrupts_deferred():
            # The ledger knows the folder, so that the next run removes it should this one be killed.
            entry = LedgerEntry("content", Path(tempfile.gettempdir()))
        folder = entry.start.private_folder
        records = make_content(folder, study.content.files, seed)
        _require_requested_files(study, document, records, seed)
        yield Served(folder, records)
    finally:
        if entry is not None:
            with interrupts_deferred():
                shutil.rmtree(entry.start.private_folder, ignore_errors=True)
                entry.remove()


def _require_requested_files(
    study: Study, document: TomlDocument, records: Mapping[str, ContentRecord], seed: int
) -> None:
    where = "[content]" if study.content.folder is None else str(study.content.folder)
    paths = [f"/{name}" for name in records]
    problems = [
        Problem(
            ("load", "requests", str(index)),
            f"found {show(path)}; expected the path of a file in {where}{nearest(path, paths)}",
        )
        for index, path in enumerate(paths_to_verify(study.load.requests, seed))
        if content_name(path) not in records
    ]
    if problems:
        raise BadInput("\n".join(document.report(problem) for problem in problems))


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
            problems.append(document.report(Problem(_place(name, server, error), str(error))))
        except ServerFailure as failure:
            found[name] = MissingServer(catalog[server.use], failure.text, None)
    if problems:
        raise BadInput("\n".join(problems))
    missing = {name: server for name, server in found.items() if isinstance(server, MissingServer)}
    if len(missing) == len(found):
        lines = [describe_missing(name, server) for name, server in missing.items()]
        raise NothingMeasured("\n".join(["none of the study's servers is installed:", *lines]))
    return found


def _place(name: str, server: StudyServer, error: BadInput) -> KeyPath:
    """Return the key of a server's table that an error is about."""
    if isinstance(error, UnusableSetting):
        return ("servers", name, error.setting)
    return ("servers", name) if server.use == name else ("servers", name, "use")


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
