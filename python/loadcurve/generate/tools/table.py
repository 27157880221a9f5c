"""The description of a tool: its file ``tool.toml``."""

from typing import Annotated, Literal

from pydantic import Field

from loadcurve.generate.tools.figures import Completeness, LatencyBasis
from loadcurve.server.description import VersionSource
from loadcurve.server.install import Packages
from loadcurve.toml.document import TomlTable
from loadcurve.toml.expected import Expected
from loadcurve.toml.paths import Text

Programs = Annotated[
    list[Text], Field(min_length=1), Expected('a list of programs, such as ["wrk"], the first found is used')
]


class Abilities(TomlTable):
    """What a tool can be asked for; whatever else a load has is refused."""

    models: Annotated[list[Literal["closed", "open", "sessions"]], Field(min_length=1)]
    """Load models."""
    http: Annotated[list[Literal["1.0", "1.1", "2"]], Field(min_length=1)]
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


class ToolTable(TomlTable):
    """One load generator."""

    title: Text
    """Its name, for people."""
    programs: Programs
    """The programs by which it is known."""
    version: VersionSource | None = None
    """How its version is found out; some do not tell it."""
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
    """Variables that it is given; ``{threads}`` in them is how many threads the load has."""
    settings_prefix: Text | None = None
    """How variables begin from which it takes settings: those of the person are kept from it."""
    waits_busily: bool = False
    """Whether it uses a CPU while it waits, so that this does not show how near it is to its limit."""
    not_measured: list[Text] = Field(default_factory=list)
    """What results of it lack."""
    notes: list[Text] = Field(default_factory=list)
    """What a reader of its figures should know."""
    can: Abilities | None = None
    """What it can be asked for; without it Loadcurve knows the tool, and does not drive it."""
