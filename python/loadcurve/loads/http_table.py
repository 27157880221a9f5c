"""What every load on web servers has: its keys, as the file gives them, with what they may be."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
    model_validator,
)

from loadcurve.loads.asked import AskedRequest, asked_at, asked_of
from loadcurve.loads.early_data import problems_of_early_data
from loadcurve.loads.entries import Entry, path_of, source_of
from loadcurve.loads.grpc import problems_of_calls
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.limits import (
    CONNECTION_WINDOW_BYTES_MIN,
    REQUESTS_AT_ONCE_MAX,
    WINDOW_BYTES_DEFAULT,
    WINDOW_BYTES_MAX,
)
from loadcurve.loads.messages import MessagesTable
from loadcurve.loads.option import ASKED, OWN_HTTP2, CommandLine, OtherTools, Planned
from loadcurve.loads.request_files import has_weight, naming_others, with_requests_read
from loadcurve.loads.requests import VERIFIED_PATHS_MAX, LongList, sampled_paths
from loadcurve.loads.sent import Body, Headers, Method, header_fields
from loadcurve.loads.table import Swept, attributes
from loadcurve.loads.tls import EarlyData, FullHandshakes, Tls, TlsTable
from loadcurve.loads.values import ENGINE_NAME, PositiveCount
from loadcurve.loads.verification import Verify
from loadcurve.loads.way import HostAndPort, ProxyCredentials, ProxyProtocol, ProxyUrl, SocketPath, Way
from loadcurve.protocol import (
    BY_ALT_SVC,
    GRPC,
    HTTP1_0,
    HTTP1_1,
    HTTP2,
    HTTP3,
    AskedHttp,
    has_streams,
    http_family,
)
from loadcurve.toml.expected import Expected, nearest, show
from loadcurve.toml.problems import KeyPath, Problem
from loadcurve.toml.quantities import SizeBytes
from loadcurve.toml.values import SourceAddresses, Text

CALL_METHOD: Final = "POST"
"""The method of HTTP by which calls of gRPC are made."""


def _entries_unless_long(value: object, entries: ValidatorFunctionWrapHandler) -> object:
    return value if isinstance(value, LongList) else entries(value)


def _entries_or_summary(requests: list[Entry] | LongList, dump: SerializerFunctionWrapHandler) -> object:
    if isinstance(requests, LongList):
        return requests.summary()
    source = source_of(requests[0]) if requests else None
    # A file of targets has thousands, and what they send may be secret.
    return dump(requests) if source is None else {"file": str(source.file), "count": len(requests)}


if TYPE_CHECKING:
    Requests = list[Entry] | LongList
else:
    # To pydantic this is no union: it would report what is wrong with a path once for each member.
    Requests = Annotated[
        list[Entry],
        Field(min_length=1),
        WrapValidator(_entries_unless_long),
        WrapSerializer(_entries_or_summary),
        Expected(
            'a list of at least one path, such as ["/1k.txt"], or the name of a file with paths or targets'
        ),
    ]
Weights = Annotated[
    list[Annotated[float, Field(ge=0), Expected("a number of 0 or more")]],
    Expected("a list of numbers, one per request"),
]
Pipeline = Annotated[
    int,
    Field(ge=1, le=REQUESTS_AT_ONCE_MAX),
    Expected(f"a whole number of requests from 1 to {REQUESTS_AT_ONCE_MAX}"),
]
Streams = Annotated[
    int,
    Field(ge=1, le=REQUESTS_AT_ONCE_MAX),
    Expected(f"a whole number of streams from 1 to {REQUESTS_AT_ONCE_MAX}"),
]
StreamWindow = Annotated[
    SizeBytes, Field(ge=1, le=WINDOW_BYTES_MAX), Expected('a size of less than 2 GiB, such as "64KiB"')
]
ConnectionWindow = Annotated[
    SizeBytes,
    Field(ge=CONNECTION_WINDOW_BYTES_MIN, le=WINDOW_BYTES_MAX),
    Expected('a size from 65,535 bytes to less than 2 GiB, such as "1MiB"'),
]


class HttpLoadTable(MessagesTable):
    """The keys of every load on web servers."""

    kind: ClassVar[LoadKind] = WEB

    requests: Annotated[
        Requests,
        CommandLine(
            "--urls",
            help="File of requests: paths, vegeta's targets, or HAR.",
            metavar="FILE",
            panel="Requests",
            place=10,
        ),
        Planned("translated"),
        ASKED,
    ]
    """What is requested: paths, and tables with what is a request's own; or the name of a file."""
    pick: Annotated[
        Literal["in-order", "random", "weighted"],
        CommandLine("--pick", help="How requests are chosen from --urls.", panel="Requests", place=20),
        ASKED,
    ] = "in-order"
    """In which order the requests are taken; "weighted" where one of them has a weight."""
    weights: Annotated[Weights | None, Planned("translated"), ASKED] = None
    """One for each request; only with `pick = "weighted"`."""
    method: Annotated[
        Method,
        CommandLine(
            "-X/--method", help="The method of the requests.", metavar="NAME", panel="Requests", place=70
        ),
        Planned("translated"),
        OtherTools(takes_any=False, reason="is only driven with GET"),
    ] = "GET"
    """The method of the requests."""
    headers: Annotated[
        Headers,
        CommandLine(
            "-H/--header",
            help="Request header, or @FILE with one per line; repeatable.",
            metavar="'NAME: VALUE'",
            panel="Requests",
            place=80,
            form="fields",
        ),
        CommandLine(
            "--header-env",
            help="Request header with its value from an environment variable; repeatable.",
            metavar="NAME=VARIABLE",
            panel="Requests",
            place=90,
            form="fields of variables",
        ),
        Planned("translated"),
        ASKED,
    ] = Field(default_factory=dict)
    """Header fields of the requests; a list is several of one name."""
    body: Annotated[
        Body,
        CommandLine(
            "--body",
            help="Request body, or @FILE: the file's content, of any length.",
            metavar="TEXT",
            panel="Requests",
            place=100,
        ),
        Planned("translated"),
        OtherTools(takes_any=False, reason="is only driven with requests without a body"),
    ] = ""
    """The body of the requests: a text, `@` and the name of a file, or `{ lines = "FILE" }`, whose lines the
    requests take in turn.
    """
    chunked: Annotated[
        bool,
        CommandLine(
            "--chunked", help="Send bodies in chunks, without their length.", panel="Requests", place=110
        ),
        Planned("translated"),
        OtherTools(takes_any=False, reason="is only driven with requests without a body"),
    ] = False
    """Whether bodies are sent in chunks, without their length: by HTTP/1.1's transfer coding, or over HTTP/2
    without Content-Length.
    """
    http: Annotated[
        AskedHttp,
        CommandLine("--http", help="HTTP version of the requests.", panel="Requests", place=30),
        ASKED,
    ] = HTTP1_1
    """The version of HTTP; 2 over TLS, or in clear text with servers that are known to speak it; 3 over QUIC,
    on the UDP port that has the number of the TCP port, or with "3-by-alt-svc" on the one that the server's
    `Alt-Svc` names.
    """
    hpack: Annotated[
        Literal["indexed", "literal"] | None,
        CommandLine(
            "--hpack", help="HTTP/2: how header fields are sent; default indexed.", panel="Requests", place=40
        ),
        Planned("h2", "indexed"),
        OWN_HTTP2,
    ] = None
    """With HTTP/2: header fields refer to those sent before ("indexed", the default), or are written out in
    each request.
    """
    stream_window_bytes: Annotated[
        StreamWindow | None,
        CommandLine(
            "--stream-window",
            help="HTTP/2: receive window of a stream; default 1GiB.",
            metavar="SIZE",
            panel="Requests",
            place=50,
        ),
        Planned("h2", WINDOW_BYTES_DEFAULT),
        OWN_HTTP2,
    ] = Field(None, alias="stream_window")
    """With HTTP/2: how much of an answer the server may send before the window is enlarged; 1 GiB unless
    set.
    """
    connection_window_bytes: Annotated[
        ConnectionWindow | None,
        CommandLine(
            "--connection-window",
            help="HTTP/2: receive window of a connection; default 1GiB.",
            metavar="SIZE",
            panel="Requests",
            place=60,
        ),
        Planned("h2", WINDOW_BYTES_DEFAULT),
        OWN_HTTP2,
    ] = Field(None, alias="connection_window")
    """The same of all answers on a connection together."""
    verify: Annotated[Verify, Planned("translated"), ASKED] = "content"
    """How each answer is verified: as the file of the content, whose length the load then checks, too; by
    status 200 alone; or by a pattern that its text must match, which changing texts require.
    """
    tls: Annotated[Tls, Planned("translated"), ASKED] = Field(default_factory=TlsTable)
    """Settings of the TLS handshakes, if the server speaks TLS."""
    full_handshakes: Annotated[
        FullHandshakes,
        CommandLine(
            "--full-handshakes",
            help="Share of connections that do not resume a session.",
            metavar="SHARE",
            panel="TLS",
            place=90,
        ),
        Planned("translated"),
        ASKED,
    ] = 1.0
    """The share of the TLS connections that begin a session; the others resume an earlier one."""
    early_data: Annotated[
        EarlyData,
        CommandLine(
            "--early-data",
            help="Share of resumed connections that send 0-RTT requests.",
            metavar="SHARE",
            panel="TLS",
            place=95,
        ),
        Planned("translated"),
        OtherTools(takes_any=False, reason="is driven without early data"),
    ] = 0.0
    """With HTTP/3: the share of the connections that resume a session whose first requests leave before the
    handshake is over (0-RTT). Whoever hears them can repeat them, so only GET and HEAD without a body may.
    """
    source_addresses: Annotated[
        SourceAddresses,
        CommandLine(
            "--source-addresses",
            help="This machine's addresses that connections come from in turn.",
            metavar="LIST",
            panel="Arrivals and connections",
            place=90,
            form="list",
        ),
        OtherTools(takes_any=False, reason="has one source address"),
    ] = Field(default_factory=list)
    """Addresses of the client's machine from which connections come in turn, as from many clients: each has
    all local ports, and counts as one client for the server's limits. Unless set, the kernel chooses.
    """
    addresses: Annotated[
        Literal["all"] | None,
        CommandLine(
            "--addresses",
            help="All addresses of the host in turn; default the first.",
            panel="Arrivals and connections",
            place=100,
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="chooses one address"),
    ] = None
    """With `"all"`, connections go to all addresses of the URL's host in turn; else to the first that accepts
    one.
    """
    connect_to: Annotated[
        HostAndPort | None,
        CommandLine(
            "--connect-to",
            help="Connect there; Host and certificate stay the URL's.",
            metavar="HOST:PORT",
            panel="Arrivals and connections",
            place=110,
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="is only driven to the address of the URL"),
    ] = None
    """Where connections go instead of the URL's host and port, which `Host`, SNI and the certificate's name
    keep to.
    """
    unix_socket: Annotated[
        SocketPath | None,
        CommandLine(
            "--unix-socket",
            help="Connect to this Unix socket.",
            metavar="PATH",
            panel="Arrivals and connections",
            place=120,
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="is only driven over TCP"),
    ] = None
    """The Unix socket that connections go to instead of the URL's host and port."""
    proxy: Annotated[
        ProxyUrl | None,
        CommandLine(
            "--proxy",
            help="HTTP proxy that leads to the server.",
            metavar="URL",
            panel="Arrivals and connections",
            place=130,
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="is driven without a proxy"),
    ] = None
    """The HTTP proxy through which requests go: with the whole URL for `http://`, through a tunnel (CONNECT)
    for `https://`. Variables such as `HTTP_PROXY` are not obeyed.
    """
    proxy_credentials: Annotated[
        ProxyCredentials | None,
        CommandLine(
            "--proxy-credentials-env",
            help="Variable with the proxy's USER:PASSWORD.",
            metavar="VARIABLE",
            panel="Arrivals and connections",
            place=135,
            form="variable",
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="is driven without a proxy"),
    ] = None
    """The user and the password for the `proxy`, as `USER:PASSWORD` in a variable of the environment or in a
    file that others cannot read; sent as Basic credentials (RFC 7617), and recorded by that name alone.
    """
    proxy_protocol: Annotated[
        ProxyProtocol | None,
        CommandLine(
            "--proxy-protocol",
            help="Begin connections with the PROXY header, 1 or 2.",
            metavar="VERSION",
            panel="Arrivals and connections",
            place=140,
        ),
        Planned("way"),
        OtherTools(takes_any=False, reason="knows nothing of the PROXY protocol"),
    ] = None
    """The version of the PROXY protocol, 1 or 2, whose header comes first on each connection and names its
    two ends.
    """
    generator: Annotated[
        Text,
        CommandLine(
            "--generator",
            help="What sends the load: engine, or another tool of `loadcurve generators`.",
            metavar="NAME",
            panel="Generator",
            place=60,
        ),
        Planned("translated"),
        ASKED,
    ] = ENGINE_NAME
    """What sends the load: our own engine, or another tool by its name in `loadcurve generators`."""
    threads: Annotated[
        PositiveCount | None,
        CommandLine(
            "-t/--threads", help="Sending threads; for a database: clients; default 1.", metavar="N", place=20
        ),
        Planned("translated"),
        ASKED,
    ] = None
    """Sending threads; one for each load CPU, but at most the connections, unless it is given."""

    _places: tuple[str, ...] = PrivateAttr(())

    @property
    def sending_threads(self) -> int | None:
        """How many of the generator's threads send it; ``None`` where it does not say."""
        return self.threads

    @property
    def labels(self) -> list[str] | None:
        """What its requests are called; ``None`` of a file that the engine reads, which may have them."""
        if isinstance(self.requests, LongList):
            return None
        return [*dict.fromkeys(one.label for one in self.asked)]

    @property
    def makes_calls(self) -> bool:
        """Whether its requests are calls of gRPC."""
        return self.messages == GRPC

    @property
    def request_places(self) -> tuple[str, ...]:
        """Where each request is in a file of requests, as ``file:line``; empty without such a file."""
        return self._places

    def paths_to_verify(self, seed: int) -> list[str]:
        """Return the paths of the requests; of a long list, those that ``seed`` picks.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        if isinstance(self.requests, LongList):
            return sampled_paths(self.requests, seed)
        paths = [*dict.fromkeys(map(path_of, self.requests))]
        if source_of(self.requests[0]) is None or len(paths) <= VERIFIED_PATHS_MAX:
            return paths
        return random.Random(seed).sample(paths, VERIFIED_PATHS_MAX)  # noqa: S311 -- no secret

    @property
    def asked(self) -> list[AskedRequest]:
        """Its requests, each with all that is sent; none of a long list, whose requests are in its file."""
        if isinstance(self.requests, LongList):
            return []
        asked = asked_of(self.requests, self.weights, self.asked_for("/"))
        return [replace(one, name=one.name or one.path[1:]) for one in asked] if self.makes_calls else asked

    def asked_for(self, path: str) -> AskedRequest:
        """Return the request for a path of which the list says nothing else."""
        if self.makes_calls:
            return AskedRequest(
                path, CALL_METHOD, self.headers, self.grpc.message, "status", name=path[1:] or None
            )
        # Streams need not end, so there is nothing that a whole answer could be compared with.
        rule = "status" if self.messages is not None and self.verify == "content" else self.verify
        return AskedRequest(path, self.method, self.headers, self.body, rule, self.chunked)

    def requests_for(self, paths: Collection[str]) -> list[AskedRequest]:
        """Return its requests for these paths, and a new one for each path that it does not have.

        Raises:
            BadInput: the file of the list has changed since it was read.

        """
        if isinstance(self.requests, LongList):
            return asked_at([*paths], self.requests.statuses_of([*paths]), self.asked_for("/"))
        wanted = {*paths}
        own = [one for one in self.asked if one.path in wanted]
        if source_of(self.requests[0]) is not None:
            # Thousands may differ in their bodies alone.
            own = [*{one.line: one for one in reversed(own)}.values()][::-1]
        others = wanted - {one.path for one in own}
        return own + [self.asked_for(path) for path in paths if path in others]

    @property
    def way(self) -> Way:
        """Where its connections go."""
        return Way(
            self.unix_socket,
            self.connect_to,
            self.proxy,
            self.addresses == "all",
            self.proxy_protocol,
            # A server that is asked for its Alt-Svc is asked over TCP.
            self.http == HTTP3,
        )

    def paths_of_content(self, seed: int) -> list[str]:
        """Return those of :meth:`paths_to_verify` that must lead to files of the content."""
        return [one.path for one in self.requests_for(self.paths_to_verify(seed)) if one.is_of_content]

    def problems_of_content(self, files: Collection[str] | None) -> Iterator[Problem]:
        """Yield the requests that ask for none of the files, where answers are compared with these."""
        if files is None:
            return
        paths = [f"/{name}" for name in files]
        for index, request in enumerate(self.asked):
            path, _, _ = request.path.partition("?")
            if path not in paths and request.is_of_content:
                place = f"{self.request_places[index]}: " if self.request_places else ""
                text = (
                    f"found {show(request.path)}, which is not in [content]; expected one of "
                    f"{', '.join(paths)}"
                )
                yield Problem(("load", "requests", str(index)), place + text + nearest(path, paths))

    def problems_of_hosts(self, url: str | None) -> Iterator[Problem]:
        """Yield the requests of a file that name another server than that of ``url``, which is loaded.

        Without a URL the server is one that the study starts, and nobody could name it before.
        """
        if not isinstance(self.requests, LongList):
            names = [value for name, value in header_fields(self.headers) if name.lower() == "host"]
            for index, text in enumerate(naming_others(self.requests, names, url)):
                yield Problem(("load", "requests", str(index)), text)

    def _problems_of_model(self, at: Swept) -> Iterator[Problem]:
        yield from self._endings(at)
        yield from self._idle_threads(at)
        yield from self._weights()
        yield from self._other_version(at)
        asked = [self.asked_for("/")] if isinstance(self.requests, LongList) else self.asked
        yield from problems_of_early_data(at, http_family(self.http), asked)
        if self.makes_calls:
            yield from problems_of_calls(
                self.grpc, self.http, self.requests, self.asked, self._of_streams(at)
            )
        yield from self._several_ways()
        yield from self._problems_of_messages(at)

    def _of_streams(self, at: Swept) -> list[KeyPath]:
        """Return what is said of streamed answers, by its place in the study."""
        said = ("events_expected", "stream_for")
        return [at.place(key) for key in said if at.gives(key) or key in at.sweep]

    def _idle_threads(self, at: Swept) -> Iterator[Problem]:
        """Check that every thread has a connection at every point."""
        threads, connections = at.values("threads"), self._connections_at(at)
        if threads and connections and max(threads) > min(connections):
            text = f"found {max(threads)}; expected no more threads than connections; the lowest point has "
            yield Problem(at.place("threads"), f"{text}{min(connections)}")

    def _other_version(self, at: Swept) -> Iterator[Problem]:
        """Check that what belongs to one version of HTTP is not asked of another."""
        if self.http == HTTP1_0 and (self.chunked or any(one.chunked for one in self.asked)):
            key = "chunked" if self.chunked else "requests"
            yield Problem(("load", key), "HTTP/1.0 has no chunks; set http to 1.1 or 2, or remove chunked")
        keys = attributes(type(self))
        if has_streams(self.http):
            if "pipeline" in keys and max(at.values("pipeline")) > 1:
                text = f"cannot be combined with HTTP/{self.http}, which has no pipeline; expected streams"
                yield Problem(at.place("pipeline"), text)
            if (
                http_family(self.http) == HTTP3
                and "hpack" in keys
                and (at.gives("hpack") or "hpack" in at.sweep)
            ):
                text = f"only used over HTTP/2, since HTTP/3 has QPACK; set http to {HTTP2}, or remove it"
                yield Problem(at.place("hpack"), text)
            return
        for key in ("streams", "hpack", "stream_window", "connection_window"):
            if key in keys and (key in at.sweep or at.gives(key)):
                versions = [HTTP2] if key == "hpack" else [HTTP2, HTTP3]
                named = " and ".join(f"HTTP/{one}" for one in versions)
                text = f"only used over {named}; set http to {' or '.join(versions)} as well, or remove it"
                yield Problem(at.place(key), text)

    def _several_ways(self) -> Iterator[Problem]:
        """Check that connections go to one place."""
        given = [key for key in ("unix_socket", "connect_to", "proxy") if getattr(self, key) is not None]
        for key in given[1:]:
            yield Problem(("load", key), f"cannot be combined with {given[0]}; keep one of the two")
        around = ("unix_socket", "proxy", "proxy_protocol")
        for key in around if self.http == BY_ALT_SVC else ():
            if getattr(self, key) is not None:
                text = (
                    f'cannot be combined with http = "{BY_ALT_SVC}", since HTTP/3 goes straight to the server'
                )
                yield Problem(("load", key), f"{text}; remove it, or use another version")
        if self.proxy_credentials is not None and self.proxy is None:
            yield Problem(("load", "proxy_credentials"), "only used with a proxy; set proxy as well")
        for key in {"unix_socket", "proxy"} & {*given}:
            if self.addresses is not None:
                yield Problem(("load", "addresses"), f"cannot be combined with {key}; keep one of the two")
        if self.unix_socket is not None and self.source_addresses:
            text = "cannot be combined with unix_socket, which has no addresses; remove it"
            yield Problem(("load", "source_addresses"), text)

    def _connections_at(self, at: Swept) -> Sequence[int | float]:
        """Return how many connections are known to be open at the points."""
        return at.values("connections")

    def _weights(self) -> Iterator[Problem]:
        place = ("load", "weights")
        requests = self.requests
        if isinstance(requests, LongList):
            if self.pick == "weighted" and not requests.listed.has_weights:
                text = f'no line of {requests.file} has a weight; pick = "weighted" requires weights'
                yield Problem(("load", "requests"), text)
        elif any(map(has_weight, requests)):
            yield from self._weights_of_entries()
        elif self.weights is None:
            if self.pick == "weighted":
                yield Problem(place, 'missing; pick = "weighted" requires one weight per request')
        elif self.pick != "weighted":
            yield Problem(place, 'only used with pick = "weighted"; set both, or remove the weights')
        elif len(self.weights) != len(requests):
            text = f"found {len(self.weights)} weights; expected {len(requests)}, one per request"
            yield Problem(place, text)
        elif sum(self.weights) == 0:
            yield Problem(place, "all weights are 0; expected at least one above 0")

    def _weights_of_entries(self) -> Iterator[Problem]:
        if self.weights is not None:
            yield Problem(("load", "weights"), "set here and in requests; keep one of the two")
        elif self.pick != "weighted":
            text = 'found requests with weights, which require "weighted"; set it, or remove the weights'
            yield Problem(("load", "pick"), text)
        elif sum(one.weight for one in self.asked) == 0:
            yield Problem(("load", "requests"), "all weights are 0; expected at least one above 0")

    @model_validator(mode="wrap")
    @classmethod
    def _with_requests_read(
        cls, data: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if not isinstance(data, dict):
            return handler(data)
        if data.get("messages") == GRPC:
            data = {"http": HTTP2, **data}
        read, places = with_requests_read(data, Path(info.context["folder"] if info.context else ""))
        load = handler(read)
        load._places = places  # noqa: SLF001 -- its own class
        return load
