"""Everything that is looked up before anything is measured."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.cpus import CpuDivision, UnusableCpu, divide_cpus, require_usable
from loadcurve.loads.kinds import WEB
from loadcurve.loads.tls import TlsTable
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.result.records import (
    ContainerRecord,
    ContentRecord,
    ServerRecord,
)
from loadcurve.runs.fitting import misfits
from loadcurve.runs.limits import limits_of, limits_record, machine_record
from loadcurve.server.answers import content_name
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import Catalog, CatalogEntry
from loadcurve.server.container.found import location_of
from loadcurve.server.container.location import InContainer
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, Overrides, find_server
from loadcurve.server.here import Server
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import LedgerEntry
from loadcurve.server.live import LiveServer
from loadcurve.server.password import with_password
from loadcurve.server.running import RunningServer, find_running_server
from loadcurve.server.settings import UnusableSetting
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.study.tables import Host, StudyServer
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.problems import KeyPath, Problem

Found = FoundServer | RunningServer
"""A server that can be measured."""


@dataclass(frozen=True)
class Served:
    """The files that every server of a study serves."""

    folder: Path
    records: Mapping[str, ContentRecord]


def chosen_cpus(study: Study, document: TomlDocument) -> CpuDivision:
    """Return which CPUs serve and which load, but for servers that are bound to others.

    Raises:
        BadInput: the study names a CPU that this process may not use, with its line.

    """
    table: KeyPath = ("host",)
    try:
        division = divide_cpus(study.host.server_cpus, study.host.load_cpus)
        for name, server in study.servers.items():
            table = ("servers", name)
            require_usable("cpus", server.cpus or ())
    except UnusableCpu as error:
        raise BadInput(document.report(Problem((*table, error.key), str(error)))) from error
    return division


def cpus_of(server: StudyServer, division: CpuDivision) -> CpuDivision:
    """Return which CPUs a server has and which its load, where others are divided like this."""
    return division if server.cpus is None else division.with_server(server.cpus)


@contextmanager
def served_content(study: Study, document: TomlDocument, seed: int) -> Iterator[Served | None]:
    """Yield the study's content: the person's own folder, or files generated for the length of the block.

    A study without content yields ``None``.

    Raises:
        BadInput: the files cannot be read or written, or a request asks for a file that is not in the folder.

    """
    if study.content is None:
        yield None
        return
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
                entry.remove()


def _require_requested_files(
    study: Study, document: TomlDocument, records: Mapping[str, ContentRecord], seed: int
) -> None:
    folder = study.content.folder if study.content else None
    where = "[content]" if folder is None else str(folder)
    paths = [f"/{name}" for name in records]
    problems = {
        Problem(
            (*arm.place("requests"), str(index)),
            f"found {show(path)}; expected the path of a file in {where}{nearest(path, paths)}",
        ): None
        for arm in study.arms.values()
        if arm.load.answer_rule == "content"
        for index, path in enumerate(arm.paths_to_verify(seed))
        if content_name(path) not in records
    }
    if problems:
        raise BadInput("\n".join(document.report(problem) for problem in problems))


def find_servers(
    study: Study, document: TomlDocument, catalog: Catalog, say: Callable[[str], None]
) -> dict[str, Found | MissingServer]:
    """Look for every server of the study, here or where it runs already; build those that lack nothing else.

    Raises:
        BadInput: the study names a server or a setting that the catalogue does not know, with its line, or
            has no content for a server to serve.
        NothingMeasured: none of the servers can be measured.

    """
    found: dict[str, Found | MissingServer] = {}
    problems = []
    for name, server in study.servers.items():
        try:
            found[name] = _find(catalog[server.use], study.arms[name], study.host, say)
        except BadInput as error:
            problems.append(document.report(Problem(_place(name, server, error), str(error))))
            continue
        problems += map(document.report, misfits(study.arms[name], found[name], study.points()[0]))
        if study.content is None and _serves_content(study.arms[name], found[name]):
            text = f"missing; expected files or a folder for the server {name} to serve"
            problems.append(document.report(Problem(("content",), text)))
    if problems:
        raise BadInput("\n".join(problems))
    _build_what_is_unbuilt(study, found, say)
    missing = {name: server for name, server in found.items() if isinstance(server, MissingServer)}
    if len(missing) == len(found):
        lines = [describe_missing(name, server) for name, server in missing.items()]
        raise NothingMeasured("\n".join(["none of the study's servers can be measured:", *lines]))
    return found


def _find(entry: CatalogEntry, arm: Arm, host: Host, say: Callable[[str], None]) -> Found | MissingServer:
    """Look for a server; one whose version or image cannot be found out is as good as missing."""
    server = arm.server
    try:
        location = location_of(entry, server, server.start, say)
    except ServerFailure as failure:
        return MissingServer(entry, str(failure), None, fault=failure)
    overrides = Overrides(
        binary=server.binary,
        start=server.start,
        url=_url(server),
        version=server.version,
        version_command=server.version_command,
        environment=server.environment,
        user=server.user,
        tls=TlsTable() if isinstance(arm.load, DatabaseLoadTable) else arm.load.tls,
        limits=limits_of(server, host),
        location=location,
    )
    runs_already = entry.description.from_study == "url"
    if runs_already and server.cpus is not None:
        text = f"not used: the server {entry.name} is already running, so Loadcurve cannot bind it to CPUs"
        raise UnusableSetting("cpus", text)
    find = find_running_server if runs_already else find_server
    try:
        return find(entry, server.settings, overrides)
    except ServerFailure as failure:
        return MissingServer(entry, failure.text, None, fault=failure)


def _url(server: StudyServer) -> str | None:
    """Return where a server runs already, with its password; raises UnusableSetting where they do not fit."""
    if server.password is None:
        return server.url
    if server.url is None:
        text = "set without url; it is for a database that is already running"
        raise UnusableSetting("password", text)
    try:
        return with_password(server.url, server.password.text)
    except BadInput as error:
        raise UnusableSetting("password", str(error)) from None


def _serves_content(arm: Arm, server: Found | MissingServer) -> bool:
    """Say whether a web server is started here, now or once it is built, for a load on web servers."""
    return server.is_started_here and server.protocol == "http" and arm.kind is WEB


def serve(found: Found | MissingServer, served: Served | None, cpus: CpuDivision) -> LiveServer:
    """Return a server that serves the content while it is entered: one that is started, or one that runs.

    Raises:
        ServerFailure: there is no such server, or it cannot be measured.

    """
    if isinstance(found, MissingServer):
        raise found.failure()
    if isinstance(found, RunningServer):
        return AttachedServer(found, None if served is None else served.records)
    if found.protocol != "http":
        return Server(found, None, {}, cpus.server)
    if served is None:
        raise BadInput(f"The server {found.entry.name} has no content to serve: the study sets none.")
    return Server(found, served.folder, served.records, cpus.server)


def _build_what_is_unbuilt(
    study: Study, found: dict[str, Found | MissingServer], say: Callable[[str], None]
) -> None:
    """Build the servers that lack nothing else, each once; one that cannot be built stays missing."""
    failures: dict[str, ServerFailure] = {}
    for name, server in found.items():
        if not isinstance(server, MissingServer) or server.build is None:
            continue
        entry = server.entry
        if entry.name not in failures:
            try:
                server.build.run(say)
            except ServerFailure as failure:
                failures[entry.name] = failure
        if entry.name in failures:
            fault = failures[entry.name]
            found[name] = MissingServer(entry, str(fault), None, fault=fault)
        else:
            found[name] = _find(entry, study.arms[name], study.host, say)


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
    found: Found, served: Served | None, arm: Arm, seed: int, cpus: CpuDivision
) -> TriedServer | ServerFailure:
    """Start a server once before the first trial, verify every path of its arm and stop it.

    What goes wrong here will go wrong in each of its trials, which is where it is recorded.
    """
    try:
        with serve(found, served, cpus) as server:
            server.verify(arm.paths_to_verify(seed), arm.load)
            return TriedServer(server.settings, server.configuration)
    except ServerFailure as failure:
        return failure


def server_record(
    server: Found | MissingServer, tried: TriedServer | ServerFailure | None, asked: StudyServer, host: Host
) -> ServerRecord:
    """Return what the record of the run says of one server."""
    description = server.entry.description
    known = tried if isinstance(tried, TriedServer) else TriedServer({}, {})
    return ServerRecord(
        title=description.title,
        catalog_entry=server.entry.name,
        status=server.status,
        version=server.version,
        binary=None if server.binary is None else str(server.binary),
        binary_sha256=_digest(server),
        settings=dict(known.settings),
        driver=dict(asked.driver),
        configuration=dict(known.configuration),
        install=server.install,
        problem=server.reason,
        documentation=description.documentation,
        limits=limits_record(asked, host),
        machine=None if asked.machine is None else machine_record(asked.machine),
        container=_container_record(server),
        cpus=None if asked.cpus is None else tuple(sorted(asked.cpus)),
    )


def _digest(server: Found | MissingServer) -> str | None:
    """Return the digest of a program on this machine; ``None`` where it cannot be read."""
    if not isinstance(server, FoundServer) or isinstance(server.location, InContainer):
        return None
    try:
        with server.binary.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _container_record(server: Found | MissingServer) -> ContainerRecord | None:
    if not isinstance(server, FoundServer) or not isinstance(server.location, InContainer):
        return None
    container = server.location
    return ContainerRecord(
        engine=container.engine.name,
        engine_version=container.engine_version,
        image=container.image.name,
        image_id=container.image.id,
        image_digest=container.image.digest,
        network=container.network,
    )
