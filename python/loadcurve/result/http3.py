"""What the engine counts of HTTP/3, of the QUIC below it and of the datagrams that carried both.

Everything is of the whole load, warm-up included, but for ``bodies``. ``None`` is what cannot be known, and
``unknown`` has the reason.
"""

from pydantic import Field

from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.distribution import Distribution


class NumberRange(Record):
    """The least and the greatest number of all connections."""

    min: Count
    max: Count

    def __str__(self) -> str:
        """Return the number, or both."""
        return f"{self.max:,}" if self.min == self.max else f"{self.min:,} to {self.max:,}"


class QuicHandshakes(Record):
    """The times of the handshakes, from the first datagram to the end; the classes are never mixed."""

    full: Distribution
    resumed: Distribution
    """An earlier session continued."""
    early_accepted: Distribution
    """Requests went with the first datagrams (0-RTT), and the server took them."""
    early_rejected: Distribution
    """The server refused them."""
    after_retry: Distribution
    """The server first asked for a further round trip (Retry), whatever followed."""


class QuicPackets(Record):
    """Packets of QUIC. A datagram holds one, but for the first ones of a connection."""

    sent: Count
    lost: Count
    """Of those sent: found lost by their acknowledgements."""
    spurious: Count | None
    """Of those lost: had arrived, late."""
    key_updates: Count
    """How often the keys of a connection's packets were changed, by either side (RFC 9001, section 6)."""
    datagrams_sent: Count
    datagrams_received: Count
    bytes_sent: Count
    bytes_received: Count
    sent_per_answer: Time | None
    """Datagrams. ``None`` without an answer."""
    received_per_answer: Time | None


class Acknowledgements(Record):
    """How each side acknowledges what has arrived."""

    sent: Count
    received: Count
    packets_each: Count
    """With how many packets the client acknowledges at once."""
    delay_max_ms: Count
    """For how long the client keeps an acknowledgement back otherwise."""
    server_delay_max_ms: NumberRange | None
    """The same of the server, as announced; ``None`` without a connection."""
    frequency_agreed: bool
    """Whether one side said how often the other one is to acknowledge (ACK_FREQUENCY)."""
    frequency_offered: Count
    """Connections on which the server offered it."""


class QuicCongestion(Record):
    """How both sides control congestion."""

    control: str
    """The client's."""
    initial_window_bytes: Count
    is_paced: bool
    events: Count
    """How often the client took losses for congestion, and sent less.

    What was sent before that, and is found lost later, is of the same event (RFC 9002, section 7.3.2).
    """
    black_holes: Count
    """How often the path stopped carrying packets of a length that it had carried."""
    server_control: str | None
    server_initial_window_bytes: Count | None


class QuicWindows(Record):
    """Flow control in both directions."""

    stream_bytes: Count
    """How much of one answer the server may send before the client has read it."""
    connection_bytes: Count
    server_stream_bytes: NumberRange | None
    """The same of the server, as announced at first; ``None`` without a connection."""
    server_connection_bytes: NumberRange | None
    server_blocked: Count
    """How often the server said that a window of the client held it up; not every server says so."""
    blocked: Count
    """How often a window of the server held the client up."""


class QuicStreams(Record):
    """Requests at once on a connection."""

    allowed_at_first: NumberRange | None
    """``None`` without a connection."""
    limits_met: Count
    """How often a connection had begun all streams that the server had allowed so far.

    A request that fell due before it allowed further ones waited (``wait_ms``).
    """
    wait_ms: Distribution
    """Of the measured requests that waited, until they were sent."""
    moved_wait_ms: Distribution
    """Of the measured requests that moved, from the end of the first attempt until the second one."""
    rejected: Count
    """Requests that the server did not look at."""
    answers_starved: Count | None = None
    """As over HTTP/2 (``Http2Result``)."""

    def is_below(self, requested: int) -> bool:
        """Return whether a server allowed fewer at first than the load would have had at once."""
        return self.allowed_at_first is not None and self.allowed_at_first.min < requested


class Qpack(Record):
    """The table of header fields that the server may fill (QPACK)."""

    offered_bytes: Count
    capacity_bytes: NumberRange | None
    """What the server asked for; ``None`` without a connection."""
    used_bytes: NumberRange | None
    entries: Count
    heads: Count
    """Heads of answers that were read."""
    heads_with_entries: Count
    heads_blocked: Count
    """Those that had to wait for entries."""


class UdpSockets(Record):
    """The client's sockets, one for each connection or one for those of a thread, and the server's."""

    opened: Count
    receive_offload: Count
    """Those for which the kernel joins datagrams that arrive together (GRO)."""
    send_offload: Count
    """Those whose batches the kernel divides (GSO): on loopback none, as it would not divide them there."""
    send_offload_refused: Count
    """How often it refused that."""
    receive_buffer_asked_bytes: Count
    receive_buffer_granted_bytes: NumberRange | None
    """As the kernel counts it, its own overhead included; ``None`` where it does not tell."""
    send_buffer_asked_bytes: Count
    send_buffer_granted_bytes: NumberRange | None
    of_server: Count | None
    """Those that take what is sent to the server's address, on this machine."""


class DatagramCalls(Record):
    """How the kernel took the client's datagrams, by system calls, and handed them over, as messages."""

    sends: Count
    """System calls that sent something."""
    sent: Count
    per_send: Time | None
    """Above 1 where the kernel divides what it is given, or connections that share a socket send together;
    ``None`` where nothing was sent.
    """
    receives: Count
    """Messages, of which a call may give several."""
    received: Count
    per_receive: Time | None
    """Above 1 where the server sends several at once and nothing on the way takes them apart."""
    unattributed: Count | None = None
    """Of those received: what came to a shared socket for a connection that is not open (any more). Records
    may lack it.
    """
    sends_put_off: Count
    """How often the kernel had no room for what was to be sent."""
    too_long: Count
    """Longer than the path takes, and so lost: some are sent to find its limit."""


class DatagramsDropped(Record):
    """Datagrams that arrived and found no room in their receiver's buffer; QUIC sends them again."""

    by_client: Count | None
    by_server: Count | None


class QuicEnds(Record):
    """How connections ended that the load did not end."""

    announced: Count
    """The server announced the end (GOAWAY)."""
    closed: Count
    """By the server, without an error."""
    application_errors: Count
    """With another code of HTTP/3."""
    transport_errors: Count
    """With a code of QUIC, of either side."""
    stateless_resets: Count
    idle_timeouts: Count
    """Nothing came from the server until the idle timeout."""
    server_idle_timeout_ms: NumberRange | None = None
    """After how long without a datagram the server ends a connection; ``None`` where it announced none."""
    other_versions: Count
    """The server spoke no version of QUIC that the client does."""
    path_challenges: Count
    """How often the server checked the path, as it does after a change of the client's address."""
    migration_refused: Count
    """Connections whose server announced that it does not support such a change."""

    @property
    def by_kind(self) -> dict[str, int]:
        """How many connections ended in each way, in words."""
        return {
            "announced (GOAWAY)": self.announced,
            "closed by the server": self.closed,
            "with an error of HTTP/3": self.application_errors,
            "with an error of QUIC": self.transport_errors,
            "by a stateless reset": self.stateless_resets,
            "by the idle timeout": self.idle_timeouts,
            "for lack of a common version": self.other_versions,
        }

    @property
    def of_all(self) -> int:
        """How many ended in any of these ways."""
        return sum(self.by_kind.values())


class Bodies(Record):
    """The bodies of the measured answers."""

    compared: Count
    """Answers whose length is that of the verified one: another one is a failure (``mismatch``)."""
    expected_bytes: Count
    """As long as these are together."""
    received_bytes: Count
    """As long as all measured answers are together."""
    other_length: Count


class Unknown(Record):
    """Why a figure is not known."""

    field: str
    reason: str


class Http3Result(Record):
    """HTTP/3 in one load."""

    version: str
    """Of QUIC."""
    handshakes_ms: QuicHandshakes
    certificate_bytes: NumberRange | None
    """Of the whole chain; ``None`` where no server has shown one."""
    packets: QuicPackets
    acknowledgements: Acknowledgements
    rtt_min_ms: Distribution
    """Of each connection the shortest round trip."""
    rtt_smoothed_ms: Distribution
    """Of each connection at its end; it includes what the server waits before it acknowledges."""
    mtu_bytes: NumberRange | None
    """The largest datagram that the path was found to take."""
    link_mtu_bytes: NumberRange | None
    congestion: QuicCongestion
    windows: QuicWindows
    streams: QuicStreams
    qpack: Qpack
    sockets: UdpSockets
    datagrams: DatagramCalls
    dropped: DatagramsDropped
    ends: QuicEnds
    bodies: Bodies
    unknown: Many[Unknown] = Field([])
