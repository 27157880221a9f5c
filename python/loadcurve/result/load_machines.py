"""What each of several machines did of one load, how far apart they began, and how well that is known."""

from typing import Literal

from loadcurve.record import Count, Many, Record, Time
from loadcurve.result.classes import Errors
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Generator
from loadcurve.result.kernel import Kernel
from loadcurve.result.link import InterfaceInLoad
from loadcurve.result.requests import Requests


class LoadMachineClock(Record):
    """How far a machine's monotonic clock was ahead of that of the machine that asked for the load.

    The truth lies within ``offset_s`` ± ``error_ms``, at the start of the load.
    """

    offset_s: float
    error_ms: Time
    drift_ppm: float | None
    """How much faster the clock went; ``None`` where it was not compared after the load."""
    round_trip_ms: Time
    """Of the exchange that says it: the one of least delay."""
    exchanges: Count
    """How many were answered, before or after the load, whichever are fewer."""
    over: Literal["echo", "channel"]
    """Whether by datagrams between the two clocks, or by messages of the agent, which take longer."""


class MachinePart(Record):
    """One machine's part of a load; what is not known of a machine that was lost is ``None``."""

    machine: str
    lost: str | None
    """Why nothing came of it; ``None`` where it brought its part home."""
    clock: LoadMachineClock | None
    start_ms: float | None
    """From the planned begin to its own, by the clock of who asked; off by ``clock.error_ms`` at most."""
    started_within_ms: Time | None
    """How much later than its first thread the last one began."""
    ended_s: Time | None
    """From its start to its end, warm-up included."""
    interrupted: bool | None
    connections_opened: Count | None
    requests: Requests | None
    sent_rps: Time | None
    """Over the common window, so that the rates of the parts add up."""
    answered_rps: Time | None
    latency_ms: Distribution | None
    errors: Errors | None
    cpu_share: Time | None
    """How busy its threads were: 1 is all of their time."""
    generator: Generator | None
    cpus: Many[Count] | None = None
    """What its threads were bound to in turn; empty if its system placed them. Records may lack it."""
    link: InterfaceInLoad | None = None
    """Where it reaches what it loads; ``None`` where that is not known. Records may lack it."""
    kernel: Kernel | None = None
    """What its kernel counted during the load, whatever caused it; the same for each part on one machine.
    Records may lack it."""


class LoadMachines(Record):
    """The machines that sent one load."""

    start_spread_ms: Time | None
    """From the first begin of a machine to the last; ``None`` where fewer than two are known."""
    start_error_ms: Time | None
    """By how much that may be off: the errors of both clocks."""
    parts: Many[MachinePart]
