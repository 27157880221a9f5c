"""The kinds of loads, on web servers and on databases, and all that depends on which it is."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal, assert_never

from loadcurve.loads.way import UNIX
from loadcurve.protocol import DATABASE_PROTOCOLS, ProtocolName, protocol_of_url

WorkName = Literal["http", "ycsb"]


@dataclass(frozen=True)
class LoadKind:
    """One kind of load; whoever needs to know which it is asks here."""

    work: WorkName
    """What the engine calls its work."""
    models: tuple[str, ...]
    """Its load models, the usual one first."""
    closed_models: tuple[str, ...]
    """Those in which what is asked next waits for the answer, where there is no rate."""
    model_by_key: tuple[tuple[str, str], ...]
    """The models that a key of a load asks for, where no model is named."""
    protocols: tuple[ProtocolName, ...]
    """The protocols of its servers."""
    serves_content: bool
    """Whether its servers answer with files, by which they are verified; others store what they are sent."""
    has_driver: bool
    """Whether its servers are reached by a driver; it has settings and takes user and password from a URL."""
    can_continue: bool
    """Whether connections may stay open from one point to the next."""
    has_server_warmup: bool
    """Whether a started server may be warmed up by a load before the first point."""
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

    def model_asked_by(self, keys: Container[str]) -> str:
        """Return the load model that keys of a load ask for."""
        asked = (model for key, model in self.model_by_key if key in keys)
        return next(asked, self.models[0])

    def is_closed_loop(self, model: str | None, *, has_rate: bool) -> bool:
        """Whether what is asked next waits for the answer, so that throughput is found and not asked for."""
        return model in self.closed_models and not has_rate

    def default_measure(self, model: str | None, *, has_rate: bool) -> Literal["throughput", "p99"]:
        """Return by which measure servers are compared where nobody says: by what is found, not asked for."""
        return "throughput" if self.is_closed_loop(model, has_rate=has_rate) else "p99"


WEB = LoadKind(
    work="http",
    models=("closed", "open", "sessions"),
    closed_models=("closed",),
    model_by_key=(("connection_rate", "sessions"), ("rate", "open")),
    protocols=("http",),
    serves_content=True,
    has_driver=False,
    can_continue=True,
    has_server_warmup=True,
    request="request",
    a_request="a request",
    by_operation=False,
    client="connection",
    load_keys=("connections", "rate", "speed", "connection_rate"),
    server="a web server",
    servers="web servers",
)
DATABASE = LoadKind(
    work="ycsb",
    models=("ycsb",),
    closed_models=("ycsb",),
    model_by_key=(),
    protocols=DATABASE_PROTOCOLS,
    serves_content=False,
    has_driver=True,
    can_continue=False,
    has_server_warmup=False,
    request="operation",
    a_request="an operation",
    by_operation=True,
    client="thread",
    load_keys=("threads", "rate"),
    server="a database",
    servers="databases",
)
KINDS = (WEB, DATABASE)


def kind_of_work(work: WorkName) -> LoadKind:
    """Return the kind of a load whose work is known."""
    match work:
        case "http":
            return WEB
        case "ycsb":
            return DATABASE
        case _:
            assert_never(work)


def kind_with_model(model: object) -> LoadKind | None:
    """Return the kind that has a load model, of a table that nobody has checked; ``None`` if unknown."""
    return next((kind for kind in KINDS if model in kind.models), None)


def kind_of_protocol(protocol: ProtocolName) -> LoadKind:
    """Return the kind of load that servers of a protocol are put under."""
    return next(kind for kind in KINDS if protocol in kind.protocols)


def kind_of_url(url: str) -> LoadKind | None:
    """Return the kind of load that what is under a URL is put under; ``None`` where its scheme is unknown."""
    if url.startswith(UNIX):
        return WEB
    protocol = protocol_of_url(url)
    return None if protocol is None else kind_of_protocol(protocol)
