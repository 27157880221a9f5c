"""What the machine's clocks say of a load: whether the machine was suspended, and whether its clock was set.

All that is measured is on the monotonic clock, which stands still while a machine is suspended and which
nobody sets. The clock since boot runs in the meantime, and the clock of the day is set by whoever may.
"""

import time
from collections.abc import Callable, Sequence
from collections.abc import Generator as Yielding
from contextlib import closing
from dataclasses import dataclass
from typing import Self

from loadcurve.generate.generator import Generator, LoadInterrupted, ObserveAll, ObserveLevel, Plan
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import VerdictNote

LEAST_S = 0.1
"""A smaller difference may come from reading one clock after the other."""
READINGS = 5
ReadClock = Callable[[int], float]


@dataclass(frozen=True, slots=True)
class Clocks:
    """Readings of the three clocks as of one moment, in seconds."""

    monotonic_s: float
    since_boot_s: float
    of_the_day_s: float

    @classmethod
    def read(cls, clock: ReadClock = time.clock_gettime) -> Self:
        """Read them, several times, and return the readings that were closest together."""
        readings = [cls._read_once(clock) for _ in range(READINGS)]
        return min(readings, key=lambda reading: reading[0])[1]

    @classmethod
    def _read_once(cls, clock: ReadClock) -> tuple[float, Self]:
        """Return how long it took to read the clocks, and what they showed."""
        monotonic_s = clock(time.CLOCK_MONOTONIC)
        found = cls(monotonic_s, clock(time.CLOCK_BOOTTIME), clock(time.CLOCK_REALTIME))
        return clock(time.CLOCK_MONOTONIC) - monotonic_s, found

    def suspended_s(self, earlier: Self) -> float:
        """Return how long the machine was suspended since an earlier reading."""
        since_boot_s = self.since_boot_s - earlier.since_boot_s
        return max(0.0, since_boot_s - (self.monotonic_s - earlier.monotonic_s))

    def set_by_s(self, earlier: Self) -> float:
        """Return by how much the wall clock was set since an earlier reading; forward is positive."""
        return (self.of_the_day_s - earlier.of_the_day_s) - (self.since_boot_s - earlier.since_boot_s)


@dataclass(frozen=True)
class WatchingClocks(Generator):
    """A generator whose results say what the clocks show."""

    generator: Generator
    clock: ReadClock = time.clock_gettime

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end; raises what the generator raises."""
        before = Clocks.read(self.clock)
        try:
            results = self.generator.run_together(plans, observe)
        except LoadInterrupted as interrupt:
            after = Clocks.read(self.clock)
            marked = [marked_by_clocks(result, before, after) for result in interrupt.results]
            raise LoadInterrupted(*marked) from interrupt
        after = Clocks.read(self.clock)
        return [marked_by_clocks(result, before, after) for result in results]

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
        """Run one load through levels; raises what the generator raises."""
        before = Clocks.read(self.clock)
        with closing(self.generator.run_levels(plans, observe)) as results:
            for result in results:
                after = Clocks.read(self.clock)
                yield marked_by_clocks(result, before, after)
                before = after


def marked_by_clocks(result: LoadResult, before: Clocks, after: Clocks) -> LoadResult:
    """Return the result of a load between two readings of the clocks, with what is to be said of these."""
    verdict = result.verdict
    suspended_s, set_by_s = after.suspended_s(before), after.set_by_s(before)
    if suspended_s >= LEAST_S:
        text = (
            f"the machine was suspended for {suspended_s:,.1f} s during the load or its warm-up: its "
            "timers stopped, and the peers may have closed connections meanwhile, so measure again"
        )
        verdict = verdict.with_reason("machine_suspended", text, "suspect")
    if abs(set_by_s) >= LEAST_S:
        direction = "forward" if set_by_s > 0 else "back"
        text = (
            f"the wall clock was set {direction} by {abs(set_by_s):,.1f} s during the load: times of day "
            "in the records are off by as much; the figures are not affected"
        )
        notes = [*verdict.notes, VerdictNote.of("clock_set", text)]
        verdict = verdict.model_copy(update={"notes": notes})
    return result.model_copy(update={"verdict": verdict})
