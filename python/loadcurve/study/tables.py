"""The tables of a study file beside the load, and the types of their values, each checked for itself."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from loadcurve.loads.limits import RATE_MAX
from loadcurve.loads.models import DURATION_KEYS, WrittenLoad
from loadcurve.loads.rates import CONSTANT_RATE_IN_WORDS
from loadcurve.loads.values import Duration, PositiveCount, SettingValue
from loadcurve.loads.workload import in_words
from loadcurve.machines.table import HERE, RAY
from loadcurve.protocol import with_lower_case_scheme
from loadcurve.redaction import remember_url
from loadcurve.result.measure_names import MeasureName
from loadcurve.stats.stopping import LEAST_ADAPTIVE_TRIALS
from loadcurve.study.container import ContainerTable
from loadcurve.study.limits import LimitsTable, MachineBurst
from loadcurve.study.program import (
    AskedPath,
    Folder,
    ProgramTable,
    StudyCommand,
    Variables,
    existing_folder,
    filled_variables,
    usable_programs,
)
from loadcurve.study.running import ContainerNames, ProcessIds, UnitNames
from loadcurve.study.url_files import with_absolute_files
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected, show
from loadcurve.toml.problems import Problem, own_problems, without_repetition
from loadcurve.toml.quantities import (
    DURATION_IN_WORDS,
    SHARE_IN_WORDS,
    SIZE_IN_WORDS,
    DurationS,
    Share,
    SizeBytes,
    parse_duration_s,
)
from loadcurve.toml.secret import Secret
from loadcurve.toml.values import CpuList, StudyPath, Text

# Both become names of files and parts of URLs.
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
_NAME_IN_WORDS = (
    "a name of letters, digits, hyphens, underscores and dots that begins with a letter or a digit"
)


def _durations_in_seconds(sweep: object) -> object:
    """Read the texts among the values of the keys that are durations."""
    if not isinstance(sweep, dict):
        return sweep
    return {
        key: [_read_seconds(key, index, value) for index, value in enumerate(values)]
        if key in DURATION_KEYS and isinstance(values, list)
        else values
        for key, values in sweep.items()
    }


def _read_seconds(key: str, index: int, value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration_s(value)
    except ValueError:
        text = f"found {show(value)}; expected {DURATION_IN_WORDS}"
        raise own_problems([Problem((key, str(index)), text)]) from None


ProbeInterval = Annotated[
    DurationS, Field(ge=0.01, le=1), Expected('a duration between "10ms" and "1s", such as "100ms"')
]
SweepValues = Annotated[
    list[Annotated[int | float, Expected("a number")]],
    Field(min_length=1),
    AfterValidator(without_repetition),
    Expected("a list of numbers, such as [1, 10, 100]"),
]
Sweep = Annotated[
    dict[str, SweepValues],
    Field(min_length=1),
    BeforeValidator(_durations_in_seconds),
    Expected("at least one key, such as connections = [1, 10, 100]"),
]
"""The values of each key that is swept; durations are in seconds."""
OwnSweep = Annotated[
    dict[
        str,
        Annotated[
            list[Annotated[int | float, Expected("a number")]],
            Field(min_length=1),
            Expected("a list of numbers, one for each value of [sweep], such as [1000, 2000, 3000]"),
        ],
    ],
    Field(min_length=1),
    BeforeValidator(_durations_in_seconds),
    Expected("at least one key, such as connection_rate = [1000, 2000, 3000]"),
]
"""The values that keys of one server's load have in place of those of the study, one for each point."""


def own_keys(sweep: Sweep, beside: Collection[str] | None = None) -> Sweep:
    """Return a sweep without the keys of other loads, which are named ``load.key``; of all, or of these."""
    return {key: values for key, values in sweep.items() if not _is_of_another(key, beside)}


def _is_of_another(key: str, beside: Collection[str] | None) -> bool:
    load, dot, _ = key.partition(".")
    return bool(dot) and (beside is None or load in beside)


ServerName = Annotated[str, Field(pattern=_NAME), Expected(_NAME_IN_WORDS)]


_SIZE: TypeAdapter[int] = TypeAdapter(SizeBytes, config=TomlTable.model_config)


def _size_or_text(value: object) -> int | str:
    if isinstance(value, dict) and value.keys() == {"text"} and isinstance(value["text"], str):
        return value["text"]
    return _SIZE.validate_python(value)


FileContent = Annotated[
    int | str,
    BeforeValidator(_size_or_text),
    Expected(f'{SIZE_IN_WORDS}, or {{ text = "…" }}; a folder of files is folder = "…"'),
]
"""What a file holds that is made: a number of random bytes, or a text."""


class Content(TomlTable, extra="allow"):
    """What the servers serve: either files that are made, by name, or a folder of the person's own."""

    __pydantic_extra__: dict[str, FileContent]
    folder: (
        Annotated[StudyPath, AfterValidator(existing_folder), Expected("the path of a folder, in quotes")]
        | None
    ) = None
    """A folder of your own that is served, instead of generated files."""

    @model_validator(mode="after")
    def _files_or_folder(self) -> Self:
        problems = [
            Problem((name,), f"found {show(name)}; expected {_NAME_IN_WORDS}")
            for name in self.files
            if not re.fullmatch(_NAME, name)
        ]
        if self.folder is not None and self.files:
            problems.append(
                Problem(("folder",), "cannot be combined with generated files; keep the folder, or the files")
            )
        if self.folder is None and not self.files:
            problems.append(
                Problem((), 'empty; expected files with sizes, such as "1k.txt" = "1KiB", or a folder')
            )
        if problems:
            raise own_problems(problems)
        return self

    @property
    def files(self) -> dict[str, int | str]:
        """What each file holds that is made: a number of random bytes, or a text."""
        return dict(self.__pydantic_extra__)


class TrialWarmup(TomlTable):
    """A load at a constant rate on one connection, after a start and before its first point; no point."""

    rate_rps: Annotated[float, Field(gt=0, le=RATE_MAX, alias="rate"), Expected(CONSTANT_RATE_IN_WORDS)]
    """Requests per second."""
    duration_s: Duration = Field(alias="duration")
    """How long it lasts."""


class Trials(TomlTable):
    """How often every server is measured, and whether it is started anew per sweep or per point.

    With ``until_share``, blocks of trials are repeated until every interval of the measure is that narrow:
    at least ``count`` of them and at most ``at_most``.
    """

    count: PositiveCount = 5
    """Trials of each server; with `until` the least number, 8 unless it is given."""
    every_s: Duration | None = Field(None, alias="every")
    """Begins a trial of each server at this interval, in a soak; without it, one trial follows another."""
    restart: Literal["sweep", "point", "never"] = "sweep"
    """Whether each sweep or each point begins with a fresh start of the server, or only the run does."""
    between_points: Literal["pause", "continue"] = "pause"
    """Whether the connections are closed after a point, or the next point continues on them at once."""
    warmup: (
        Annotated[
            TrialWarmup,
            Expected('a table with a rate and a duration, such as { rate = 15, duration = "10s" }'),
        ]
        | None
    ) = None
    """A load on one connection after each start of a web server, before its first point."""
    until_share: Annotated[Share, Field(gt=0, lt=1), Expected(f"{SHARE_IN_WORDS}, below 100 %")] | None = (
        Field(None, alias="until")
    )
    """Repeats trials until every interval of the measure lies within this share of its value."""
    at_most: PositiveCount = 20
    """The greatest number of trials; only with `until`."""
    measure: MeasureName = "throughput"
    """The measure whose interval `until` limits."""
    until_drop_share: (
        Annotated[Share, Field(gt=0, lt=1), Expected(f"{SHARE_IN_WORDS}, below 100 %")] | None
    ) = Field(None, alias="until_drop")
    """Ends a trial where its throughput has fallen by this share below the greatest so far."""
    repeat_disturbed: Annotated[int, Field(ge=0, le=100), Expected("a whole number from 0 to 100")] = 3
    """How often a point is measured again in its trial because the machine was disturbed."""

    @model_validator(mode="before")
    @classmethod
    def _least_number(cls, table: object) -> object:
        if isinstance(table, dict) and "until" in table and "count" not in table:
            return {**table, "count": LEAST_ADAPTIVE_TRIALS}
        return table

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        problems = []
        if self.until_share is None:
            problems = [
                Problem((key,), 'requires until, such as "3 %"')
                for key in ("at_most", "measure")
                if key in self.model_fields_set
            ]
        elif self.count < LEAST_ADAPTIVE_TRIALS:
            text = (
                f"found {self.count}; expected at least {LEAST_ADAPTIVE_TRIALS} with until: with fewer "
                "trials, an interval is too often narrow by chance"
            )
            problems.append(Problem(("count",), text))
        elif self.at_most < self.count:
            text = f"found {self.at_most}; expected at least {self.count}, the least number of trials"
            problems.append(Problem(("at_most",), text))
        if problems:
            raise own_problems(problems)
        return self

    @property
    def continues(self) -> bool:
        """Whether the points of a trial follow each other without a pause."""
        return self.between_points == "continue"

    @property
    def most(self) -> int:
        """The most trials of each server."""
        return self.count if self.until_share is None else self.at_most

    def repeated(self, every_s: float, for_s: float) -> Self:
        """Return the same as a soak: a trial every so often, for so long, of servers that live throughout.

        A study that says when its servers are started anew keeps that.
        """
        soak = {"every_s": every_s, "count": max(1, math.ceil(for_s / every_s)), "until_share": None}
        lives = {} if "restart" in self.model_fields_set else {"restart": "never"}
        return self.model_copy(update={**soak, **lives})

    def exactly(self, count: int) -> Self:
        """Return the same with a fixed number of trials."""
        return self.model_copy(update={"count": count, "until_share": None})


LoadMachineNames = Annotated[
    Annotated[list[Text], Field(min_length=1)], Expected('a list of names, such as ["here", "left"]')
]


class Host(TomlTable):
    """Which machine and which CPUs serve and which load, and how often the probe looks at the server.

    ``None`` leaves the division of the machine's CPUs to the run.
    """

    server_machine: Text = HERE
    """Where the servers run: on this machine (`here`), or on one with a table in `[machines]`."""
    load_machines: (
        Annotated[
            Annotated[list[Text], Field(min_length=1)] | Literal["ray"],
            Expected('a list of names, such as ["here", "left"], or "ray"'),
        ]
        | None
    ) = None
    """Machines that share the load and begin together: `here`, or names from `[machines]`; or `"ray"`."""
    load_nodes: PositiveCount | None = None
    """With `load_machines = "ray"`, how many nodes of a Ray cluster share the load: of the one at
    RAY_ADDRESS, or, if that is not set, of one on this machine only.
    """
    server_cpus: CpuList | None = None
    """CPUs of the servers; half of the machine's unless they are given, or all of another machine's."""
    load_cpus: CpuList | None = None
    """CPUs of the load generator; the other half unless they are given."""
    probe_interval_s: ProbeInterval = Field(0.1, alias="probe_interval")
    """How often the server's CPU, memory and the kernel's counters are read."""
    cpus_per_vcpu: Annotated[
        float, Field(ge=0.01, le=1), Expected("a number of CPUs from 0.01 to 1, such as 0.25")
    ] = 1.0
    """CPUs that a server has for each one of its machine type, to compare types larger than this machine."""
    burst: bool = False
    """Emulates the CPU credits of every machine type that is limited to its baseline when they are used
    up.
    """

    @property
    def sending_machines(self) -> list[str] | None:
        """The names of those that share the load, nodes of Ray too; ``None`` where the run sends it."""
        if isinstance(self.load_machines, list):
            return self.load_machines
        if self.load_nodes is None:
            return None
        return [f"{RAY}-{number}" for number in range(1, self.load_nodes + 1)]


def _usable_url(url: str, info: ValidationInfo) -> str:
    """Keep what is secret in a URL out of what is written; its files are found from the study's folder."""
    remember_url(url)
    folder = Path(info.context["folder"] if info.context else "").absolute()
    return with_absolute_files(with_lower_case_scheme(url), folder)


_NOT_WITH_PROGRAMS = {
    **dict.fromkeys(("start", "ready"), "remove it, or say it of one of them"),
    **dict.fromkeys(("binary", "blocks"), "remove it: the `start` of each names its program"),
    **dict.fromkeys(
        ("url", "pid", "unit", "container"), "it is of a server that runs already; keep one of the two"
    ),
    "limits": "say it of each of them that is to be limited, such as limits = { cpus = 0.5 }",
    "machine": "several programs are no machine of a type; give each of them its own limits",
    "engine": "several programs run in no container; remove it, or keep one program",
}
"""What is said of a server that is one program, and what to do instead."""


class StudyServer(ContainerTable, extra="allow"):
    """One server of the study: an entry of the catalogue and its settings, which the catalogue checks."""

    __pydantic_extra__: dict[str, SettingValue]
    use: Text
    """The entry of the catalogue."""
    optional: bool = False
    """Leaves the server out, without a failure, where it is not installed, or too old for its settings."""
    binary: StudyPath | None = None
    """A program other than those in the catalogue, such as a second version of the server."""
    url: Annotated[Text, AfterValidator(_usable_url)] | None = None
    """The URL of a server that runs already; only with `use = "url"`."""
    password: Annotated[Secret, PlainSerializer(lambda given: given.recorded)] | None = None
    """The password of the user that the URL of a database names; only with `use = "url"`."""
    pid: ProcessIds | None = None
    """The main process of a server that runs already on this machine, whose CPU and memory are measured with
    those of all that it starts; unless it, `unit` or `container` is given, that which listens at the URL.
    Several, such as a proxy and the application behind it, are measured together.
    """
    unit: UnitNames | None = None
    """The unit of systemd whose processes are a server that runs already."""
    container: ContainerNames | None = None
    """The container, of podman or docker, whose processes are a server that runs already."""
    # Known before ``start`` is read, whose program may lie there.
    cwd: Folder | None = None
    """The folder in which the study's own program works: that of the study, unless set. Its program may lie
    there, too, with a path such as `venv/bin/gunicorn`.
    """
    start: StudyCommand | None = None
    """Another command than the catalogue's, with its placeholders; of a name that the catalogue does not
    have, the program itself.
    """
    programs: (
        Annotated[
            list[ProgramTable],
            Field(min_length=1),
            AfterValidator(usable_programs),
            Expected("tables [[servers.NAME.programs]], each with a name and a start"),
        ]
        | None
    ) = None
    """Several programs that are the server together, in place of `start`; each starts when those before it
    are ready.
    """
    ready: AskedPath | None = None
    """The path whose answer, of a status below 400, shows that the server is ready. The study's own program
    is ready, unless this is set, when it answers its load's first request with a status below 500.
    """
    version: Text | None = None
    """The version, if no program can print it."""
    version_command: StudyCommand | None = None
    """Another command than the catalogue's that prints the version."""
    blocks: Annotated[dict[str, Text], Expected('a table of texts, such as { pages = "gzip on;" }')] = Field(
        default_factory=dict
    )
    """Lines that are added to blocks of the configuration of a server of the catalogue, such as `pages` of
    nginx, Apache and lighttpd.
    """
    driver: dict[str, SettingValue] = Field(default_factory=dict)
    """How the load asks a database, by its driver's settings, such as its write concern."""
    environment: Variables = Field(default_factory=dict)
    """Environment variables, besides those that every server and this one's description has."""
    user: Text | None = None
    """The user that the server runs as if root starts it; `"root"` keeps it running as root."""
    cpus: CpuList | None = None
    """The CPUs that the server is bound to, in place of `server_cpus` in `[host]`."""
    server_machine: Text | None = None
    """Where the server runs, in place of `server_machine` in `[host]`, to compare machines."""
    load_machines: LoadMachineNames | None = None
    """Machines that share the load on this server, in place of `load_machines` in `[host]`."""
    limits: LimitsTable | None = None
    """Limits that control groups set for the server."""
    machine: Text | None = None
    """A machine type, such as `"t2.micro"`, whose size limits the server; not with `limits`."""
    burst: MachineBurst = None
    """Emulates the machine type's CPU credits: `true`, or with other values, such as `{ credits = 0.5 }`."""
    # Complete when it was read, with the keys of the study's load.
    sweep: OwnSweep | None = None
    """Values of its load's keys at each value of the study's sweep, which then has a single key."""
    load: WrittenLoad | None = None
    """Keys of the load that differ for this server alone."""

    @model_validator(mode="after")
    def _limits_once(self) -> Self:
        if self.limits is not None and self.machine is not None:
            raise own_problems([Problem(("machine",), "cannot be combined with limits; keep one of the two")])
        if self.burst is not None and self.machine is None:
            text = 'requires a machine type, such as machine = "t2.micro"; without one, put it into limits'
            raise own_problems([Problem(("burst",), text)])
        return self

    @model_validator(mode="after")
    def _programs_alone(self) -> Self:
        if self.programs is not None:
            given = [
                Problem((key,), f"cannot be combined with programs: {advice}")
                for key, advice in _NOT_WITH_PROGRAMS.items()
                if key in self.model_fields_set
            ]
            if given:
                raise own_problems(given)
        return self

    def with_settings_filled_in(self) -> Self:
        """Return the same with each setting filled in where the command or the environment has it in braces.

        So a program that no catalogue describes has settings, which are those that it names.
        """
        settings, used = self.settings, set()
        if not settings:
            return self
        names = "|".join(map(re.escape, settings))

        def value(found: re.Match[str]) -> str:
            used.add(found[1])
            return in_words(settings[found[1]])

        def filled(text: str) -> str:
            return re.sub(rf"(?<!\{{)\{{({names})\}}(?!\}})", value, text)

        start = None if self.start is None else [filled(word) for word in self.start]
        programs = self.programs and [one.with_settings_filled_in(filled) for one in self.programs]
        environment = filled_variables(self.environment, filled)
        changed = self.model_copy(update={"start": start, "programs": programs, "environment": environment})
        changed.__pydantic_extra__ = {name: given for name, given in settings.items() if name not in used}
        return changed

    @property
    def settings(self) -> dict[str, str | int | float | bool]:
        """The settings that differ from the catalogue's."""
        return dict(self.__pydantic_extra__)
