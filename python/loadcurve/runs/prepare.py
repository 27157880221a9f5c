"""Everything that is looked up before anything is measured."""

import functools
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.host.cpus import CpuDivision, UnusableCpu, cpus_apart, divide_cpus, require_usable
from loadcurve.result.records import ContainerRecord, ContentRecord, ServerRecord
from loadcurve.runs.fitting import misfits, tls_in_vain
from loadcurve.runs.generators import require_generators
from loadcurve.runs.limits import limits_record, machine_record
from loadcurve.runs.newer_servers import newer_servers
from loadcurve.runs.slow_start import slow_start_said
from loadcurve.runs.study_servers import needs_content, overrides_of, programs_of, with_own_programs
from loadcurve.server.answers import content_name
from loadcurve.server.attached import AttachedServer
from loadcurve.server.catalog import Catalog, CatalogEntry
from loadcurve.server.container.found import location_of
from loadcurve.server.content import content_of_folder, make_content
from loadcurve.server.elsewhere import ServerElsewhere, ServerMachine, ServerOnMachine
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import FoundServer, MissingServer, find_server, require_as_given
from loadcurve.server.found_record import (
    container_record,
    digest_of,
    digest_of_running,
    files_of_programs,
    files_of_start,
)
from loadcurve.server.here import Server
from loadcurve.server.interrupts import interrupts_deferred
from loadcurve.server.ledger import LedgerEntry
from loadcurve.server.live import LiveServer
from loadcurve.server.location import THIS_MACHINE
from loadcurve.server.running import RunningServer, find_running_server, given_of_running
from loadcurve.server.settings import UnsupportedVersion, UnusableSetting, choose_settings
from loadcurve.server.several import FoundPrograms, find_programs, require_programs_as_given
from loadcurve.server.together import ServerOfPrograms
from loadcurve.study.arm import Arm
from loadcurve.study.model import Study
from loadcurve.study.several import is_of_several, parts_of
from loadcurve.study.tables import StudyServer
from loadcurve.toml.document import TomlDocument
from loadcurve.toml.expected import nearest, show
from loadcurve.toml.problems import KeyPath, Problem
from loadcurve.units import listing

Found = FoundServer | FoundPrograms | RunningServer | ServerOnMachine
"""A server that can be measured."""


@dataclass(frozen=True)
class Served:
    """The files that every server of a study serves."""

    folder: Path
    records: Mapping[str, ContentRecord]


def chosen_cpus(
    study: Study, document: TomlDocument, machines: Mapping[str, ServerMachine | None]
) -> tuple[CpuDivision, dict[str, CpuDivision]]:
    """Return which CPUs serve, on this machine or another, and which load; in general, and by server.

    ``machines`` has the place of each server. The load has the same CPUs whatever server it meets.

    Raises:
        BadInput: the study names a CPU that this process may not use, or that the machine does not have, with
            its line.

    """
    table: KeyPath = ("host",)
    try:
        placed = sorted(study.servers, key=lambda name: study.servers[name].server_machine is not None)
        usual = machines[placed[0]]
        if usual is None:
            division = divide_cpus(study.host.server_cpus, study.host.load_cpus)
        else:
            division = cpus_apart(study.host.server_cpus, study.host.load_cpus, usual.cpus)
        by_server = {}
        for name, server in study.servers.items():
            table = ("servers", name)
            machine = machines[name]
            require_usable("cpus", server.cpus or (), None if machine is None else machine.cpus)
            own = division if machine is usual else _division_on(machine, division)
            by_server[name] = own if server.cpus is None else own.with_server(server.cpus)
    except UnusableCpu as error:
        raise BadInput(document.report(Problem((*table, error.key), str(error)))) from error
    return division, by_server


def _division_on(machine: ServerMachine | None, usual: CpuDivision) -> CpuDivision:
    """Return which CPUs serve on another machine than that of most servers, under the same load."""
    if machine is None:
        return divide_cpus(None, usual.load)
    return cpus_apart(None, usual.load, machine.cpus)


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
        require_requested_files(study, document, records, seed)
        yield Served(study.content.folder, records)
        return
    entry: LedgerEntry | None = None
    try:
        with interrupts_deferred():
            # The ledger knows the folder, so that the next run removes it should this one be killed.
            entry = LedgerEntry("content", Path(tempfile.gettempdir()))
        folder = entry.start.private_folder
        records = make_content(folder, study.content.files, seed)
        require_requested_files(study, document, records, seed)
        yield Served(folder, records)
    finally:
        if entry is not None:
            with interrupts_deferred():
                entry.remove()


def require_requested_files(study: Study, document: TomlDocument, names: Collection[str], seed: int) -> None:
    """Raise ``BadInput`` with its line where a request asks for a file that the content does not have."""
    folder = study.content.folder if study.content else None
    where = "[content]" if folder is None else str(folder)
    paths = [f"/{name}" for name in names]
    problems = {
        Problem(
            (*arm.place("requests"), str(index)),
            f"found {show(path)}; expected the path of a file in {where}{nearest(path, paths)}",
        ): None
        for arm in study.arms.values()
        for index, path in enumerate(arm.load.paths_of_content(seed))
        if content_name(path) not in names
    }
    if problems:
        raise BadInput("\n".join(document.report(problem) for problem in problems))


def find_servers(
    study: Study,
    document: TomlDocument,
    catalog: Catalog,
    say: Callable[[str], None],
    machines: Mapping[str, ServerMachine | None] = MappingProxyType({}),
) -> dict[str, Found | MissingServer]:
    """Look for every server of the study; build those that lack nothing else.

    They are looked for here, on the machine where they are to run, or where they run already.

    Raises:
        BadInput: the study names a server or a setting that the catalogue does not know, with its line, or
            has no content for a server to serve.
        NothingMeasured: none of the servers can be measured.

    """
    require_fitting(study, document, catalog)
    folder = document.path.parent.absolute()

    @functools.cache
    def look_for(name: str, program: Path | None) -> Found | MissingServer:
        entry, machine = catalog[study.servers[name].use], machines.get(name)
        return _find(entry, study.arms[name], study, folder, say, machine=machine, program=program)

    newer = newer_servers(study, catalog, look_for, say, machines)
    found: dict[str, Found | MissingServer] = {}
    problems = []
    for name, server in study.servers.items():
        try:
            found[name] = look_for(name, newer.get(name))
        except UnsupportedVersion as error:
            if not server.optional:
                place = _as_written(_place(name, server, error), document)
                problems.append(document.report(Problem(place, str(error))))
            found[name] = MissingServer(catalog[server.use], str(error), None, is_installed=True)
            continue
        except BadInput as error:
            place = _as_written(_place(name, server, error), document)
            problems.append(document.report(Problem(place, str(error))))
            continue
        problems += _reported(misfits(study.arms[name], found[name], study.points()[0]), document)
    if problems:
        raise BadInput("\n".join(dict.fromkeys(problems)))
    _build_what_is_unbuilt(study, folder, found, say)
    missing = {name: server for name, server in found.items() if isinstance(server, MissingServer)}
    if len(missing) == len(found):
        alike: dict[str, list[str]] = {}
        for name, one in missing.items():
            alike.setdefault(_why_missing(one), []).append(name)
        lines = [_not_measured(names, why) for why, names in alike.items()]
        raise NothingMeasured("\n".join(["none of the study's servers can be measured:", *lines]))
    return found


def _find(
    entry: CatalogEntry,
    arm: Arm,
    study: Study,
    folder: Path,
    say: Callable[[str], None],
    *,
    machine: ServerMachine | None = None,
    program: Path | None = None,
) -> Found | MissingServer:
    """Look for a server; one whose version or image cannot be found out is as good as missing.

    ``folder`` is that of the study; ``program`` is that of the server, where the study names none.
    """
    server = arm.server
    runs_already = entry.description.from_study == "url"
    elsewhere = None if runs_already else machine
    try:
        location = THIS_MACHINE if elsewhere else location_of(entry, server, server.start, say)
    except ServerFailure as failure:
        return MissingServer(entry, str(failure), None, fault=failure)
    overrides = overrides_of(entry, arm, study, None if elsewhere else folder, location)
    overrides = replace(overrides, binary=overrides.binary or program)
    find = find_running_server if runs_already else find_server
    try:
        if programs := programs_of(entry, arm, None if elsewhere else folder):
            return find_programs(entry, server.settings, overrides, programs)
        if elsewhere:
            return elsewhere.find(entry, server.settings, overrides, server, say)
        found = find(entry, server.settings, overrides)
    except ServerFailure as failure:
        return MissingServer(entry, failure.text, None, fault=failure)
    if isinstance(found, RunningServer):
        say(f"{arm.name}: {found.what_is_measured}")
    return found


def _require_as_given(entry: CatalogEntry, arm: Arm, study: Study, folder: Path) -> None:
    """Require of a server all that is known without looking for it; raises UnusableSetting."""
    is_here = study.server_machine_of(arm.name) is None
    overrides = overrides_of(entry, arm, study, folder if is_here else None, THIS_MACHINE)
    settings = arm.server.settings
    if programs := programs_of(entry, arm, folder if is_here else None):
        require_programs_as_given(entry, settings, overrides, programs)
        return
    if entry.description.from_study == "url":
        given_of_running(entry, settings, overrides)
    elif arm.server.engine is not None:
        # What a container starts by itself, and on which port, only its image says.
        choose_settings(entry.name, entry.description.settings, settings)
    else:
        require_as_given(entry, settings, overrides)


def require_fitting(study: Study, document: TomlDocument, catalog: Catalog) -> None:
    """Require of a study's servers all that is known without looking for them, or starting anything.

    Raises:
        BadInput: the study names a server or a setting that the catalogue does not know, or what a server
            cannot be given, with its line, or has no content for a server to serve.

    """
    problems = []
    for name, server in study.servers.items():
        arm = study.arms[name]
        try:
            entry = catalog[server.use]
            _require_as_given(entry, arm, study, document.path.parent.absolute())
        except BadInput as error:
            place = _as_written(_place(name, server, error), document)
            problems.append(document.report(Problem(place, str(error))))
            continue
        unfound = MissingServer(entry, "", None)
        if server.engine is None:
            # A server that cannot run in a container is refused for that, where the container is looked for.
            problems += _reported(misfits(arm, unfound, study.points()[0]), document)
        serves = unfound.kind is arm.kind and arm.kind.serves_content
        if study.content is None and serves and needs_content(entry, server):
            text = f"missing; expected files or a folder for the server {name} to serve"
            problems.append(document.report(Problem(("content",), text)))
    if not problems:
        in_vain = tls_in_vain(study, catalog, functools.partial(_as_written, document=document))
        problems += map(document.report, in_vain)
    if problems:
        # What is wrong with a swept setting is so for every arm of the server.
        raise BadInput("\n".join(dict.fromkeys(problems)))


def serve(found: Found | MissingServer, served: Served | None, cpus: CpuDivision) -> LiveServer:
    """Return a server that serves the content while it is entered: one that is started, or one that runs.

    Raises:
        ServerFailure: there is no such server, or it cannot be measured.

    """
    if isinstance(found, MissingServer):
        raise found.failure()
    if isinstance(found, RunningServer):
        return AttachedServer(found, None if served is None else served.records)
    folder, records = (None, {}) if served is None else (served.folder, served.records)
    if not found.kind.serves_content:
        folder, records = None, {}
    elif served is None and not (found.entry.description.is_own_program or found.entry.description.messages):
        raise BadInput(f"The server {found.entry.name} has no content to serve: the study sets none.")
    if isinstance(found, ServerOnMachine):
        return ServerElsewhere(found, folder, records, cpus.server)
    if isinstance(found, FoundPrograms):
        return ServerOfPrograms(found, folder, records, cpus.server)
    return Server(found, folder, records, cpus.server)


def _build_what_is_unbuilt(
    study: Study, folder: Path, found: dict[str, Found | MissingServer], say: Callable[[str], None]
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
            found[name] = _find(entry, study.arms[name], study, folder, say)


def _place(name: str, server: StudyServer, error: BadInput) -> KeyPath:
    """Return the key of a server's table that an error is about."""
    if isinstance(error, UnusableSetting):
        return ("servers", name, *error.setting.split("."))
    return ("servers", name) if server.use == name else ("servers", name, "use")


def _reported(problems: Iterable[Problem], document: TomlDocument) -> Iterator[str]:
    """Yield each with the line of the study, which may have the settings of an arm in its sweep."""
    for problem in problems:
        yield document.report(Problem(_as_written(problem.path, document), problem.text))


def _as_written(place: KeyPath, document: TomlDocument) -> KeyPath:
    """Return where the study says what is wrong with an arm: in its sweep, or in the table of its server."""
    tables, sweep = document.data.get("servers"), document.data.get("sweep")
    head, name, *keys = place
    if head != "servers" or not isinstance(tables, dict) or name in tables:
        return place
    if isinstance(sweep, dict) and keys and keys[0] in sweep:
        return ("sweep", keys[0])
    beginnings = [one for one in tables if f"{name}-".startswith(f"{one}-")]
    return ("servers", max(beginnings, key=len), *keys) if beginnings else place


def describe_missing(name: str, server: MissingServer) -> str:
    """Return one line that says why a server cannot be measured and how to install it."""
    return _not_measured([name], _why_missing(server))


def _not_measured(names: Sequence[str], why: str) -> str:
    return f"{listing(names)} {'is' if len(names) == 1 else 'are'} not measured: {why}"


def _why_missing(server: MissingServer) -> str:
    return f"{server.reason}{f'; install it with: {server.install}' if server.install else ''}"


@dataclass(frozen=True)
class TriedServer:
    """A server as it ran once before the first trial: its settings in use and its rendered configuration."""

    settings: Mapping[str, object]
    configuration: Mapping[str, str]


def try_server(
    found: Found,
    served: Served | None,
    arm: Arm,
    seed: int,
    cpus: CpuDivision,
    *,
    say: Callable[[str], None],
) -> TriedServer | ServerFailure:
    """Start a server once before the first trial, verify every path of its arm and stop it.

    What goes wrong here will go wrong in each of its trials, which is where it is recorded. What takes long
    is said.
    """
    try:
        server = serve(found, served, cpus)
        with ExitStack() as started:
            with slow_start_said(arm.name, found, server, say):
                started.enter_context(server)
            server.verify(arm.paths_to_verify(seed), arm.load_to_verify)
            return TriedServer(server.settings, server.configuration)
    except ServerFailure as failure:
        return failure


def require_known_types(study: Study, document: TomlDocument) -> None:
    """Raise ``BadInput`` with its line where a machine of the study is of a type that is not known."""
    for name, table in study.machines.items():
        try:
            if table.type is not None:
                machine_record(table.type)
        except BadInput as error:
            raise BadInput(document.report(Problem(("machines", name, "type"), str(error)))) from None


def server_record(
    study: Study,
    name: str,
    server: Found | MissingServer,
    tried: TriedServer | ServerFailure | None,
    cpus: CpuDivision | None,
) -> ServerRecord:
    """Return what the run's record says of a server; ``cpus`` where they differ from the usual ones."""
    asked, place = study.servers[name], study.server_machine_of(name)
    description = server.entry.description
    known = tried if isinstance(tried, TriedServer) else TriedServer({}, {})
    # One that is imitated on the machine goes before the machine's own.
    type_name = asked.machine or (place and place[1].type)
    return ServerRecord(
        title=description.title,
        catalog_entry=server.entry.name,
        status=server.status,
        version=server.version,
        binary=None if server.binary is None else str(server.binary),
        binary_sha256=_digest(server),
        start_sha256=_files_of_start(server),
        settings=dict(known.settings),
        driver=dict(asked.driver),
        configuration=dict(known.configuration),
        install=server.install,
        problem=server.reason,
        documentation=description.documentation,
        limits=limits_record(asked, study.host),
        machine=None if type_name is None else machine_record(type_name),
        container=_container(server),
        cpus=None if cpus is None else cpus.server,
        server_machine=None if place is None else place[0],
        load_machines=study.sending_machines_of(name),
    )


def _files_of_start(server: Found | MissingServer) -> dict[str, str]:
    """Return the digests of what the commands of a server name, its other programs among them, by path."""
    if isinstance(server, FoundPrograms):
        return files_of_programs(server)
    return files_of_start(server) if isinstance(server, FoundServer) else {}


def _digest(server: Found | MissingServer) -> str | None:
    """Return the digest of a program where it runs; ``None`` where it cannot be read."""
    if isinstance(server, ServerOnMachine):
        return server.binary_sha256
    if isinstance(server, RunningServer):
        return digest_of_running(server)
    if isinstance(server, FoundPrograms):
        return digest_of(server.serving.found)
    return digest_of(server) if isinstance(server, FoundServer) else None


def _container(server: Found | MissingServer) -> ContainerRecord | None:
    if isinstance(server, ServerOnMachine):
        return server.container
    return container_record(server) if isinstance(server, FoundServer) else None


def checked_studies(file: Path, catalog: Catalog) -> list[Study]:
    """Return the study of a file, or those of its loads, as a run would accept them; nothing is started.

    Servers are not looked for, so what only an installed version shows is left to the run.

    Raises:
        BadInput: a run would refuse it.

    """
    document = TomlDocument.read(file)
    found: list[tuple[TomlDocument, Study]] = []
    if is_of_several(document):
        found += [(load.document, study) for load, study in parts_of(document)]
    else:
        found += [(document, document.to_model(Study))]
    found = [(of_part, with_own_programs(study, catalog)) for of_part, study in found]
    for of_part, study in found:
        _require(study, of_part, catalog, has_other_loads=len(found) > 1)
    return [study for _, study in found]


def _require(study: Study, document: TomlDocument, catalog: Catalog, *, has_other_loads: bool) -> None:
    require_known_types(study, document)
    require_generators(study, document, catalog, has_other_loads=has_other_loads)
    if not any(map(study.server_machine_of, study.servers)):
        chosen_cpus(study, document, dict.fromkeys(study.servers))
    require_fitting(study, document, catalog)
    if study.content is not None:
        folder = study.content.folder
        names = study.content.files if folder is None else content_of_folder(folder)
        require_requested_files(study, document, names, seed=0)
