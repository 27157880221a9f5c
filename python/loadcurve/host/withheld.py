"""Processor time that is withheld from this process: by the host, and by limits of its control groups."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from loadcurve.host.cgroups import groups_around
from loadcurve.host.readings import Readings
from loadcurve.result.cpu_time import Throttling

STEAL_FIELD = 8
"""The place of steal in a line of a CPU in /proc/stat (proc(5)), its name included."""


@dataclass(frozen=True)
class Withheld:
    """What has been withheld until now; two of these give what happened between them."""

    steal_s: dict[int, float]
    """By CPU."""
    throttling: Throttling | None
    """``None`` where no group of this process can be limited."""

    @classmethod
    def until_now(cls, ticks_per_s: int, readings: Readings | None = None) -> Self:
        """Read it."""
        readings = Readings() if readings is None else readings
        steal_s = {}
        for line in (readings.text("proc/stat") or "").splitlines():
            name, *fields = line.split()
            if name.startswith("cpu") and name != "cpu" and len(fields) >= STEAL_FIELD:
                steal_s[int(name[3:])] = int(fields[STEAL_FIELD - 1]) / ticks_per_s
        return cls(steal_s, _throttling(groups_around(readings.root / "proc/self")))

    def since(self, earlier: Self, cpus: Collection[int]) -> tuple[float | None, Throttling | None]:
        """Return the most steal of any of these CPUs in s, and the throttling, since an earlier reading."""
        both = [cpu for cpu in cpus if cpu in self.steal_s and cpu in earlier.steal_s]
        steal_s = max((self.steal_s[cpu] - earlier.steal_s[cpu] for cpu in both), default=None)
        if self.throttling is None or earlier.throttling is None:
            return steal_s, None
        now, then = self.throttling, earlier.throttling
        return steal_s, Throttling(
            periods=now.periods - then.periods,
            throttled_periods=now.throttled_periods - then.throttled_periods,
            throttled_s=max(now.throttled_s - then.throttled_s, 0.0),
        )


def _throttling(folders: Collection[Path]) -> Throttling | None:
    """Add up what the groups report; ``None`` where none of them has a limit of processor time."""
    found = [one for folder in folders if (one := _of_group(folder)) is not None]
    if not found:
        return None
    return Throttling(
        periods=sum(one.periods for one in found),
        throttled_periods=sum(one.throttled_periods for one in found),
        throttled_s=sum(one.throttled_s for one in found),
    )


def _of_group(folder: Path) -> Throttling | None:
    try:
        text = (folder / "cpu.stat").read_text(encoding="ascii", errors="replace")
        counts = {name: int(number) for name, number in (line.split() for line in text.splitlines())}
    except (OSError, ValueError):
        return None
    if "nr_periods" not in counts:
        return None
    in_s = (
        counts["throttled_usec"] / 1e6
        if "throttled_usec" in counts
        else counts.get("throttled_time", 0) / 1e9
    )
    return Throttling(
        periods=counts["nr_periods"], throttled_periods=counts.get("nr_throttled", 0), throttled_s=in_s
    )
