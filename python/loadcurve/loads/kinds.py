"""The kinds of loads, on web servers and on databases, and all that depends on which it is."""

from dataclasses import dataclass
from typing import Literal

WorkName = Literal["http", "ycsb"]


@dataclass(frozen=True)
class LoadKind:
    """One kind of load; whoever needs to know which it is asks here."""

    work: WorkName
    """What the engine calls its work."""
    models: tuple[str, ...]
    request: str
    """What its servers are asked by, in words."""
    a_request: str
    """The same with its article."""
    by_operation: bool
    """Whether its requests are of kinds, such as reads and updates, whose figures are separate."""
    client: str
    """What asks: each has one request under way, or a pipeline of them."""
    load_keys: tuple[str, ...]
    """The keys of which more is more work for the server."""
    server: str
    """What it is put on, with its article."""
    servers: str
    """Several of them."""

    @property
    def requests(self) -> str:
        """What its servers are asked by, several of them."""
        return f"{self.request}s"

    @property
    def per_second(self) -> str:
        """The unit of throughput."""
        return f"{self.requests}/s"

    def is_closed_loop(self, model: str | None, *, has_rate: bool) -> bool:
        """Whether what is asked next waits for the answer, so that throughput is found and not asked for."""
        return not has_rate if self is DATABASE else model == "closed"

    def default_measure(self, model: str | None, *, has_rate: bool) -> Literal["throughput", "p99"]:
        """Return by which measure servers are compared where nobody says: by what is found, not asked for."""
        return "throughput" if self.is_closed_loop(model, has_rate=has_rate) else "p99"


WEB = LoadKind(
    work="http",
    models=("closed", "open", "sessions"),
    request="request",
    a_request="a request",
    by_operation=False,
    client="connection",
    load_keys=("connections", "rate", "connection_rate"),
    server="a web server",
    servers="web servers",
)
DATABASE = LoadKind(
    work="ycsb",
    models=("ycsb",),
    request="operation",
    a_request="an operation",
    by_operation=True,
    client="thread",
    load_keys=("threads", "rate"),
    server="a database",
    servers="databases",
)
KINDS = (WEB, DATABASE)


def kind_of_model(model: object) -> LoadKind:
    """Return the kind of a load model, such as ``closed``; one that is not known is of web servers."""
    return DATABASE if model in DATABASE.models else WEB


def kind_of_protocol(protocol: str) -> LoadKind:
    """Return the kind of load that servers of a protocol are put under."""
    return WEB if protocol == "http" else DATABASE
