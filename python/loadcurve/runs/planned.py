"""One run folder to be: a study, its servers as they were found, and the order of its trials."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loadcurve.host.cpus import CpuDivision
from loadcurve.host.own_files import remember_own
from loadcurve.loads.values import Point
from loadcurve.redaction import study_without_secrets, without_passwords_in
from loadcurve.result.folder import RunFolder
from loadcurve.result.inputs import LeftOut
from loadcurve.result.measures import PointKey
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import (
    FORMAT,
    OWN_PROGRAM,
    FailureRecord,
    GateRecord,
    PlannedTrial,
    PointRecord,
    ResumedRecord,
    RunRecord,
    ServerRecord,
)
from loadcurve.result.rig import Ceiling, Noise
from loadcurve.runs.capacity import CapacitySearch
from loadcurve.runs.display import Display
from loadcurve.runs.fitting import require_own_tables
from loadcurve.runs.generators import require_generators
from loadcurve.runs.inputs import RunInputs
from loadcurve.runs.machines import Machines, require_ray
from loadcurve.runs.other_runs import disturbing
from loadcurve.runs.own_runs import remember_begun
from loadcurve.runs.prepare import (
    Found,
    Served,
    TriedServer,
    chosen_cpus,
    describe_missing,
    find_servers,
    require_known_types,
    served_content,
    server_record,
    try_server,
)
from loadcurve.runs.resume import InterruptedRun, require_as_before
from loadcurve.runs.rig_cache import kept, rig_of
from loadcurve.runs.running_servers import utc_now
from loadcurve.runs.servers_of_start import Member
from loadcurve.runs.study_servers import with_own_programs
from loadcurve.server.catalog import Catalog
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer
from loadcurve.server.install import INSTALL_COMMANDS, Packages, install_command_here
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from loadcurve.version import VERSION


def not_installed(
    study: Study, servers: Mapping[str, object], asked_for: Collection[str]
) -> dict[str, MissingServer]:
    """Return the optional servers that are not installed; one that ``--only`` asks for is not optional.

    A server that is installed and cannot be measured, of an unknown version for instance, is not among them.
    """
    return {
        name: server
        for name, server in servers.items()
        if isinstance(server, MissingServer)
        and not server.has_trials
        and study.servers[name].optional
        and name not in asked_for
    }


def without(study: Study, left_out: Collection[str]) -> Study:
    """Return the study of the other servers."""
    kept = {name: server for name, server in study.servers.items() if name not in left_out}
    return study.model_copy(update={"servers": kept})


def left_out_record(left_out: Mapping[str, MissingServer]) -> LeftOut | None:
    """Return the servers that a run leaves out, with one command that installs all that this system has.

    Those that are installed in a version that cannot be used are no part of it.
    """
    return not_installed_record(
        {
            name: server.entry.description.install
            for name, server in left_out.items()
            if not server.is_installed
        }
    )


def not_installed_record(packages: Mapping[str, Packages]) -> LeftOut | None:
    """Return servers that are not installed, by the packages that carry them, with one command for them.

    It installs those that this system has packages of, or else the first that has a command of another kind.
    """
    if not packages:
        return None
    commands = {name: install_command_here(given) for name, given in packages.items()}
    known = [name for name, command in commands.items() if command is not None]
    of_system = [name for name in known if _is_of_system(commands[name] or "")]
    installable = of_system or known[:1]
    command = install_command_here(*(packages[name] for name in installable)) if installable else None
    return LeftOut(servers=list(packages), installable=installable, install=command)


def _is_of_system(command: str) -> bool:
    return command.startswith(tuple(INSTALL_COMMANDS.values()))


@dataclass(frozen=True)
class RunContext:
    """What all run folders of one run have in common."""

    study_file: Path
    study_name: str
    seed: int
    option_words: Sequence[str]
    """The options that changed the study, as they are given on the command line."""
    only: Sequence[str]
    """The servers that ``--only`` names."""
    catalog: Catalog
    catalogs: Sequence[Path]
    """The folders of the person's own entries."""
    facts: Mapping[str, Any]
    """Those of the host."""
    display: Display
    machines: Machines


class PlannedRun:
    """What goes into one run folder: a study, and the servers that its trials start."""

    def __init__(
        self,
        context: RunContext,
        document: TomlDocument,
        study: Study,
        folder: Path,
        *,
        beside: Mapping[str, list[str]] = MappingProxyType({}),
        own_points: Mapping[PointKey, Point] = MappingProxyType({}),
        search: CapacitySearch | None = None,
        resumed: InterruptedRun | None = None,
        gate: GateRecord | None = None,
    ) -> None:
        """Look for the servers of a study and build those that need it; none is started.

        ``beside`` has the servers that are under load with those of its arms, by arm, and ``own_points`` the
        study's names for the points of the run, where they are other ones.

        Raises:
            BadInput: the study cannot be used.
            NothingMeasured: none of the servers can be measured.

        """
        self._context = context
        self._document = document
        self._beside = beside
        self._own_points = own_points
        self._search = search
        self._resumed = resumed
        self._gate = gate
        self.folder = folder
        study = with_own_programs(study, context.catalog)
        require_known_types(study, document)
        require_ray(study, document)
        require_generators(
            study,
            document,
            context.catalog,
            has_other_loads=bool(self._beside),
            searched=search.record.key if search else None,
        )
        machines = {name: context.machines.at(study.server_machine_of(name)) for name in study.servers}
        self.cpus, self._cpus = chosen_cpus(study, document, machines)
        rig = rig_of(self.cpus, context.facts)
        # Both were measured with servers of this machine.
        is_elsewhere = any(machines.values())
        self.ceiling = resumed.run.run.ceiling if resumed else None if is_elsewhere else kept(Ceiling, rig)
        self._noise = resumed.run.run.noise if resumed else None if is_elsewhere else kept(Noise, rig)
        found = find_servers(study, document, context.catalog, context.display.note, machines)
        missing = not_installed(study, found, context.only)
        self.left_out: LeftOut | None = left_out_record(missing)
        self._unfit = {name: server.reason for name, server in missing.items() if server.is_installed}
        self.study = without(study, missing)
        self.servers: dict[str, Found | MissingServer] = {name: found[name] for name in self.study.servers}
        require_own_tables(self.study, document, self.servers)
        self.order: list[PlannedTrial] = []
        """Its trials, set once all servers of the run are known."""

    @property
    def first_block(self) -> int:
        """The first block to measure: 0, unless the run is resumed."""
        return self._resumed.first_block if self._resumed else 0

    @property
    def servers_with_trials(self) -> list[str]:
        """The servers that are to be measured, or fail in each of their trials."""
        return [name for name, server in self.servers.items() if server.has_trials]

    def content(self) -> AbstractContextManager[Served | None]:
        """Return the study's content for the length of a block; raises as ``served_content``."""
        return served_content(self.study, self._document, self._context.seed)

    def member(self, trial: PlannedTrial, served: Served | None) -> Member:
        """Return the server of a trial, to be started."""
        found = self.servers[trial.server]
        cpus = self._cpus_of(trial.server)
        return Member(self.study, trial, found, served, cpus, self.ceiling, self._own_points)

    def notes(self) -> Iterator[str]:
        """Yield what a person should know before anything is measured."""
        for name, server in self.servers.items():
            if isinstance(server, MissingServer):
                yield describe_missing(name, server)
        for name, reason in self._unfit.items():
            yield f"left out: {name}, because {reason}"
        if self.left_out:
            yield self.left_out.words
        yield from filter(None, dict.fromkeys(arm.load.requests_left_out for arm in self.study.arms.values()))

    def shared_cpus(self) -> Iterator[Caveat]:
        """Yield what must be known of the whole run; servers that run already were bound by others."""
        started = [name for name, server in self.servers.items() if server.is_started_here]
        sharing: dict[tuple[int, ...], list[str]] = {}
        for name in started:
            sharing.setdefault(self._cpus_of(name).overlap, []).append(name)
        for cpus, names in sharing.items():
            if cpus:
                shared, named = ", ".join(map(str, cpus)), ", ".join(names)
                shared = f"CPU {shared}" if len(cpus) == 1 else f"CPUs {shared}"
                all_share = f"the servers and the load share {shared}"
                some_share = f"the load shares {shared} with {named}"
                yield disturbing("cpus_shared", all_share if names == started else some_share)

    @property
    def server_cpus(self) -> Mapping[str, Sequence[int]]:
        """The CPUs of each server."""
        return {name: cpus.server for name, cpus in self._cpus.items()}

    def _cpus_of(self, server: str) -> CpuDivision:
        return self._cpus[server]

    def require_as_before(self, served: Served | None) -> None:
        """Raise ``BadInput`` where anything has changed since the run that is resumed began; starts nothing.

        What only a start of a server shows, :meth:`opened_folder` compares.
        """
        if self._resumed is not None:
            record = self._record(served, (), self._server_records({}))
            require_as_before(self.folder, self._resumed.run.run, record, tried=False)

    def opened_folder(self, served: Served | None, caveats: tuple[Caveat, ...]) -> RunFolder:
        """Return the folder for the records: a new one, or that of the run that is resumed.

        Raises:
            BadInput: it cannot be written, or something has changed since the run that is resumed was begun.

        """
        tried = self._tried(served)
        record = self._record(served, caveats, self._server_records(tried))
        self._give_up(tried)
        if self._resumed is None:
            remember = partial(remember_begun, self.folder)
            study_text, inputs = self._study_text(), self._inputs
            remember_own("studies", study_text.encode())
            return RunFolder.create(self.folder, record, study_text, remember, inputs.copy_into)
        before = self._resumed.run.run
        require_as_before(self.folder, before, record)
        new_caveats = tuple(caveat for caveat in caveats if caveat not in before.caveats)
        block = self._resumed.first_block
        resumed = ResumedRecord(kind="resumed", block=block, started_at=utc_now(), caveats=new_caveats)
        self._resumed.folder.append(resumed)
        return self._resumed.folder

    def records_of_whole_blocks(self) -> list[PointRecord | FailureRecord]:
        """Return what the run that is resumed has measured in blocks that are whole."""
        if self._resumed is None:
            return []
        return [record for record in self._resumed.run.records if record.block < self._resumed.first_block]

    def _record(
        self, served: Served | None, caveats: tuple[Caveat, ...], servers: Mapping[str, ServerRecord]
    ) -> RunRecord:
        context = self._context
        return RunRecord(
            format=FORMAT,
            loadcurve_version=VERSION,
            started_at=utc_now(),
            study_file=str(context.study_file.absolute()),
            seed=context.seed,
            options=[*context.option_words],
            study_name=context.study_name,
            study=self._study_record(),
            order=self.order,
            points=[] if self._search else self.study.points(),
            search=self._search.record if self._search else None,
            gate=self._gate,
            host={**context.facts, "server_cpus": self.cpus.server, "load_cpus": self.cpus.load},
            machines=context.machines.records(self.study),
            ceiling=self.ceiling,
            noise=self._noise,
            servers=servers,
            left_out=self.left_out,
            unfit=self._unfit,
            content=dict(served.records) if served else {},
            inputs=self._inputs.records,
            caveats=caveats,
        )

    @cached_property
    def _inputs(self) -> RunInputs:
        """The files of the study, and of the catalogues that its servers are described in."""
        used = list(dict.fromkeys(server.use for server in self.study.servers.values()))
        document = TomlDocument.read(self._context.study_file)
        own = [name for name, server in self.study.servers.items() if server.use == OWN_PROGRAM]
        if own and self._gate is not None and self._gate.origin is not None:
            own = [self._gate.origin]
        return RunInputs(document, self._context.catalogs, used, own)

    def _study_record(self) -> dict[str, Any]:
        """Return the study with every default filled in, the names of its files' copies, and no password."""
        return self._inputs.recorded(without_passwords_in(self.study.model_dump(mode="json")))

    def _tried(self, served: Served | None) -> Mapping[str, TriedServer | ServerFailure]:
        """Start each server once, and return what came of it."""
        found = {}
        for name, server in self.servers.items():
            if not isinstance(server, MissingServer):
                arm, cpus = self.study.arms[name], self._cpus_of(name)
                found[name] = tried = try_server(
                    server, served, arm, self._context.seed, cpus, say=self._context.display.note
                )
                if isinstance(tried, ServerFailure):
                    self._context.display.server_failed(name, tried)
        return found

    def _give_up(self, tried: Mapping[str, TriedServer | ServerFailure]) -> None:
        """Let each trial of a server that has failed fail with what is known, without another attempt."""
        for name, failure in tried.items():
            if isinstance(failure, ServerFailure):
                entry = self.servers[name].entry
                self.servers[name] = MissingServer(entry, failure.text, None, fault=failure)

    def _server_records(self, tried: Mapping[str, TriedServer | ServerFailure]) -> Mapping[str, ServerRecord]:
        records = {}
        for name, server in self.servers.items():
            cpus = None if self._cpus_of(name) == self.cpus else self._cpus_of(name)
            record = server_record(self.study, name, server, tried.get(name), cpus)
            records[name] = record.model_copy(update={"beside": self._beside.get(name, [])})
        return records

    def _study_text(self) -> str:
        """Return the study as it was read, but for passwords, which others may see, and names of files."""
        text = study_without_secrets(self._context.study_file.read_text(encoding="utf-8"))
        return self._inputs.study_text(text)
