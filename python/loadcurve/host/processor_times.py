"""What each CPU of this machine has done since its start; two readings give what it did between them."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Self

from loadcurve.host.process_times import TICKS_PER_S
from loadcurve.host.readings import Readings

FIELDS: Final = 8
"""A CPU's line in ``/proc/stat`` has at least: user nice system idle iowait irq softirq steal (proc(5))."""


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """What a CPU has done, or several together, in s. What it was busy for is the rest of the time."""

    idle_s: float
    """Waiting for a disk included."""
    irq_s: float
    softirq_s: float
    steal_s: float

    def since(self, earlier: "ProcessorTime") -> "ProcessorTime":
        """Return what it did since an earlier reading."""
        return ProcessorTime(
            max(self.idle_s - earlier.idle_s, 0.0),
            max(self.irq_s - earlier.irq_s, 0.0),
            max(self.softirq_s - earlier.softirq_s, 0.0),
            max(self.steal_s - earlier.steal_s, 0.0),
        )


@dataclass(frozen=True)
class ProcessorTimes:
    """All CPUs at one moment."""

    moment_s: float
    """On the monotonic clock."""
    by_cpu: dict[int, ProcessorTime]

    @classmethod
    def now(cls, readings: Readings | None = None) -> Self:
        """Read them; without any where the kernel does not publish them."""
        text = (Readings() if readings is None else readings).text("proc/stat") or ""
        by_cpu = {}
        for line in text.splitlines():
            name, *fields = line.split()
            if name.startswith("cpu") and name != "cpu" and len(fields) >= FIELDS:
                ticks = [int(field) / TICKS_PER_S for field in fields[3:FIELDS]]
                by_cpu[int(name[3:])] = ProcessorTime(ticks[0] + ticks[1], *ticks[2:])
        return cls(time.monotonic(), by_cpu)

    def since(self, earlier: Self, cpus: Collection[int]) -> ProcessorTime | None:
        """Return what these CPUs did together since; ``None`` where one was not read both times."""
        if not cpus or any(cpu not in self.by_cpu or cpu not in earlier.by_cpu for cpu in cpus):
            return None
        each = [self.by_cpu[cpu].since(earlier.by_cpu[cpu]) for cpu in cpus]
        return ProcessorTime(
            sum(one.idle_s for one in each),
            sum(one.irq_s for one in each),
            sum(one.softirq_s for one in each),
            sum(one.steal_s for one in each),
        )
