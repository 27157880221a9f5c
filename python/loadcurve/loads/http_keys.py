"""The keys of every load on web servers, as the file gives them, with what they may be."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)

from loadcurve.loads.entries import Entry, source_of
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.limits import (
    CONNECTION_WINDOW_BYTES_MIN,
    REQUESTS_AT_ONCE_MAX,
    WINDOW_BYTES_DEFAULT,
    WINDOW_BYTES_MAX,
)
from loadcurve.loads.messages import MessagesTable
from loadcurve.loads.option import (
    ASKED,
    OWN_HTTP2,
    CommandLine,
    NotOver,
    NotWith,
    OnlyOver,
    OtherTools,
    Planned,
)
from loadcurve.loads.requests import LongList
from loadcurve.loads.sent import Body, Headers, Method
from loadcurve.loads.tls import EarlyData, FullHandshakes, Tls, TlsTable
from loadcurve.loads.values import ENGINE_NAME, PositiveCount
from loadcurve.loads.verification import Verify
from loadcurve.loads.way import HostAndPort, ProxyCredentials, ProxyProtocol, ProxyUrl, SocketPath
from loadcurve.protocol import BY_ALT_SVC, HTTP1_1, HTTP2, HTTP3, AskedHttp
from loadcurve.toml.expected import Expected
from loadcurve.toml.quantities import SizeBytes
from loadcurve.toml.values import SourceAddresses, Text


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
_NOT_OVER_HTTP3 = NotOver(
    (HTTP3, BY_ALT_SVC), "since HTTP/3 goes straight to the server; remove it, or use another version"
)


class HttpKeys(MessagesTable):
    """The keys of every load on web servers; what they mean together is `HttpLoadTable`."""

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
            "--hpack", help="HTTP/2: how header fields are sent.", usual="indexed", panel="Requests", place=40
        ),
        OnlyOver((HTTP2,), {HTTP3: "HTTP/3 has QPACK"}),
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
            help="HTTP/2: receive window of a stream.",
            usual="1GiB",
            metavar="SIZE",
            panel="Requests",
            place=50,
        ),
        OnlyOver((HTTP2, HTTP3)),
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
            help="HTTP/2: receive window of a connection.",
            usual="1GiB",
            metavar="SIZE",
            panel="Requests",
            place=60,
        ),
        OnlyOver((HTTP2, HTTP3)),
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
        NotWith(("unix_socket",), ", which has no addresses; remove it"),
    ] = Field(default_factory=list)
    """Addresses of the client's machine from which connections come in turn, as from many clients: each has
    all local ports, and counts as one client for the server's limits. Unless set, the kernel chooses.
    """
    addresses: Annotated[
        Literal["all"] | None,
        CommandLine(
            "--addresses",
            help="All addresses of the host in turn.",
            usual="the first",
            panel="Arrivals and connections",
            place=100,
        ),
        NotWith(("unix_socket", "proxy")),
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
        NotWith(("unix_socket",)),
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
        _NOT_OVER_HTTP3,
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
        _NOT_OVER_HTTP3,
        NotWith(("unix_socket", "connect_to")),
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
        _NOT_OVER_HTTP3,
        Planned("way"),
        OtherTools(takes_any=False, reason="knows nothing of the PROXY protocol"),
    ] = None
    """The version of the PROXY protocol, 1 or 2, whose header comes first on each connection and names its
    two ends.
    """
    sockets: Annotated[
        Literal["connection", "thread"] | None,
        CommandLine(
            "--sockets",
            help="HTTP/3: a UDP socket per connection, or one that all of a thread share.",
            usual="connection",
            panel="Arrivals and connections",
            place=150,
        ),
        OnlyOver((HTTP3,)),
        OtherTools(takes_any=False, reason="is driven with its own sockets"),
    ] = None
    """With HTTP/3: each `"connection"` has a UDP socket, the default, or each sending `"thread"` has one for
    all of its connections between the same two addresses.
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
            "-t/--threads", help="Sending threads; for a database: clients.", usual=1, metavar="N", place=20
        ),
        Planned("translated"),
        ASKED,
    ] = None
    """Sending threads; one for each load CPU, but at most the connections, unless it is given."""
