"""How far another machine's monotonic clock is ahead of the one here: arithmetic on readings of both.

Each exchange gives a range that holds the truth, whatever its two ways took (Cristian 1989, and RFC 5905,
section 8, whose names of the four readings are T1 to T4). docs/methodology/machines.md derives the formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

DRIFT_MAX: Final = 100e-6
"""How much faster than another one a clock may go: quartz keeps within 50 ppm."""


class Exchange(NamedTuple):
    """A question and its answer, in ns: the outer two by the clock here, the inner two by that there."""

    sent_ns: int
    received_ns: int
    replied_ns: int
    arrived_ns: int

    @property
    def delay_ns(self) -> int:
        """How long it was under way: the round trip without the stay on the other side."""
        return (self.arrived_ns - self.sent_ns) - (self.replied_ns - self.received_ns)


@dataclass(frozen=True, slots=True)
class Offset:
    """How far the clock there was ahead: the truth is within ``error_ns`` of ``offset_ns``."""

    at_ns: int
    """When that was, by the clock here."""
    offset_ns: int
    error_ns: int
    delay_ns: int
    """Of the exchange that it is from."""
    exchanges: int
    """How many there were to choose from."""

    def later(self, at_ns: int) -> "Offset":
        """Return the offset at another moment, until which the clocks may have drifted apart."""
        error_ns = self.error_ns + round(abs(at_ns - self.at_ns) * DRIFT_MAX)
        return Offset(at_ns, self.offset_ns, error_ns, self.delay_ns, self.exchanges)


def offset_of(exchanges: Sequence[Exchange]) -> Offset:
    """Return the offset by the exchange of least delay.

    What left before arrived after: the offset is at least ``replied - arrived`` and at most
    ``received - sent``. Raises ``ValueError`` without an exchange.
    """
    least = min(exchanges, key=lambda exchange: exchange.delay_ns)
    lowest, highest = least.replied_ns - least.arrived_ns, least.received_ns - least.sent_ns
    return Offset(
        at_ns=(least.sent_ns + least.arrived_ns) // 2,
        offset_ns=(lowest + highest) // 2,
        # Rounded up: whole numbers must not exclude the truth.
        error_ns=(highest - lowest + 1) // 2,
        delay_ns=least.delay_ns,
        exchanges=len(exchanges),
    )


@dataclass(frozen=True, slots=True)
class ClockCourse:
    """Comparisons of two clocks, before and perhaps after a load."""

    before: Offset
    after: Offset | None = None

    @property
    def drift(self) -> float | None:
        """How much faster the clock there goes, as a share; ``None`` where that is not known."""
        if self.after is None or self.after.at_ns <= self.before.at_ns:
            return None
        return (self.after.offset_ns - self.before.offset_ns) / (self.after.at_ns - self.before.at_ns)

    def at(self, at_ns: int) -> Offset:
        """Return the offset at a moment of the clock here: the better known of two estimates.

        One takes the drift between the comparisons for constant, the other one for any that can be.
        """
        if self.after is None:
            return self.before.later(at_ns)
        bounded, agree = _within_both(self.before.later(at_ns), self.after.later(at_ns))
        if not agree or not self.before.at_ns <= at_ns <= self.after.at_ns:
            return bounded
        return min(bounded, _between(self.before, self.after, at_ns), key=lambda offset: offset.error_ns)


def _within_both(one: Offset, other: Offset) -> tuple[Offset, bool]:
    """Return what is within the errors of both, and whether anything is.

    Where nothing is, a clock was made faster or slower than its quartz, and all that either says can be.
    """
    lows = [offset.offset_ns - offset.error_ns for offset in (one, other)]
    highs = [offset.offset_ns + offset.error_ns for offset in (one, other)]
    agree = max(lows) <= min(highs)
    low, high = (max(lows), min(highs)) if agree else (min(lows), max(highs))
    return _joined(one, other, (low + high) // 2, (high - low + 1) // 2), agree


def _between(before: Offset, after: Offset, at_ns: int) -> Offset:
    """Return what lies between two comparisons, where the clocks drift apart evenly."""
    share = (at_ns - before.at_ns) / max(after.at_ns - before.at_ns, 1)
    offset_ns = before.offset_ns + round(share * (after.offset_ns - before.offset_ns))
    error_ns = (1 - share) * before.error_ns + share * after.error_ns
    # Both roundings may be off by a nanosecond.
    return _joined(replace(before, at_ns=at_ns), after, offset_ns, int(error_ns) + 2)


def _joined(one: Offset, other: Offset, offset_ns: int, error_ns: int) -> Offset:
    delay_ns, exchanges = max(one.delay_ns, other.delay_ns), min(one.exchanges, other.exchanges)
    return Offset(one.at_ns, offset_ns, error_ns, delay_ns, exchanges)
