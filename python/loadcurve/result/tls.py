"""The handshakes of TLS of one load: how many there were, how long they took, and what was agreed on."""

from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.distribution import Distribution


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
