"""A load as its record has it: the complete load by its own names, and where and how it was run.

What is declared here is what others read of it. Any other option of a load is in the record as well,
without a line here, and a record that an older version has written lacks those that came later.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from loadcurve.loads.grpc import BIDIRECTIONAL, UNARY, CallKind
from loadcurve.loads.kinds import DATABASE, WEB, LoadKind, WorkName
from loadcurve.loads.rates import RECORDED, OpenArrivals, Rate
from loadcurve.loads.tls import Scheme
from loadcurve.loads.workload import Workload
from loadcurve.protocol import (
    GRPC,
    WEBSOCKET,
    AnsweredMessages,
    DatabaseProtocol,
    HttpVersion,
    Messages,
    ProtocolName,
)
from loadcurve.record import Count, Many, Record, Time


class _AsRun(Record, extra="allow"):
    """What every load as it was run has; what does not belong to its model is ``None``."""

    kind: ClassVar[LoadKind]

    work: WorkName
    """What its requests are."""
    protocol: ProtocolName | None
    """What is spoken with the server; ``None`` of a database where an imported file does not say."""
    address: str | None
    connections: Count | None
    rate_rps: Rate | None = None
    arrivals: OpenArrivals | None = None
    threads: Count | None
    """Threads that send; for a database its clients, which share the generator's threads."""
    cpus: Many[int] | None
    warmup_s: Time | None
    duration_s: Time | None = None
    requests_total: Count | None = None
    timeout_s: Time | None
    seed: Count | None
    io: Literal["epoll", "uring"] | None
    """``None`` where another generator than the engine sent it."""

    @property
    def is_open_loop(self) -> bool:
        """Whether requests fall due on a schedule, whatever the server does: at a rate, or as recorded."""
        return self.rate_rps is not None or self.arrivals == RECORDED


class RecordingAsRun(Record):
    """The list of requests with times that was replayed."""

    file: str
    requests: Count
    """How many it has."""
    length_s: Time
    """When the last one was recorded, from the start of the recording."""
    sha256: str


class AnnouncedHttp3(Record):
    """How a server announced where it speaks HTTP/3, before the load; that request is not one of the load."""

    request: str
    """Method and path of what it was asked."""
    said: str
    """The `Alt-Svc` of its answer."""
    took_ms: Time
    """From the start of connecting, by TCP and TLS, to the end of the answer's header."""
    address: str
    """Where the load then went."""
    max_age_s: Count
    """For how long the server said so (`ma`; a day where it says nothing of that)."""
    age_s: Time
    """How long ago it had said so when the load was made; 0 where it was asked for this load."""
    times_asked: Count
    """How often the loads of one start of the server have asked so far."""


class CallsAsRun(Record, extra="allow"):
    """What a load says of its calls of gRPC."""

    call: CallKind | None = None
    """What each call consisted of; ``None`` in records of older versions, where only the schema says it."""


class HttpAsRun(_AsRun):
    """A load on a web server.

    ``requests`` names each of up to 100 requests; more of them go by the name of their file, or their number.
    """

    work: Literal["http"]
    protocol: Literal["http"]
    model: Literal["closed", "open", "sessions"]
    http: HttpVersion | None
    announced: AnnouncedHttp3 | None = None
    """Where HTTP/3 was spoken on the port that the server named; ``None`` where the load named it."""
    scheme: Scheme = "http"
    full_handshakes: float = 1.0
    early_data: float = 0.0
    sockets: Literal["connection", "thread"] | None = None
    """What had a UDP socket; ``None`` where the load does not say it: each connection, if it is of HTTP/3."""
    other_addresses: Many[str] = Field([])
    """Further addresses of the URL's host: loaded in turn where `addresses` is "all", else left alone."""
    addresses: Literal["all"] | None = None
    proxy: str | None = None
    requests: Many[str]
    pick: Literal["in-order", "random", "weighted"] | None
    connection_rate_cps: Rate | None = None
    speed: Time | None = None
    """With recorded arrivals: how many times as fast as recorded."""
    recording: RecordingAsRun | None = None
    pipeline: Count = 1
    streams: Count = 1
    calls: Count | None = None
    messages: Messages | None = None
    """What answers are streams of; ``None`` where each is a whole."""
    grpc: CallsAsRun | None = None
    """``None`` where requests are no calls of gRPC."""
    message_bytes: Count | None = None
    """How long each message was, where the load says it; ``None`` where messages are given."""
    subscribers: Count | None = None
    """How many connections listened to what the others published; ``None`` where messages are answered."""
    think_s: Time = 0.0
    connections_total: Count | None = None

    kind: ClassVar[LoadKind] = WEB

    @property
    def asked(self) -> str:
        """What is asked, for people."""
        more = "" if len(self.requests) == 1 else f" and {len(self.requests) - 1} more"
        return f"{self.requests[0]}{more}" if self.requests else "unknown requests"

    @property
    def closes_connections(self) -> bool:
        """Whether the load itself ends connections that a server would keep."""
        return self.calls is not None or self.model == "sessions"

    @property
    def answered_messages(self) -> AnsweredMessages | None:
        """The messages it sends, where one answers each; ``None`` of requests and other messages."""
        if self.messages == WEBSOCKET and self.subscribers is None:
            return WEBSOCKET
        call = self.grpc.call if self.messages == GRPC and self.grpc is not None else None
        return call if call in (UNARY, BIDIRECTIONAL) else None

    @property
    def has_ceiling(self) -> bool:
        """Whether the rig's ceiling is measured for what it does.

        That of a deep pipeline is not, nor that of new connections, which cost far more than requests. Nor is
        that of streams and of messages to many, whose length or number decides how many requests are made.
        """
        is_answered_by_one = self.messages is None or self.answered_messages is not None
        return self.pipeline == 1 and not self.closes_connections and is_answered_by_one

    @property
    def under_way_max(self) -> int:
        """How many requests may be under way at once."""
        return (self.connections or 0) * self.pipeline * self.streams


class DatabaseAsRun(_AsRun):
    """A load on a database: clients (``threads``), each with one operation under way at most.

    Without a rate it is a closed loop. ``address`` names no user and no password.
    """

    work: Literal["ycsb"]
    protocol: DatabaseProtocol | None
    model: Literal["ycsb"]
    namespace: str | None
    table: str | None
    settings: dict[str, str]
    workload: Workload | None
    workload_name: str | None
    """What the workload was called; ``None`` for one of the person's own."""
    phase: Literal["load", "run"]
    batch: Count | None
    """How many records one request inserts in the load phase; each counts as an operation."""

    kind: ClassVar[LoadKind] = DATABASE
    http: ClassVar[None] = None
    scheme: ClassVar[None] = None
    connection_rate_cps: ClassVar[None] = None
    speed: ClassVar[None] = None
    think_s: ClassVar[float] = 0.0
    closes_connections: ClassVar[bool] = True
    """Its driver does."""
    streams: ClassVar[int] = 1
    full_handshakes: ClassVar[float] = 1.0
    answered_messages: ClassVar[None] = None
    has_ceiling: ClassVar[bool] = False

    @property
    def under_way_max(self) -> int:
        """How many operations may be under way at once."""
        return self.threads or 0

    @property
    def asked(self) -> str:
        """What is asked, for people."""
        if self.namespace is None or self.table is None:
            return "operations of a workload"
        workload = "a workload" if self.workload_name is None else f"workload {self.workload_name}"
        return f"{self.phase} phase of {workload} in {self.namespace}.{self.table}"


LoadAsRun = Annotated[HttpAsRun | DatabaseAsRun, Field(discriminator="work")]
"""A load as it was run."""
