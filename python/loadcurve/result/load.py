"""The result of one load, as the engine prints it (format :data:`LOAD_FORMAT`).

Every time is in milliseconds and every rate per second unless the name says otherwise; ``None`` means "not
measured", never zero.
"""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from loadcurve.loads.record import LoadAsRun
from loadcurve.record import Count, Many, Record, Time, contradiction
from loadcurve.result.compression import CompressionResult
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Generator, Kernel, LoadMachines, ToolRecord
from loadcurve.result.http3 import Http3Result, NumberRange
from loadcurve.result.messages import DeliveriesResult, MessagesResult
from loadcurve.result.outcomes import ErrorClass, Errors, OfStatus, Requests, StatusClasses, Verdict


class Handshakes(Record):
    """How many handshakes there were, by whether an earlier session continued."""

    full: Count
    resumed: Count


class MeasuredHandshakes(Record):
    """The handshakes that ended within the measured window, by whether an earlier session continued."""

    full_ms: Distribution
    """From when a connection was established until both sides had agreed, as ``handshake_ms`` counts."""
    resumed_ms: Distribution
    full_per_s: Time | None
    """``None`` where the window has no length."""
    resumed_per_s: Time | None
    refused: Count | None = None
    """How many of the full ones had offered to resume a session; records of earlier versions lack it."""


class Agreed(Record):
    """What some of the handshakes have agreed on, by the names that IANA has registered."""

    version: str
    suite: str
    group: str | None
    """``None`` where no keys were exchanged."""
    resumed: bool
    count: Count


class Certificate(Record):
    """The certificate that a server has shown."""

    subject: str
    issuer: str
    key: str
    not_after: str
    chain_length: Count


class TlsResult(Record):
    """The handshakes of a whole load, warm-up included, and those of its measured window."""

    handshakes: Handshakes
    measured: MeasuredHandshakes | None = None
    """Records of earlier versions lack it."""
    agreed: Many[Agreed]
    """The most frequent first."""
    protocol: str | None
    """The protocol that the server has chosen (ALPN); ``None`` where it has chosen none."""
    certificate: Certificate | None
    """``None`` where it was not seen."""


LOAD_FORMAT: Final = "loadcurve-load/2"


class RequestRate(Record):
    """Requests per second over the measured window."""

    asked: float | None
    sent: Time | None
    answered: Time | None


class AnswersEach(Record):
    """How many answers one connection has carried."""

    min: Count
    mean: Time
    max: Count

    def __str__(self) -> str:
        """Return the number for a sentence, or the least and the greatest."""
        answers = "answer" if self.max == 1 else "answers"
        number = f"exactly {self.min:,}" if self.min == self.max else f"{self.min:,} to {self.max:,}"
        return f"{number} {answers}"


class EndedByServer(Record):
    """Connections that the server has ended, announced or not, in the whole load."""

    count: Count
    answers: AnswersEach | None
    """``None`` where it has ended none."""


class IdleEnded(Record):
    """How many idle connections the server ended by an answer to no request, such as 408."""

    status: Count
    count: Count


class FailedConnections(Record):
    """Connections that could not be established for the same reason."""

    error: ErrorClass
    text: str | None
    """What the class does not say."""
    count: Count

    def __str__(self) -> str:
        """Say the reason, without a full stop."""
        return self.error if self.text is None else f"{self.error}: {self.text.removesuffix('.')}"


class Connections(Record):
    """The connections of the whole load, warm-up included; ``reused`` counts requests that found one open."""

    opened: Count | None
    failed: Count | None
    failures: Many[FailedConnections] = Field([])
    """Why these could not be established, the most frequent reasons first. Records may lack it."""
    reused: Count | None
    concurrent_max: Count | None
    asked: Count | None = None
    """How many had requests to make in the window, or had one that waited through it."""
    served: Count | None = None
    """On how many of these an answer came in the window, or to one of its requests.

    Records may lack both, and other generators do not report them.
    """
    rate_cps: Time | None
    replies_per_connection: Time | None
    idle_ended: Many[IdleEnded] = Field([])
    """Over HTTP/1.x, by the status of that answer; no request failed because of it. Records may lack it."""
    lifetime_ms: Distribution | None
    """From the start of connecting to the close, of the connections that were closed."""
    ended_by_server: EndedByServer | None = None
    """``None`` of a database's driver, of other generators, and in records of versions that did not count."""
    lasting: Count | None = None
    """Connections that were open throughout the load, and carried answers; ``None`` likewise."""

    @property
    def replies(self) -> float:
        """The answers of the whole load; 0 where that is not known."""
        return (self.replies_per_connection or 0.0) * (self.opened or 0)


class WaitedThrough(Record):
    """Requests that were under way from the start of the window to its end: no latency includes them."""

    requests: Count
    connections: Count
    """That carried them."""
    of_connections: Count
    """That had requests to make."""
    oldest_ms: Time
    """How long the oldest had waited at the end of the window."""


class StreamsAllowed(NumberRange):
    """How many streams at once servers have allowed on a connection (MAX_CONCURRENT_STREAMS)."""


ErrorCode = Literal[
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
    "unknown",
]
"""The codes with which HTTP/2 ends connections (RFC 9113 §7); ``unknown`` is any other."""


class EndedByCode(Record):
    """Of how many connections the server announced the end with this code."""

    code: ErrorCode
    count: Count


class Http2Result(Record):
    """What the limits of HTTP/2 and the ends of its connections did in the whole load, warm-up included."""

    streams_allowed: StreamsAllowed | None
    """``None`` where no connection has a limit."""
    connections_limited: Count
    """Connections whose server allowed fewer streams than the load asked for."""
    stream_wait_ms: Distribution
    """Of the measured requests that could not be sent because of that limit, until they were."""
    moved_wait_ms: Distribution | None = None
    """Of the measured requests that moved, from the end of the first attempt until they were sent once more.

    They go to the connection that is free next. ``None`` in records of versions that did not count it.
    """
    streams_refused: Count
    """Streams that the server refused without looking at them (REFUSED_STREAM), retried or not."""
    connections_ended: Count
    """Connections whose end the server announced (GOAWAY)."""
    connections_ended_by_error: Count
    """Those of them for which it gave an error as the reason, in the first announcement."""
    connections_ended_by: Many[EndedByCode] | None = None
    """The codes of the first announcements. ``None`` in records of versions that did not count them."""
    streams_abandoned: Count | None = None
    """Streams that the server was to answer by its announcement, and left when it closed the connection.

    ``None`` likewise.
    """
    bodies_delayed: Count
    """Requests whose bodies had to wait for a window of the server."""
    windows_used_up: Count
    """How often a server had sent all that the client's windows let it, and more was to come."""
    answers_behind_long: Count
    """Answers below 256 KiB that were under way while 256 KiB of another one came without a break."""
    answers_starved: Count | None = None
    """Answers that had begun, and that others then passed on their connection: eight times as much as the
    longest answers of all streams together. Those that timed out are among them where all requests have one
    name. ``None`` in records of versions that did not count them.
    """


class Bytes(Record):
    """Bytes over the measured window; header and body are the two parts of the answers received.

    ``None`` for what another generator than the engine does not count.
    """

    sent: Count | None
    """What requests were written as. Of a body that the server did not want to its end, a part may
    have stayed in buffers, of the kernel or of QUIC.
    """
    received: Count | None
    header: Count | None
    body: Count | None


class ErrorMessage(Record):
    """How often requests failed with a text of the database or its driver, or ours about an answer."""

    error: ErrorClass
    operation: str
    text: str
    example: str | None = None
    """A part of what the server sent, of one of them, with its odd bytes escaped; records may lack it."""
    count: Count

    def __str__(self) -> str:
        """Say it with the example, without a full stop."""
        text = self.text.removesuffix(".")
        return text if self.example is None else f'{text}: "{self.example}"'


class BrokenOff(Record):
    """Requests that failed because their connection was closed or reset, by what had come before."""

    answer_begun: Count
    """The first byte of their answer."""
    kept_connection: Count
    """No byte of theirs, but answers to others on the same connection."""
    new_connection: Count
    """Nothing on this connection."""


class SlowRequest(Record):
    """One of the slowest requests, answered or failed; ``due_s`` counts from the start of the window."""

    operation: str
    due_s: float
    connect_ms: Time | None
    """``None`` where the request did not wait for its own connection, or never got it."""
    first_byte_ms: Time | None
    service_time_ms: Time | None
    """From sent to done, or to the failure; ``None`` where the request was never sent."""
    latency_ms: Time
    """From due to done, or to the failure."""
    error: ErrorClass | None
    syn_retransmits: Count | None
    """How often its connection's SYN was sent again, whether this request waited for it or not."""
    retransmits: Count | None
    """Segments that its connection has sent again from when it was established to the end of this request."""
    connection: Count


class Operation(Record):
    """The part of one operation, such as ``GET /1k.txt``, in the load; more than 100 requests are one."""

    operation: str
    answered: Count
    ok: Count | None = None
    """Those answered with the status that is expected of them; ``None`` where nobody counted these."""
    failed: Count
    latency_ms: Distribution

    @property
    def ended(self) -> int:
        """How many have ended: answered or failed."""
        return self.answered + self.failed

    @property
    def errors(self) -> int:
        """How many failed, or were answered with another status than is expected of them."""
        return self.failed + (0 if self.ok is None else self.answered - self.ok)


class Silence(Record):
    """A stretch of the window in which nothing was answered; ``start_s`` counts from the window's start."""

    start_s: Time
    length_ms: Time


class SeriesPeriod(Record):
    """What was completed in one period of the measured window; ``t_s`` is the period's start.

    All periods of a series are equally wide, a power of two in seconds, but for the last, which ends with the
    window. So series merge: periods of half the width join in pairs, counts add, and histograms merge.
    """

    t_s: Time
    width_s: Time
    answered: Count
    failed: Count
    body_bytes: Count
    latency_ms: Distribution
    latency_histogram: str
    """Like those of :class:`Histograms`, but of two significant digits instead of three."""


class Histograms(Record):
    """HdrHistograms of nanoseconds, of three significant digits, encoding V2 with deflate, base64."""

    latency: str | None
    service_time: str | None
    connect: str | None
    first_byte: str | None
    transfer: str | None


class LoadResult(Record):
    """One load against one server.

    Figures that another generator than the engine cannot know are ``None``. What became of the requests and
    their latency are always there.
    """

    format: Literal["loadcurve-load/2"]
    load: LoadAsRun
    interrupted: bool
    window_start_monotonic_s: Time | None
    """When the measured window began, on the monotonic clock of the machine that sent the load.

    ``None`` for one that was imported.
    """
    duration_s: Time
    requests: Requests
    waited_through: WaitedThrough | None = None
    """``None`` where none waited, or that is not known; records may lack it."""
    rate_rps: RequestRate
    latency_ms: Distribution
    service_time_ms: Distribution | None
    connect_ms: Distribution | None
    handshake_ms: Distribution | None = None
    """Of what follows connecting before requests can be sent, such as that of TLS, in the whole load.

    Records may lack it.
    """
    first_byte_ms: Distribution | None
    transfer_ms: Distribution | None
    connections: Connections
    tls: TlsResult | None = None
    """``None`` where the connections carry clear text."""
    http2: Http2Result | None = None
    """``None`` where the connections speak HTTP/1.x or HTTP/3; records may lack it."""
    http3: Http3Result | None = None
    """``None`` where the connections do not speak HTTP/3; records may lack it."""
    messages: MessagesResult | None = None
    deliveries: DeliveriesResult | None = None
    """``None`` where an answer is a whole; records may lack it."""
    compression: CompressionResult | None = None
    """``None`` where no compression of messages was offered; records may lack it."""
    bytes: Bytes | None
    """``None`` for a database, whose driver hides it."""
    status: StatusClasses | None
    """``None`` for a database."""
    statuses: Many[OfStatus] | None = None
    """The same by single statuses, the least first; ``None`` likewise, and where a generator or a record
    does not tell them."""
    unexpected_status: StatusClasses | None = None
    """Answers of another status than the list of requests expects; ``None`` where it expects none."""
    errors: Errors
    error_messages: Many[ErrorMessage] = Field([])
    """The 20 most frequent texts that explain failures; records may lack them."""
    broken_off: BrokenOff | None = None
    """``None`` where the generator or a driver hides how connections end; records may lack it."""
    redirected_to: str | None = None
    """Where redirections led (``Location``), without a query; of several places one."""
    tool: ToolRecord | None = None
    """``None`` where our engine sent the load; records may lack it."""
    generator: Generator
    machines: LoadMachines | None = None
    """``None`` where one machine sent the load; records may lack it."""
    kernel: Kernel
    operations: Many[Operation]
    slowest: Many[SlowRequest]
    silences: Many[Silence] = Field([])
    """The ten longest, the longest first; records may lack them."""
    series: Many[SeriesPeriod]
    histograms: Histograms
    verdict: Verdict

    @model_validator(mode="after")
    def _is_sum_of_machines(self) -> Self:
        parts = [part.requests for part in self.machines.parts if part.requests] if self.machines else []
        if parts and (difference := self.requests.difference(parts)):
            raise contradiction(f"the load has {difference}")
        return self

    @model_validator(mode="after")
    def _are_of_their_classes(self) -> Self:
        by_class: dict[str, int] = {}
        for one in self.statuses or []:
            code = f"{one.status // 100}xx"
            by_class[code] = by_class.get(code, 0) + one.answered
        classes = self.status.nonzero() if self.status is not None else {}
        if self.statuses is not None and by_class != classes:
            raise contradiction(f"single statuses come to {by_class}, and their classes to {classes}")
        return self

    @property
    def wrong_statuses(self) -> list[OfStatus]:
        """Return the single statuses that were not what was asked for, the most frequent first."""
        wrong = [one for one in self.statuses or [] if one.wrong]
        return sorted(wrong, key=lambda one: -one.wrong)

    @property
    def began_monotonic_s(self) -> float:
        """When the window of a load began that was sent from here, on the monotonic clock."""
        if self.window_start_monotonic_s is None:
            raise ValueError("the load was imported, and its start on this machine's clock is unknown")
        return self.window_start_monotonic_s
