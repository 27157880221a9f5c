"""The description of a tool: its file ``tool.toml``."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from loadcurve.loads.kinds import DATABASE, WEB, LoadKind
from loadcurve.loads.values import PositiveCount
from loadcurve.protocol import HTTP1_1, DatabaseProtocol, HttpVersion
from loadcurve.server.description import VersionSource
from loadcurve.server.install import Packages
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import own_problem
from loadcurve.toml.values import Text
from loadcurve.tools.defaults import (
    DATABASE_DEFAULTS,
    WEB_DEFAULTS,
    DatabaseDefault,
    Default,
    WebDefault,
)
from loadcurve.tools.figures import Completeness, LatencyBasis

Programs = Annotated[
    list[Text], Field(min_length=1), Expected('a list of programs, such as ["wrk"], the first found is used')
]


class Abilities(TomlTable):
    """What a tool can be asked for; whatever else a load has is refused."""

    models: Annotated[list[Literal["closed", "open", "sessions"]], Field(min_length=1)]
    """Load models."""
    http: Annotated[list[HttpVersion], Field(min_length=1)]
    """Versions of HTTP, in clear text."""
    ends: Annotated[list[Literal["duration", "requests_total", "num_connections"]], Field(min_length=1)]
    """What may end the load, by its key in a study."""
    calls: Literal["kept", "one or kept", "any"]
    """After how many requests a connection is closed: never, after each if the load wants it, or any."""
    threads: bool = False
    """Whether it has more than one thread."""
    requests_at_once: list[Literal["pipeline", "streams"]] = Field(default_factory=list)
    """Whether a connection can have several requests under way, by the key in a study."""
    think: bool = False
    """Whether a client can rest between requests."""
    poisson: bool = False
    """Whether arrivals can be random."""
    headers: bool = False
    """Whether requests can have header fields."""
    names_host: bool = True
    """Whether ``Host`` can name another host than the address to which it connects."""
    whole_rate: bool = False
    """Whether a rate has to be a whole number per second."""
    whole_seconds: bool = False
    """Whether it takes whole seconds alone: it is interrupted at another end, and prints what it has."""
    warmup: Literal["separate", "own"] = "separate"
    """Whether the load before the window is a feature of the tool, or a process that goes before."""
    timeout: Literal["whole seconds", "any", "none"] = "none"
    """Whether it can be given the longest time for an answer."""

    @property
    def usual_http(self) -> HttpVersion:
        """HTTP/1.1 where it speaks that, or else the last of its versions."""
        return HTTP1_1 if HTTP1_1 in self.http else self.http[-1]


WorkloadPart = Literal[
    "read", "update", "insert", "scan", "read_modify_write", "delete",
    "one_field", "several_lengths", "growing_zipfian", "verified_values",
]  # fmt: skip
"""The operations of a workload, and what else one may have: reads of one field, fields or scans of several
lengths, a Zipfian distribution over records to which others are added, and values that are compared."""


class DatabaseAbilities(TomlTable):
    """What a tool can be asked for of databases; whatever else a load has is refused."""

    request_distributions: Annotated[
        list[Literal["uniform", "zipfian", "latest", "hotspot", "exponential", "sequential"]],
        Field(min_length=1),
    ]
    """How it can choose the records of operations."""
    interrupted_after: Literal["duration"] | None = None
    """Whether a load of a duration is ended by an interrupt, after which it writes what it has."""
    whole_seconds: bool = False
    """Whether it ends a load by itself, after whole seconds alone."""
    counts_after_warmup: bool = False
    """Whether a load of a number of operations can have a warm-up, which does not count."""
    rate: bool = False
    """Whether each client can keep to a schedule, of whole operations per second of all together."""
    inserts_by_count: bool = False
    """Whether inserts beside a Zipfian distribution have to end after a number of operations."""
    count_max: PositiveCount | None = None
    """The greatest number of records, and of operations."""
    expands_names: bool = False
    """Whether it would replace a part of a name that looks like a property."""
    not_asked: dict[WorkloadPart, Text] = Field(default_factory=dict)
    """Parts of workloads that it is not asked for, each with the reason, behind the name of the tool."""
    not_asked_of: dict[DatabaseProtocol, dict[WorkloadPart, Text]] = Field(default_factory=dict)
    """Those that it is not asked for of databases with this protocol alone."""
    namespaces: dict[DatabaseProtocol, Text] = Field(default_factory=dict)
    """Where all its tables are, if it cannot be asked for another namespace."""


class ToolTable(TomlTable):
    """One load generator."""

    title: Text
    """Its name, for people."""
    programs: Programs
    """The programs by which it is known."""
    home_variable: Text | None = None
    """The variable that names the folder of its release, whose programs come before others."""
    version: VersionSource | None = None
    """How its version is found out; some do not tell it."""
    oldest_driven: Text | None = None
    """The first version that takes all that it is given; ``None`` where no version is known that does not."""
    install: Packages
    """The packages that contain it."""
    documentation: Text
    """Where it is documented."""
    latency_basis: LatencyBasis
    """What its latency counts from."""
    resolution_ms: Annotated[float, Field(gt=0)] | None = None
    """The step between two times that it can tell apart, driven from here."""
    completeness: Completeness
    """What it reports of its latencies, driven from here."""
    environment: dict[str, Text] = Field(default_factory=dict)
    """Variables that it is given; ``{threads}`` in them is how many threads the load has, and ``{files}`` the
    folder of its files."""
    settings_prefix: Text | None = None
    """How variables begin from which it takes settings: those of the person are kept from it."""
    waits_busily: bool = False
    """Whether it uses a CPU while it waits, so that this does not show how near it is to its limit."""
    not_measured: list[Text] = Field(default_factory=list)
    """What results of it lack."""
    notes: list[Text] = Field(default_factory=list)
    """What a reader of its figures should know."""
    can: Abilities | None = None
    """What it can be asked for of web servers."""
    databases: DatabaseAbilities | None = None
    """What it can be asked for of databases; without both Loadcurve knows the tool, and does not drive it."""
    defaults: dict[WebDefault | DatabaseDefault, Default] = Field(default_factory=dict)
    """What it does unless told otherwise that would change the work; all of them for each kind of load."""

    @property
    def kinds(self) -> tuple[LoadKind, ...]:
        """The kinds of loads that Loadcurve has it send; none of a tool that is only known."""
        abilities = {WEB: self.can, DATABASE: self.databases}
        return tuple(kind for kind, can in abilities.items() if can is not None)

    @model_validator(mode="after")
    def _decide_every_default(self) -> Self:
        web = WEB_DEFAULTS if self.can else ()
        wanted: set[str] = {*web, *(DATABASE_DEFAULTS if self.databases else ())}
        if set(self.defaults) != wanted:
            raise own_problem(f"expected defaults with {', '.join(sorted(wanted)) or 'nothing'}")
        return self
