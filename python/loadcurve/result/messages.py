"""What the engine counts of answers that are streams of messages: each message has its own time."""

from typing import Self

from pydantic import model_validator

from loadcurve.protocol import Messages
from loadcurve.record import Count, Record, Time, contradiction
from loadcurve.result.distribution import Distribution


class MessagesResult(Record):
    """The messages of one load.

    Those that came in the window are counted whenever their requests were due; first messages and what was
    delivered are those of the measured requests, whenever they came.
    """

    kind: Messages
    first_event_ms: Distribution
    """From when a request was due to the first event of its answer."""
    first_event_from_sent_ms: Distribution
    """The same from when it was sent."""
    gap_ms: Distribution
    """From one event to the next of the same stream; 0 between those that arrived together."""
    received: Count
    """Events that came in the window."""
    received_per_s: Time | None
    """``None`` where the window has no length."""
    data_bytes: Count
    """Bytes of their data, without names of fields and line ends."""
    together: Count
    """How many of them arrived together with the one before: read at once, so no time was between them."""
    delivered: Count
    """Events of measured requests, of each no more than its answer is expected to have."""
    expected: Count | None
    """How many the measured requests were to have; ``None`` where nobody says how many each has."""
    ended_by_client: Count
    """Measured requests whose stream the client has ended, as it was asked to; they count as answered."""
    reconnects: Count | None = None
    """Measured requests by which clients have opened their streams again; ``None`` where clients do not."""
    reconnects_with_id: Count | None = None
    """How many of them said the id of the last event."""

    @property
    def delivered_share(self) -> float | None:
        """Which share of the expected events came; ``None`` where none is expected."""
        return self.delivered / self.expected if self.expected else None

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.together > self.received:
            raise contradiction(f"{self.together} of {self.received} events arrived together with others")
        if self.expected is not None and self.delivered > self.expected:
            raise contradiction(
                f"{self.delivered} events of {self.expected} that are expected were delivered"
            )
        if (self.reconnects_with_id or 0) > (self.reconnects or 0):
            raise contradiction(f"{self.reconnects_with_id} of {self.reconnects or 0} reconnects said an id")
        return self
