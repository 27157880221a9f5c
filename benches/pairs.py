"""Pairs of runs: the engine and another generator back to back, and the ratios between them.

What counts is the median of the ratios: the machine's own drift falls on both sides of a pair alike.
"""

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self, TypeVar

from scipy.stats import quantile_test

from benches.generators import OURS, Generator, Load, Loop, Reading
from benches.rig import run_or_exit

Run = TypeVar("Run")


class Quantity(StrEnum):
    """What is compared."""

    REQUESTS_PER_SECOND = "requests/s"
    CPU_PER_REQUEST = "CPU per request"


@dataclass(frozen=True)
class Measured:
    """One run of one generator."""

    reading: Reading
    process_cpu_s: float
    """Processor time of the whole process, its start included."""


@dataclass(frozen=True)
class Comparison:
    """The engine against one other generator, in one quantity."""

    other: str
    loop: Loop
    quantity: Quantity
    ratios: list[float]
    """Ours by theirs, one for each pair."""

    @property
    def median(self) -> float:
        """The ratio that counts."""
        return statistics.median(self.ratios)


def pairs_in_turn(first: Callable[[], Run], second: Callable[[], Run], count: int) -> list[tuple[Run, Run]]:
    """Measure pairs, every second one in reverse order; each pair is returned in the order given."""
    pairs = []
    for index in range(count):
        if index % 2 == 0:
            pairs.append((first(), second()))
        else:
            later = second()
            pairs.append((first(), later))
    return pairs


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile of ratios; of a single one, itself."""
    if len(ratios) == 1:
        return (ratios[0],) * 3
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, median, high


@dataclass(frozen=True)
class MedianWithin:
    """The median of ratios, and its 95 % interval; an end is infinite where there are too few for one."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Self:
        """Find both by order statistics.

        Source: W. J. Conover, Practical Nonparametric Statistics, third edition, section 3.2.
        """
        ends = quantile_test(ratios, q=1, p=0.5).confidence_interval(0.95)
        low, high = (float(end) for end in (ends.low, ends.high))
        return cls(
            -math.inf if math.isnan(low) else low,
            statistics.median(ratios),
            math.inf if math.isnan(high) else high,
        )

    def __str__(self) -> str:
        """Show both, or that the ratios are too few."""
        if math.isinf(self.low) or math.isinf(self.high):
            return f"median {self.median:.4f}, of too few pairs for a 95 % interval"
        return f"median {self.median:.4f}, 95 % interval {self.low:.4f} to {self.high:.4f}"

    def outcome(self, *, at_least: float = -math.inf, at_most: float = math.inf) -> str:
        """Return whether the interval shows that a goal is met, that it is missed, or neither."""
        if at_least <= self.low and self.high <= at_most:
            return "met"
        if self.high < at_least or at_most < self.low:
            return "missed"
        return "not shown, as the interval lies on both sides of it"


def compare(other: Generator, load: Load, pair_count: int, cpu: int) -> list[Comparison]:
    """Measure a number of pairs, and return the ratios in each quantity."""
    pairs = pairs_in_turn(lambda: _measure(OURS, load, cpu), lambda: _measure(other, load, cpu), pair_count)
    return [
        Comparison(
            other.name,
            load.loop,
            Quantity.REQUESTS_PER_SECOND,
            [ours.reading.rps / theirs.reading.rps for ours, theirs in pairs],
        ),
        Comparison(
            other.name,
            load.loop,
            Quantity.CPU_PER_REQUEST,
            [_ratio_of_cpu(ours, theirs) for ours, theirs in pairs],
        ),
    ]


def _measure(generator: Generator, load: Load, cpu: int) -> Measured:
    finished = run_or_exit([generator.program, *generator.command(load)], cpu)
    try:
        reading = generator.read(finished.output)
    except ValueError as error:
        sys.exit(f"what {generator.name} printed cannot be read: {error}")
    if not reading.requests:
        sys.exit(f"no request of {generator.name} was answered: {finished.output}")
    return Measured(reading, finished.cpu_s)


def _ratio_of_cpu(ours: Measured, theirs: Measured) -> float:
    """Compare the threads that make the load where both tell their time, and else the whole processes."""
    our_threads_us = ours.reading.thread_cpu_per_request_us
    their_threads_us = theirs.reading.thread_cpu_per_request_us
    if our_threads_us is not None and their_threads_us is not None:
        return our_threads_us / their_threads_us
    our_process_s = ours.process_cpu_s / ours.reading.requests
    return our_process_s / (theirs.process_cpu_s / theirs.reading.requests)
