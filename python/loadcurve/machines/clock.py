"""The clock of another machine, compared with the one here by echoes of its agent."""

import time
from typing import Final

from loadcurve.machines.channel import Channel
from loadcurve.machines.clock_offsets import Exchange, Offset, offset_of
from loadcurve.machines.far_call import ECHO

EXCHANGES: Final = 64
"""Of one comparison of clocks; the one of least delay counts."""


def exchanges_over(channel: Channel, count: int = EXCHANGES) -> list[Exchange]:
    """Return questions to an agent and its answers, one after the other; raises MachineLost."""
    return [_exchange(channel) for _ in range(count)]


def compared_over(channel: Channel) -> Offset:
    """Return how far the clock of an agent's machine is ahead; raises MachineLost."""
    return offset_of(exchanges_over(channel))


def _exchange(channel: Channel) -> Exchange:
    sent_ns = time.monotonic_ns()
    there = channel.call(ECHO)
    arrived_ns = time.monotonic_ns()
    return Exchange(sent_ns, there.arrived_ns, there.sent_ns, arrived_ns)
