"""What the engine counts of messages, each with its own time: those of answers, and from one to many."""

from typing import Self

from pydantic import model_validator

from loadcurve.protocol import Messages
from loadcurve.record import Count, Record, Time, contradiction
from loadcurve.result.distribution import Distribution
from loadcurve.result.outcomes import Errors


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


class SubscribersResult(Record):
    """The subscribers of the whole load, warm-up included."""

    asked: Count
    opened: Count
    refused: Errors
    """Those whose connection could not be opened, by why."""
    closed: Errors
    """Those whose connection ended before the load did, by how."""


class StepResult(Record):
    """Where subscribers that receive messages early and such that receive them late are furthest apart.

    By the mean time of each from the first delivery of a message to its own.
    """

    ahead: Count
    behind: Count
    step_ms: Time
    spread_ms: Time
    """From the first subscriber to the last one."""


class DeliveriesResult(Record):
    """The deliveries of one load: those of the measured messages, but for what came in a second."""

    subscribers: SubscribersResult
    expected: Count
    """Of each message that was sent, the subscribers that were open then."""
    delivered: Count
    """How many of these came within the timeout of their message, each once."""
    reach: Time | None
    """Delivered ÷ expected; ``None`` where nothing was expected."""
    delivered_per_s: Time | None
    """``None`` where the window has no length."""
    delivered_bytes: Count
    """Bytes of the bodies that came in the window."""
    latency_ms: Distribution
    """From when a message was due to its last byte at a subscriber, of each delivery."""
    late: Count
    """Deliveries that came when their message had been given up."""
    duplicates: Count
    """Messages that came to a subscriber that had them."""
    earlier: Count
    """Messages that were published before the subscriber was there."""
    of_other_loads: Count
    """Messages with the marker of another load."""
    unmarked: Count
    """Messages without a marker."""
    to_publishers: Count
    """What came to publishers, who are no subscribers."""
    step: StepResult | None
    """``None`` where fewer than two subscribers have received anything."""

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.delivered > self.expected:
            raise contradiction(f"{self.delivered} of {self.expected} expected deliveries came")
        if self.subscribers.opened > self.subscribers.asked:
            asked = self.subscribers.asked
            raise contradiction(f"{self.subscribers.opened} of {asked} subscribers were opened")
        return self
