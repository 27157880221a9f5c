"""Whose the time of some CPUs was: the server's, the generator's, the kernel's, the host's, or others'.

What limits of processor time held back is beside it, and what a server did with its own by samples of its
stacks. docs/methodology/cpu-time.md has the arithmetic, its errors and the thresholds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from loadcurve.record import Count, Many, Record, Time
from loadcurve.units import whole_percent

PARTS: Final = ("server", "generator", "kernel", "host", "others", "idle")
"""Of the time of CPUs, in the order in which they are shown."""
TICK_S: Final = 0.01
"""The kernel publishes times of CPUs in ticks."""
TICKS_OFF: Final = 3
"""Of each CPU, the times of which what it was busy for is the rest: idle, waiting for a disk, steal. Each is
off by less than a tick."""
PROGRAMS_MAX: Final = 5
"""The most programs that are named."""
LEAST_SHARE: Final = 0.01
"""Programs that used less of a CPU are not named."""


class ProgramTime(Record):
    """A program that used CPUs beside the server and the load."""

    name: str
    """By which the kernel knows it: the first 15 bytes."""
    processes: Count
    pid: Count
    """Of the process that used most."""
    cpu: Count
    """Where that process ran last."""
    cpu_share: Time
    """Of one CPU, for the whole time, by all of its processes."""

    @property
    def text(self) -> str:
        """What it is, and what it used, in words."""
        which = f"process {self.pid}" if self.processes == 1 else f"{self.processes} processes"
        return f"{self.name} ({which}) {whole_percent(self.cpu_share)} of a CPU"

    @property
    def text_of_cpu(self) -> str:
        """The same of the one CPU where it ran last."""
        return f"{self.name} (process {self.pid}) {whole_percent(self.cpu_share)} of CPU {self.cpu}"


class CpuTime(Record):
    """How the time of some CPUs was divided, as shares that sum to 1."""

    cpus: Many[Count]
    server: Time | None
    """``None`` where the server did not run on these CPUs."""
    generator: Time | None
    """What sends the load, with what watches it; ``None`` where it did not run on them."""
    kernel: Time
    """Interrupts, hard and soft, and the kernel's own threads."""
    host: Time
    """Steal, and pauses that the kernel does not count as such."""
    others: Time
    """All other programs."""
    idle: Time
    softirq_share: Time
    """As the kernel counts it: with packets, mostly. Of loopback it is the sender's time that counts here."""
    uncertain: Time
    """By how much the part of others may be too large, because the kernel counts in ticks."""
    programs: Many[ProgramTime]
    """Those of the others that used most, as far as they can be seen from here."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was measured of some CPUs together, in s."""

    length_s: float
    idle_s: float
    interrupts_s: float
    softirq_s: float
    steal_s: float
    server_s: float | None
    generator_s: float | None
    others_seen_s: float = 0.0
    """What processes that are neither side's were seen to use."""
    kernel_threads_s: float = 0.0
    paused_s: float = 0.0
    """For how long the CPUs did not run, by a thread that should have."""


def divided(cpus: Sequence[int], spent: Spent, programs: Sequence[ProgramTime] = ()) -> CpuTime | None:
    """Return whose the time was; ``None`` where there was none.

    The parts are each at least 0 and sum to the whole. What CPUs were busy for beyond what is known of server
    and generator is the kernel's and the others'. Some kernels charge an interrupt to the process that it
    interrupts, too; then it is within what is known, and it is taken out there.
    """
    whole_s = spent.length_s * len(cpus)
    if whole_s <= 0:
        return None
    host_s = min(spent.steal_s, whole_s)
    idle_s = min(spent.idle_s, whole_s - host_s)
    busy_s = whole_s - host_s - idle_s
    server_s, generator_s = _within(busy_s, spent.server_s or 0.0, spent.generator_s or 0.0)
    rest_s = max(busy_s - server_s - generator_s, 0.0)
    paused_s = max(min(spent.paused_s * len(cpus), whole_s) - host_s, 0.0)
    of_rest_s, of_idle_s = min(paused_s, rest_s), min(max(paused_s - rest_s, 0.0), idle_s)
    host_s, rest_s, idle_s = host_s + of_rest_s + of_idle_s, rest_s - of_rest_s, idle_s - of_idle_s
    counted_s = min(spent.interrupts_s + spent.kernel_threads_s, busy_s)
    others_s = min(max(spent.others_seen_s, rest_s - counted_s, 0.0), rest_s)
    kernel_s = rest_s - others_s
    charged_s = min(max(counted_s - kernel_s, 0.0), server_s + generator_s)
    if charged_s:
        left = 1 - charged_s / (server_s + generator_s)
        server_s, generator_s, kernel_s = server_s * left, generator_s * left, kernel_s + charged_s
    return CpuTime(
        cpus=sorted(cpus),
        server=None if spent.server_s is None else server_s / whole_s,
        generator=None if spent.generator_s is None else generator_s / whole_s,
        kernel=kernel_s / whole_s,
        host=host_s / whole_s,
        others=others_s / whole_s,
        idle=idle_s / whole_s,
        softirq_share=min(spent.softirq_s / whole_s, 1.0),
        uncertain=min(TICKS_OFF * TICK_S * len(cpus) / whole_s, 1.0),
        programs=sorted(programs, key=lambda one: -one.cpu_share)[:PROGRAMS_MAX],
    )


def with_more_of_server(time: CpuTime, share: float) -> CpuTime:
    """Return the division where the servers used so much more of these CPUs: it was not that of others."""
    more = min(max(share, 0.0), time.others)
    return time.model_copy(update={"server": (time.server or 0.0) + more, "others": time.others - more})


def _within(busy_s: float, server_s: float, generator_s: float) -> tuple[float, float]:
    """Return both times, scaled down where they are more than the CPUs were busy for."""
    known_s = server_s + generator_s
    scale = min(busy_s / known_s, 1.0) if known_s > 0 else 1.0
    return server_s * scale, generator_s * scale


class Throttling(Record):
    """How limits of processor time held the server's control groups back."""

    periods: Count
    throttled_periods: Count
    throttled_s: Time
    """Summed over the CPUs on which a group had to wait."""


Stack = tuple[str, ...]
"""The functions that a sample was in, the outermost first; before them the name of the program."""
_US_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Profile:
    """Samples of one start of a server, which is in no figure: to be sampled slows it."""

    requests: int | None
    """All requests that were sent to it while it was sampled; ``None`` where nobody has counted them."""
    samples_per_s: float
    """Of a CPU that is busy throughout."""
    stacks: Mapping[Stack, int]
    """How many samples were in each stack; empty if it could not be sampled."""
    system_calls_per_request: float | None
    missing: tuple[str, ...] = ()
    """Why something is not known, a sentence each."""

    @property
    def us_per_sample(self) -> float | None:
        """The processor time per request that a sample stands for, in µs."""
        return _US_PER_S / self.samples_per_s / self.requests if self.requests else None


@dataclass(frozen=True, slots=True)
class ProfiledPair:
    """The profiles of the two sides of a gate, under the same load."""

    base: Profile
    head: Profile

    @property
    def missing(self) -> tuple[str, ...]:
        """Why something is not known of either, each sentence once."""
        return tuple(dict.fromkeys((*self.base.missing, *self.head.missing)))
