"""What a process uses within a window that is known only when it is over."""

import time
from bisect import bisect_right
from collections.abc import Callable

from loadcurve.tools.process import CpuTime


class CpuMeter:
    """The processor time of a process at each look; between two looks it is taken to be used evenly."""

    def __init__(
        self, started_s: float, read: Callable[[], CpuTime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with a process that has used nothing when it was started, on the clock's time."""
        self._read = read
        self._clock = clock
        self._moments_s = [started_s]
        self._used = [CpuTime(0.0, 0.0)]

    def look(self) -> None:
        """Read what it has used until now."""
        self._moments_s.append(self._clock())
        self._used.append(self._read())

    def used(self, begin_s: float, end_s: float) -> CpuTime:
        """Return what it has used between two moments: starting and printing are no part of a load."""
        begin, end = self._until(begin_s), self._until(end_s)
        return CpuTime(
            max(end.user_s - begin.user_s, 0.0),
            max(end.system_s - begin.system_s, 0.0),
            max(end.voluntary_switches - begin.voluntary_switches, 0.0),
        )

    def _until(self, moment_s: float) -> CpuTime:
        behind = bisect_right(self._moments_s, moment_s)
        if behind == 0:
            return self._used[0]
        if behind == len(self._moments_s):
            return self._used[-1]
        (from_s, to_s), (before, after) = self._moments_s[behind - 1 :][:2], self._used[behind - 1 :][:2]
        share = (moment_s - from_s) / (to_s - from_s)
        return CpuTime(
            before.user_s + share * (after.user_s - before.user_s),
            before.system_s + share * (after.system_s - before.system_s),
            before.voluntary_switches + share * (after.voluntary_switches - before.voluntary_switches),
        )
