"""The protocols that servers speak with their versions, and the schemes of URLs that name them."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, assert_never, get_args

from loadcurve.errors import BadInput

DatabaseProtocol = Literal["mongodb", "postgresql"]
"""What is spoken with a database."""
DATABASE_PROTOCOLS: Final[tuple[DatabaseProtocol, ...]] = get_args(DatabaseProtocol)
ProtocolName = Literal["http", DatabaseProtocol]
"""What is spoken with a server."""


class KnownDatabase(NamedTuple):
    """What the URLs of a database's clients have in common."""

    schemes: tuple[str, ...]
    usual_port: int
    """Where a URL names none."""


def known_database(protocol: DatabaseProtocol) -> KnownDatabase:
    """Return how a database is named in URLs."""
    match protocol:
        case "mongodb":
            return KnownDatabase(("mongodb", "mongodb+srv"), 27017)
        case "postgresql":
            return KnownDatabase(("postgresql", "postgres"), 5432)
        case _:
            assert_never(protocol)


_DATABASE_SCHEMES: Final[dict[str, DatabaseProtocol]] = {
    scheme: protocol for protocol in DATABASE_PROTOCOLS for scheme in known_database(protocol).schemes
}
SCHEMES: Final[dict[str, ProtocolName]] = {"http": "http", "https": "http", **_DATABASE_SCHEMES}
"""What is spoken under a URL, by its scheme."""

Messages = Literal["events", "grpc", "websocket"]
"""What the answers of a load may be streams of."""
EVENTS: Final = "events"
GRPC: Final = "grpc"
WEBSOCKET: Final = "websocket"
STREAMED: Final[Mapping[Messages, str]] = {EVENTS: "event", GRPC: "message", WEBSOCKET: "message"}
"""What one of a stream is called, by the kind of messages."""
MESSAGE_SCHEMES: Final[dict[str, tuple[str, Literal["http", "https"]]]] = {
    "ws": (WEBSOCKET, "http"),
    "wss": (WEBSOCKET, "https"),
    "grpc": (GRPC, "http"),
    "grpcs": (GRPC, "https"),
}
"""What is streamed under a URL by its scheme, and the scheme of HTTP by which it begins."""

AnsweredMessages = Literal["websocket", "unary", "bidirectional"]
"""Messages that are answered by one message each: by WebSocket, or in calls of gRPC of this kind."""

HttpVersion = Literal["1.0", "1.1", "2", "3"]
"""A version of HTTP that a load can speak."""
HTTP_VERSIONS: Final[tuple[HttpVersion, ...]] = get_args(HttpVersion)
HTTP1_0: Final = "1.0"
HTTP1_1: Final = "1.1"
HTTP2: Final = "2"
HTTP3: Final = "3"
BY_ALT_SVC: Final = "3-by-alt-svc"
AskedHttp = Literal[HttpVersion, "3-by-alt-svc"]
"""What a load may ask for: a version, or version 3 where the server announces it (RFC 7838)."""
HttpFamily = Literal["1.1", "2", "3"]
"""The versions of HTTP that write messages alike, by the newest of them."""
HTTP_FAMILIES: Final[tuple[HttpFamily, ...]] = get_args(HttpFamily)


def http_family(version: AskedHttp) -> HttpFamily:
    """Return the versions to which one belongs."""
    match version:
        case "1.0" | "1.1":
            return HTTP1_1
        case "2":
            return HTTP2
        case "3" | "3-by-alt-svc":
            return HTTP3
        case _:
            assert_never(version)


def has_streams(version: AskedHttp | None) -> bool:
    """Whether the requests of a connection are streams, which may be answered in any order.

    ``None`` is an unknown version, or another protocol.
    """
    return version is not None and http_family(version) in {HTTP2, HTTP3}


def protocol_of_url(url: str) -> ProtocolName | None:
    """Return what is spoken under a URL; ``None`` for an unknown scheme."""
    scheme = url.partition("://")[0].lower()
    return "http" if scheme in MESSAGE_SCHEMES else SCHEMES.get(scheme)


def database_protocol_of_url(url: str) -> DatabaseProtocol:
    """Return what is spoken with the database under a URL.

    Raises ``BadInput``, which does not repeat the URL: there is no database that Loadcurve knows.
    """
    protocol = protocol_of_url(url)
    if protocol is None or protocol == "http":
        known = ", ".join(f"{scheme}://" for scheme in _DATABASE_SCHEMES)
        raise BadInput(f"the URL is not that of a database; expected one that starts with {known}")
    return protocol


def with_lower_case_scheme(url: str) -> str:
    """Return a URL as everybody understands it: drivers know schemes in lower case only (RFC 3986, 3.1)."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme.lower()}{separator}{rest}" if separator else url
