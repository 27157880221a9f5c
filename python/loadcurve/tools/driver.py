"""What the module of each tool does: from a load to the command for it, and from the output to figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from loadcurve.errors import BadInput
from loadcurve.loads.http import HttpLoad
from loadcurve.loads.sent import header_fields
from loadcurve.loads.ycsb import DatabaseLoad
from loadcurve.protocol import DatabaseProtocol, database_protocol_of_url
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.source import Source


class Refused(BadInput):
    """Why a tool cannot put a load on a server exactly as it is asked for; :attr:`key` is the load's."""

    def __init__(self, key: str, reason: str) -> None:
        """Make it of the key of the load that is at fault, and of what a person should know."""
        self.key = key
        super().__init__(reason)


@dataclass(frozen=True, kw_only=True)
class WebToolRequest:
    """One load as a tool is asked for it; :mod:`loadcurve.tools.exact` has let it through."""

    load: HttpLoad
    address: str
    """``host:port`` with a numeric host."""
    authority: str
    """What ``Host`` names."""
    threads: int
    files: Path
    """A folder for what the tool writes."""
    version: str | None = None
    """The tool's."""

    @property
    def path(self) -> str:
        """The path of all requests."""
        return next((one.path for one in self.load.asked), "/")

    @property
    def url(self) -> str:
        """The URL of all requests, at the numeric address."""
        return f"http://{self.address}{self.path}"

    def headers(self, option: str) -> list[str]:
        """Return the fields of the requests, each behind an option, with ``Host`` where the URL lacks it."""
        fields = header_fields(self.load.headers)
        if self.authority != self.address:
            fields = [("Host", self.authority), *fields]
        return [word for name, value in fields for word in (option, f"{name}: {value}")]


@dataclass(frozen=True, kw_only=True)
class DatabaseToolRequest:
    """A load on a database likewise; :mod:`loadcurve.tools.exact_database` has let it through."""

    load: DatabaseLoad
    url: str
    """The database's; it may hold a password, which belongs on no command line."""
    threads: int
    """Of the generator; the load says how many clients there are."""
    files: Path
    """A folder for what the tool reads and writes, which nobody else can enter."""
    version: str | None = None
    """The tool's."""

    @property
    def protocol(self) -> DatabaseProtocol:
        """What is spoken with the database."""
        return database_protocol_of_url(self.url)


class Binding(NamedTuple):
    """How a tool is driven on the databases that speak one protocol."""

    name: str
    """The tool's for such a database."""
    place: Callable[[DatabaseToolRequest], Mapping[str, str | int]]
    """Returns the properties that say where the table is, and writes who logs in where nobody else reads."""
    lacking_for_clear_text: Callable[[str], str | None]
    """Returns what is expected in a URL so that connections are in clear text; ``None`` where it is there."""


Bindings = Mapping[DatabaseProtocol, Binding]
"""Those of one tool; on other databases it is not driven."""

ToolRequest = WebToolRequest | DatabaseToolRequest
"""One load as a tool is asked for it, on whichever kind of server."""
Request_contra = TypeVar("Request_contra", bound=ToolRequest, contravariant=True)


@dataclass(frozen=True)
class Output:
    """What a tool has left behind when it came to its end."""

    tool: str
    """Its name."""
    program: Path
    text_file: Path
    """Its standard output."""
    files: Path
    """The folder for what it writes."""
    is_interrupted: bool = False
    """Whether a person has ended it, before its time."""
    interrupted_unix_s: float | None = None
    """When it was interrupted, by a person or at its time, by the wall clock."""

    @property
    def text(self) -> Source:
        """Its standard output, for its reader."""
        return Source(self.text_file, f"{self.tool}'s output")

    def written(self, name: str) -> Source | None:
        """Return a file of the folder; ``None`` where the tool has not written it."""
        file = self.files / name
        return Source(file, f"{self.tool}'s {name}") if file.exists() else None

    def required(self, name: str, when: str = "at its end") -> Source:
        """Return a file of the folder that the tool always writes; raises ``Unreadable`` where it has not."""
        written = self.written(name)
        if written is None:
            raise Unreadable(
                f"{self.tool}'s output", None, "no file", f"{name}, which {self.tool} writes {when}"
            )
        return written


class Driver(Protocol[Request_contra]):
    """The module ``driver`` in the folder of a tool."""

    def arguments(self, wanted: Request_contra) -> Sequence[str]:
        """Return the words behind the program; raises ``Refused``."""

    def figures(self, wanted: Request_contra, output: Output) -> ToolFigures:
        """Return what the output says; raises :class:`~loadcurve.tools.figures.Unreadable`."""


class DatabaseDriver(Driver[DatabaseToolRequest], Protocol):
    """That of a tool for databases."""

    BINDINGS: Bindings


def whole_milliseconds(time_s: float) -> str:
    """Return a time as several tools take it: a whole number with a unit."""
    return f"{round(time_s * 1000)}ms"
