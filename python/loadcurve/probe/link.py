"""What went through a network interface within a window, from the kernel's counters at some moments."""

from collections.abc import Sequence
from typing import NamedTuple

from loadcurve.probe.figures import Track, Window
from loadcurve.result.link import InterfaceUse

SENT_COLUMN = 8
"""Of the columns of ``/proc/net/dev`` behind the name; the first one has what was received."""


class InterfaceSample(NamedTuple):
    """The bytes that an interface has received and sent so far."""

    t_s: float
    """When, on the monotonic clock."""
    received_bytes: int
    sent_bytes: int


def bytes_so_far(table: str, interface: str) -> tuple[int, int] | None:
    """Return what an interface has received and sent, from the text of ``/proc/net/dev``."""
    for line in table.splitlines():
        name, separator, columns = line.partition(":")
        words = columns.split()
        if separator and name.strip() == interface and len(words) > SENT_COLUMN:
            received, sent = words[0], words[SENT_COLUMN]
            return (int(received), int(sent)) if received.isdecimal() and sent.isdecimal() else None
    return None


def use_within(samples: Sequence[InterfaceSample], window: Window) -> InterfaceUse | None:
    """Return the rates of a window; ``None`` where samples do not lie on both of its sides."""
    received = Track(samples, lambda sample: sample.received_bytes).growth(window)
    sent = Track(samples, lambda sample: sample.sent_bytes).growth(window)
    # An interface that was made anew counts from zero.
    if received is None or sent is None or min(received, sent) < 0 or window.length_s <= 0:
        return None
    return InterfaceUse(
        received_bytes_per_s=received / window.length_s, sent_bytes_per_s=sent / window.length_s
    )
