"""What a load cost the generator, and how punctual that was."""

from typing import Literal

from loadcurve.record import Count, Record, Time
from loadcurve.result.cpu_time import CpuTime
from loadcurve.result.pauses import Pauses
from loadcurve.result.throttling import Throttling


class Lateness(Record):
    """How late the generator itself was, in ms."""

    p50: Time | None
    p99: Time | None
    p99_9: Time | None
    max: Time | None


class Generator(Record):
    """What the load cost the generator; of an imported load nothing of it is known."""

    threads: Count | None
    io: Literal["epoll", "uring"] | None
    cpu_user_s: Time | None
    cpu_system_s: Time | None
    cpu_spun_s: Time | None
    """The part of the two that went into waiting without sleeping."""
    cpu_per_request_us: Time | None
    voluntary_context_switches: Count | None = None
    """How often its threads went to sleep because nothing had arrived. The next answer wakes one, at the
    cost of its server. Records may lack it.
    """
    waiting: Literal["polling", "sleeping"] | None = None
    """How its threads have mostly waited for answers; records may lack it, and the next two."""
    polled_waits: Count | None = None
    """How many waits without sleeping have found something."""
    poll_pause_max_us: Time | None = None
    """The longest pause between two looks for answers: an answer can be timed so much late."""
    lateness_ms: Lateness | None
    pauses: Pauses | None = None
    """Of the CPUs of the load, or of the process that sends it; records may lack these three."""
    steal_share: Time | None = None
    """Of the CPU that lost most: for how much of the window it had work and the host did not run it."""
    throttling: Throttling | None = None
    """How limits of processor time held back the process that sends the load."""
    cpu_time: CpuTime | None = None
    """Whose the time of the load's CPUs was, and the server's where both share any; records may lack it."""

    @property
    def cpu_busy_s(self) -> float | None:
        """The processor time that the load needed, without the part that only looked for work."""
        if self.cpu_user_s is None or self.cpu_system_s is None:
            return None
        return self.cpu_user_s + self.cpu_system_s - (self.cpu_spun_s or 0.0)
