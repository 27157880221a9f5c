"""Figures over time: what a counter grew by, and what a gauge showed, within a window."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from loadcurve.probe.samples import Sample

Figure = Callable[[Sample], float | None]
"""Takes one figure from a sample; ``None`` where that sample does not have it."""


def figure(path: str) -> Figure:
    """Return what takes a figure, named as ``tree.memory_bytes``, from a sample."""
    part, _, name = path.partition(".")

    def take(sample: Sample) -> float | None:
        found = getattr(sample, part)
        value: float | None = getattr(found, name) if found is not None and name else found
        return value

    return take


def time_of_cpu(number: int, part: str) -> Figure:
    """Return what takes a time of one CPU, such as ``user_s``, from a sample."""

    def take(sample: Sample) -> float | None:
        if sample.cpus is None or number not in sample.cpus.cpu:
            return None
        times_s: list[float] = getattr(sample.cpus, part)
        return times_s[sample.cpus.cpu.index(number)]

    return take


@dataclass(frozen=True, slots=True)
class Window:
    """The time from ``start_s`` to ``end_s`` on the monotonic clock."""

    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.start_s

    def holds(self, moment_s: float) -> bool:
        """Say whether a moment lies in the window, its ends included."""
        return self.start_s <= moment_s <= self.end_s


class Stamped(Protocol):
    """What was read at a moment."""

    @property
    def t_s(self) -> float:
        """When, on the monotonic clock."""


Read = TypeVar("Read", bound=Stamped)


class Track:
    """One figure at all the moments where it was read."""

    def __init__(self, samples: Iterable[Read], taken: Callable[[Read], float | None]) -> None:
        """Take the figure from samples whose moments ascend."""
        readings = [(sample.t_s, value) for sample in samples if (value := taken(sample)) is not None]
        self._moments_s = [moment_s for moment_s, _ in readings]
        self._values = [value for _, value in readings]

    def growth(self, window: Window) -> float | None:
        """Return how much a counter grew within the window; ``None`` where it was not read on both sides.

        Its values at the ends of the window lie on straight lines between the readings around them.
        """
        start, end = self._at(window.start_s), self._at(window.end_s)
        return None if start is None or end is None else end - start

    def growth_around(self, window: Window) -> float | None:
        """Return how much a counter grew from the last reading before the window to the first after it."""
        first = bisect_right(self._moments_s, window.start_s) - 1
        last = bisect_left(self._moments_s, window.end_s)
        if first < 0 or last == len(self._moments_s):
            return None
        return self._values[last] - self._values[first]

    def growth_scaled(self, window: Window) -> float | None:
        """Return how much a counter that is read rarely grew: what it grew where it was read, for the window.

        ``None`` where the readings cover less than half of the window.
        """
        if not self._moments_s:
            return None
        covered = Window(max(window.start_s, self._moments_s[0]), min(window.end_s, self._moments_s[-1]))
        if covered.length_s <= 0 or covered.length_s < window.length_s / 2:
            return None
        growth = self.growth(covered)
        return None if growth is None else growth * window.length_s / covered.length_s

    def _at(self, moment_s: float) -> float | None:
        """Return the value at a moment, on a straight line between the readings around it."""
        after = bisect_left(self._moments_s, moment_s)
        if after == len(self._moments_s):
            return None
        if self._moments_s[after] == moment_s:
            return self._values[after]
        if after == 0:
            return None
        earlier_s, later_s = self._moments_s[after - 1], self._moments_s[after]
        share = (moment_s - earlier_s) / (later_s - earlier_s)
        return self._values[after - 1] + share * (self._values[after] - self._values[after - 1])
