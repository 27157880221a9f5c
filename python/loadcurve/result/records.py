"""The records of a run folder: ``run.json`` (one :class:`RunRecord`) and the lines of ``trials.jsonl``."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, WithJsonSchema, field_validator

from loadcurve.loads.values import Point, PositiveCount
from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.checksum import with_checksum
from loadcurve.result.inputs import InputRecord, LeftOut, require_host, require_study, with_kept_catalogs
from loadcurve.result.link import LinkRecord
from loadcurve.result.load import LoadResult
from loadcurve.result.other_formats import run_as_today, trial_as_today
from loadcurve.result.outcomes import Caveat, Reason
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.rig import Ceiling, Noise
from loadcurve.result.run_files import STUDY_FILE


class PlannedTrial(Record):
    """One place in the order of trials."""

    trial: Count
    block: Count
    server: str


class BurstRecord(Record):
    """CPU credits that were imitated: beyond the baseline a server used up what it had of them."""

    credits: Time
    """At the start of the server; one is one CPU of its machine type, used for a minute."""
    baseline_share: Annotated[float, Field(gt=0)]
    """Of its CPUs: what it earns, and what remains when the credits are used up."""
    restarted: bool = True
    """Whether each start of the server is one of its machine, which renews the credits."""


KERNEL_PERIOD_MS = 100.0
"""The kernel's default for the period in which a share of CPUs is counted."""


class LimitsRecord(Record):
    """What a server was held to; ``None`` where a resource was not limited."""

    cpus: Annotated[float, Field(gt=0)] | None
    memory_bytes: Count | None
    burst: BurstRecord | None = None
    """``None`` where its CPUs did not depend on credits."""
    period_ms: Annotated[float, Field(gt=0)] | None = KERNEL_PERIOD_MS
    """Within which ``cpus`` was counted; runs of the first versions do not have the key."""


class MachineRecord(Record):
    """The machine type that a server's machine stood for, or is of, with the price that its table gives."""

    name: str
    vcpus: Count
    memory_bytes: Count
    network: str
    burstable: bool
    price_usd_per_hour: Annotated[float, Field(gt=0)]
    priced_on: str
    """The date of the price."""
    region: str


class ContainerRecord(Record):
    """The container that a server ran in."""

    engine: str
    engine_version: str
    image: str
    image_id: str
    """The digest of the image's configuration, which names its layers."""
    image_digest: str | None
    """The digest of its manifest, by which a registry knows it."""
    network: Literal["host", "private"]


IMPORTED_ENTRY = "imported"
"""What is in the place of a catalogue's entry in the record of an imported server."""


OWN_PROGRAM = "command"
"""The catalogue's entry for a program that the study itself names."""
SINGLE_LOAD = "load"
"""The study's name of every run of ``loadcurve load``."""
RUNNING_SERVER = "url"
"""The catalogue's entry for a server that runs already, perhaps on another machine."""


class ServerRecord(Record):
    """One server of the study as it was found on this machine."""

    title: str
    catalog_entry: str
    """:data:`IMPORTED_ENTRY` for a server of which an import knows the name alone."""
    status: Literal["found", "missing"]
    version: str | None
    binary: str | None
    binary_sha256: str | None = None
    """The digest of the program; ``None`` where it cannot be read, as in a container."""
    start_sha256: dict[str, str] = Field(default_factory=dict)
    """The digest of each file that the server's command names beside its program, such as a script, by path.

    Records may lack it.
    """
    settings: dict[str, Any]
    driver: dict[str, Any] = Field(default_factory=dict)
    """How a load asks a database, by the settings of its driver."""
    configuration: dict[str, str]
    """Rendered configuration files by name, with placeholders for the port and the folders of a start."""
    install: str | None
    """How to install a missing server, as a command."""
    problem: str | None = None
    """What was looked for in vain, or what is wrong with what was found."""
    documentation: str | None
    limits: LimitsRecord | None
    machine: MachineRecord | None
    container: ContainerRecord | None = None
    """``None`` for a server that ran on this machine itself, and for one that is missing."""
    beside: Many[str] = Field(default_factory=list)
    """The servers that were under load with it, in a study of several loads."""
    cpus: tuple[Count, ...] | None = None
    """The CPUs that it alone was bound to; ``None`` where it had those of the run's ``host``."""
    server_machine: str | None = None
    """The other machine on which it ran, by its name in the study; ``None`` for this one."""
    load_machines: Many[str] | None = None
    """The machines that shared its load, by name; ``None`` where the run sent it. Records may lack it."""


class ContentRecord(Record):
    """One file that every server serves."""

    bytes: Count
    sha256: str


class SearchRecord(Record):
    """A search for the highest load at which limits hold, whose points were chosen as it continued."""

    key: str
    """The key of the load that was searched along."""
    low: Annotated[float, Field(gt=0)]
    high: Annotated[float, Field(gt=0)]
    slo: str
    """The limits as they were given, such as ``p99 < 10ms, errors < 0.1 %``."""


GATE_BLOCKS_MAX = 300


class GateRecord(Record):
    """A gate: two servers in turn, until it is decided whether the second one is worse."""

    base: str
    """The name of the server to compare with."""
    head: str
    """That of the server with the change."""
    origin: str | None
    """The server of the study that both are made of; ``None`` where the study has the two."""
    least: Annotated[float, Field(gt=0, lt=1)]
    """The least regression that counts, such as 0.03 for 3 %."""
    measures: Many[str]
    """The measures that are gated, by name."""
    budget_s: Annotated[float, Field(gt=0)]
    """How long it may take."""
    blocks: Annotated[int, Field(ge=1, le=GATE_BLOCKS_MAX)]
    """How many blocks it is planned for, at most."""
    requests: Many[str] = Field(default_factory=list)
    """The requests that are gated each alone, by name; records of earlier versions do not have the key."""
    asked: Many[str] | None = None
    """The measures that were asked for, usual or not; ``None`` in records of earlier versions."""


FORMAT: Final = "loadcurve-run/3"
"""What is written."""
RunFormat = Literal["loadcurve-run/1", "loadcurve-run/2", "loadcurve-run/3"]
"""What is read; see ``result.old_formats``."""

MEASURED = "load"
"""The measurement that the figures of a point are of."""
LOAD_PHASE = "loading"
"""That of the records which a load on a database then asks for, where they were loaded for the point."""


class SealedRecord(Record):
    """A record whose text carries a checksum, which ``result.checksum`` writes and takes off."""

    model_config = ConfigDict(json_schema_extra=with_checksum)


class OtherMachineRecord(Record):
    """A machine that took part in a run beside the one that the command ran on."""

    address: str
    """Where its servers listened."""
    facts: dict[str, Any]
    """What kind of machine it is, as ``host`` says it of this one."""
    link: LinkRecord | None = None
    """The way between that machine and this one; records may lack it."""


class ImportedFile(Record):
    """A file that an import has read."""

    name: str
    bytes: Count
    sha256: str
    format: str
    """That of ``loadcurve import --as``."""
    server: str
    point: Point
    trial: Count


class ImportRecord(Record):
    """Where the figures of an imported run come from."""

    command: Many[str]
    """With its arguments."""
    at: str
    """The moment of the import."""
    files: Many[ImportedFile]


Origin = Literal["sweep", "search", "gate", "import"]
"""What makes a run: a study's sweep, a search for the capacity, a gate, or files of another tool."""


class RunRecord(SealedRecord):
    """What was known when the run started."""

    format: Annotated[RunFormat, WithJsonSchema({"const": FORMAT, "type": "string"})]
    loadcurve_version: str
    started_at: str
    """Of an imported run the earliest begin that a file gives, or else the moment of the import."""
    study_file: str | None = None
    """Where the study was read, as an absolute path; runs of the first versions do not have the key."""
    seed: int | None
    """``None`` of an imported run."""
    options: Many[str]
    """The options that changed the study, as they were given: ``--quick``, ``--trials 3`` and the like."""
    study_name: str
    study: dict[str, Any]
    """The study with every default filled in."""
    order: Many[PlannedTrial]
    points: Many[Point]
    """The points of the sweep; none if a search chose them."""
    search: SearchRecord | None = None
    """``None`` where the run went through a sweep."""
    gate: GateRecord | None = None
    """``None`` of a run that decides nothing; runs of earlier versions do not have the key."""
    host: dict[str, Any]
    machines: dict[str, OtherMachineRecord] = Field(default_factory=dict)
    """Other machines by their names in the study; earlier runs do not have the key."""
    ceiling: Ceiling | None
    """The rig's ceiling, where it was measured before the run."""
    noise: Noise | None = None
    """The rig's noise, likewise; runs of the first versions do not have the key."""
    servers: dict[str, ServerRecord]
    left_out: LeftOut | None = None
    """The optional servers that were not installed; runs of the first versions do not have the key."""
    unfit: dict[str, str] = Field(default_factory=dict)
    """The optional servers of versions that cannot have their settings, each with the reason.

    Earlier runs do not have the key.
    """
    content: dict[str, ContentRecord]
    inputs: Many[InputRecord] = Field(default_factory=list)
    """The files that the study names, and own catalogues; runs of the first versions do not have the key."""
    study_sha256: str | None = None
    """The digest of ``study.toml``; runs of the first versions do not have the key."""
    caveats: tuple[Caveat, ...] = ()
    """What must be known of the whole run to read its numbers."""
    imported: ImportRecord | None = None
    """``None`` of a run that was measured here."""

    @property
    def starts_each_point(self) -> bool:
        """Whether servers were started afresh for each point, and not for each trial alone."""
        return bool(self.study.get("trials", {}).get("restart") == "point")

    @property
    def origin(self) -> Origin:
        """What made the run."""
        if self.imported is not None:
            return "import"
        return "gate" if self.gate is not None else "sweep" if self.search is None else "search"

    @property
    def repeating(self) -> list[str]:
        """The command with its arguments that does the same again."""
        if self.imported is not None:
            return self.imported.command
        command = {"gate": "gate", "sweep": "run", "search": "capacity"}[self.origin]
        options = with_kept_catalogs(self.options, self.inputs)
        return ["loadcurve", command, STUDY_FILE, "--seed", str(self.seed), *options]

    @property
    def server_cpus(self) -> dict[str, list[int]]:
        """The CPUs that each server was bound to; empty if the run did not record them."""
        usual = self.host.get("server_cpus")
        cpus = [cpu for cpu in usual if isinstance(cpu, int)] if isinstance(usual, list | tuple) else []
        return {name: cpus if one.cpus is None else list(one.cpus) for name, one in self.servers.items()}

    def host_of(self, server: ServerRecord) -> dict[str, Any]:
        """Return what is known of the machine on which a server ran: ``host``, or that of another one."""
        other = None if server.server_machine is None else self.machines.get(server.server_machine)
        return self.host if other is None else other.facts

    @field_validator("study")
    @classmethod
    def _of_a_study(cls, study: dict[str, Any]) -> dict[str, Any]:
        require_study(study)
        return study

    @field_validator("host")
    @classmethod
    def _of_a_machine(cls, host: dict[str, Any]) -> dict[str, Any]:
        require_host(host)
        return host


class CreditUse(Record):
    """What became of a server's CPU credits."""

    remaining: Time
    """How many are left."""
    ran_out_s: Time | None
    """When none was left for the first time, since the server's start; ``None`` as long as some were."""
    at_baseline_s: Time
    """For how long the server was held to its baseline."""

    def since(self, earlier: "CreditUse") -> "CreditUse":
        """Return what became of them since an earlier reading; what remains stays that of now."""
        return self.model_copy(update={"at_baseline_s": self.at_baseline_s - earlier.at_baseline_s})


class LimitUse(Record):
    """What limits did to a server, but for one of CPUs alone: that is the probe's ``throttling``."""

    oom_kills: Count | None = None
    """Processes that the kernel killed because the memory was used up."""
    memory_peak_bytes: Count | None = None
    """The most memory in use since the server's start, page cache included."""
    credits: CreditUse | None = None
    """``None`` for a server without CPU credits."""

    def since(self, earlier: "LimitUse") -> "LimitUse":
        """Return what the limits have done since an earlier reading; the peak stays that since the start."""
        kills, before = self.oom_kills, earlier.oom_kills
        return LimitUse(
            oom_kills=None if kills is None or before is None else kills - before,
            memory_peak_bytes=self.memory_peak_bytes,
            credits=self.credits and earlier.credits and self.credits.since(earlier.credits),
        )


KILLED_FOR_MEMORY = Caveat.of(
    "killed_for_memory",
    "the kernel killed processes of the server because it reached its memory limit",
)
"""The caveat of a server that continues without some of its processes."""


Loads = dict[str, LoadResult]
"""The results of loads by name."""


def _with_the_measured(measurements: Loads) -> Loads:
    if MEASURED not in measurements:
        raise ValueError(f"{MEASURED} is missing")
    return measurements


Measurements = Annotated[
    Loads,
    AfterValidator(_with_the_measured),
    Field(json_schema_extra={"required": [MEASURED]}),
]
"""The results of loads by name; the one that was to be measured is always there."""


class PointRecord(SealedRecord):
    """One measured point of one trial."""

    kind: Literal["point"]
    trial: Count
    block: Count
    server: str
    point: Point
    started_at: str
    measurements: Measurements
    """Every load that the point has put on the server, by name, in their order in time."""
    probe: ProbeRecord
    limit_use: LimitUse | None
    """During the load and its warm-up; ``None`` without a limit of memory and without CPU credits."""
    attempt: PositiveCount = 1
    """Above 1 where the point was measured again in its trial, because the machine was disturbed."""
    server_started_at: str | None = None
    """When the server was started, where it lives from trial to trial (`restart = "never"`)."""

    @property
    def load(self) -> LoadResult:
        """The load that the point's figures are of."""
        return self.measurements[MEASURED]

    @property
    def caveats(self) -> list[Caveat]:
        """What must be known of the server to read the figures."""
        if self.limit_use is None or not self.limit_use.oom_kills:
            return self.probe.caveats
        return [*self.probe.caveats, KILLED_FOR_MEMORY]


class FailureRecord(SealedRecord):
    """A start of a server that came to nothing, or ended early.

    ``point`` is the one under way, or ``None`` before the first. The rest of the trial is not measured,
    unless the study gives every point its own start.
    """

    kind: Literal["failure"]
    trial: Count
    block: Count
    server: str
    point: Point | None
    started_at: str
    reason: Reason
    attempt: PositiveCount = 1
    """At the point."""
    log_tail: str
    """The last lines of the server's log."""


class ResumedRecord(SealedRecord):
    """The place at which an interrupted run was resumed, at the start of a block.

    The records before it of this block and of later ones are those of the part that was interrupted: they
    stay in the file, and no figure is computed from them.
    """

    kind: Literal["resumed"]
    block: Count
    started_at: str
    caveats: tuple[Caveat, ...] = ()
    """What must be known of the whole run from here on."""


TrialLine = PointRecord | FailureRecord | ResumedRecord
"""A line of ``trials.jsonl``."""
TrialRecord = Annotated[TrialLine, Field(discriminator="kind")]
TRIAL_RECORD: TypeAdapter[TrialLine] = TypeAdapter(TrialRecord)


def run_record_of(text: bytes) -> RunRecord:
    """Read a ``run.json`` of any format.

    Raises:
        ValidationError: the text is no such record.

    """
    return RunRecord.model_validate_json(run_as_today(text))


def read_trial_record(line: bytes, written_as: RunFormat) -> TrialLine:
    """Read a line of ``trials.jsonl`` of a run in this format.

    Raises:
        ValidationError: the line is no such record.

    """
    return TRIAL_RECORD.validate_json(line if written_as == FORMAT else trial_as_today(line, written_as))
