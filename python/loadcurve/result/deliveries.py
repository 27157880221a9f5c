"""What the engine counts of messages that one connection publishes and many others receive."""

from typing import Self

from pydantic import model_validator

from loadcurve.record import Count, Record, Time, contradiction
from loadcurve.result.distribution import Distribution
from loadcurve.result.outcomes import Errors


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
