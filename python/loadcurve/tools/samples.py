"""From the times of single requests to figures, by the engine's rules.

Percentiles are order statistics, given where the samples bound them from both sides; see
docs/methodology/times.md. Arrays are of whole nanoseconds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy
from numpy.typing import NDArray

from loadcurve.result.distribution import PERCENTILES, WHOLE, Distribution
from loadcurve.result.histograms import (
    LONGEST_NS,
    Counted,
    bucket_of,
    counted_in,
    encoded,
    encoded_counters,
    merged,
)
from loadcurve.result.load import SeriesPeriod
from loadcurve.tools.figures import Completeness, Times
from loadcurve.tools.percentiles import distribution

Nanoseconds = NDArray[numpy.int64]

_NS_PER_MS = 1e6
_NS_PER_S = 10**9
DIGITS, SERIES_DIGITS = 3, 2
SLICE = 1_000_000
"""How many times are computed with at once, which bounds the memory that this takes."""
PERIODS_MAX = 600
"""The most periods of a series, as the engine has them."""


def _rank(share: int, count: int) -> int:
    return -(-count * share // WHOLE)


def distribution_of(rising: Nanoseconds) -> Distribution:
    """Return the distribution of times that rise."""
    count = len(rising)
    if not count:
        return distribution(0)
    percentiles = {
        name: float(rising[_rank(share, count) - 1]) / _NS_PER_MS for name, share in PERCENTILES.items()
    }
    return distribution(
        count,
        minimum=float(rising[0]) / _NS_PER_MS,
        mean=_mean(rising) / _NS_PER_MS,
        stddev=_stddev(rising) / _NS_PER_MS if count > 1 else None,
        maximum=float(rising[-1]) / _NS_PER_MS,
        percentiles=percentiles,
    )


def _mean(times: Nanoseconds) -> float:
    return float(numpy.mean(times, dtype=numpy.float64))


def _stddev(times: Nanoseconds) -> float:
    mean = _mean(times)
    squares = (((times[first : first + SLICE] - mean) ** 2).sum() for first in range(0, len(times), SLICE))
    return math.sqrt(float(sum(squares)) / (len(times) - 1))


def distribution_of_counts(
    counted: Counted, *, extremes: tuple[int, int] | None = None, mean_ns: float | None = None
) -> Distribution:
    """Return the distribution of counted times in ns; what is known better than by their buckets is given."""
    total = counted.total
    if not total:
        return distribution(0)
    shortest, longest = extremes or (int(counted.lowest[0]), int(counted.highest[-1]))
    below = numpy.cumsum(counted.counts)
    places = {
        name: int(numpy.searchsorted(below, _rank(share, total))) for name, share in PERCENTILES.items()
    }
    middle = counted.middle.astype(numpy.float64)
    mean = float((middle * counted.counts).sum()) / total if mean_ns is None else mean_ns
    squares = float(((middle - mean) ** 2 * counted.counts).sum())
    return distribution(
        total,
        minimum=shortest / _NS_PER_MS,
        mean=mean / _NS_PER_MS,
        stddev=math.sqrt(squares / (total - 1)) / _NS_PER_MS if total > 1 else None,
        maximum=longest / _NS_PER_MS,
        percentiles={
            name: min(max(int(counted.highest[place]), shortest), longest) / _NS_PER_MS
            for name, place in places.items()
        },
    )


def times_of(
    times_ns: Nanoseconds, resolution_ms: float | None, completeness: Completeness = "complete"
) -> Times:
    """Return the figures of single times, and their histogram."""
    rising = numpy.sort(times_ns)
    return Times(
        distribution=distribution_of(rising),
        completeness=completeness,
        resolution_ms=resolution_ms,
        histogram=_histogram_of(rising) if len(rising) else None,
    )


def _histogram_of(rising: Nanoseconds) -> str:
    """Return the histogram of times that rise, of which the counters' bounds are looked up."""
    longest = numpy.minimum(rising[-1:], LONGEST_NS)
    indices = numpy.arange(int(bucket_of(longest, DIGITS)[0]) + 1)
    bounds = counted_in(indices, indices, DIGITS).lowest
    counts = numpy.diff(numpy.append(numpy.searchsorted(rising, bounds), len(rising)))
    return encoded_counters(indices, counts, DIGITS)


def times_of_counts(counted: Counted, resolution_ms: float | None) -> Times:
    """Return the figures of counted times in ns, and their histogram."""
    known = counted.total > 0
    return Times(
        distribution=distribution_of_counts(counted),
        completeness="complete",
        resolution_ms=resolution_ms,
        histogram=encoded(counted.middle, DIGITS, counted.counts) if known else None,
    )


def series_of(
    done_ns: Nanoseconds,
    times_ns: Nanoseconds,
    window_ns: int,
    *,
    failed_ns: Nanoseconds | None = None,
    body_bytes: NDArray[numpy.int64] | None = None,
) -> list[SeriesPeriod]:
    """Return a window's periods, each a power of two seconds wide, at most 600, the last one cut at its end.

    ``done_ns`` are the moments of the answers, from the window's begin, and ``failed_ns`` those of failures.
    """
    if window_ns <= 0:
        return []
    width = period_width_ns(window_ns)
    periods = int(-(-window_ns // width))
    failed = numpy.zeros(periods, numpy.int64)
    if failed_ns is not None and len(failed_ns):
        failed = numpy.bincount(numpy.clip(failed_ns // width, 0, periods - 1), minlength=periods)
    longest = min(int(times_ns.max()), LONGEST_NS) if len(times_ns) else 0
    sums = _Sums.of(periods, buckets=int(bucket_of(numpy.array([longest]), SERIES_DIGITS)[0]) + 1)
    for first in range(0, len(times_ns), SLICE):
        part = slice(first, first + SLICE)
        places = numpy.clip(done_ns[part] // width, 0, periods - 1)
        sums.add(places, times_ns[part], None if body_bytes is None else body_bytes[part])
    return [
        sums.period(number, (number * width, min((number + 1) * width, window_ns)), int(failed[number]))
        for number in range(periods)
    ]


@dataclass(slots=True)
class _Sums:
    """What is summed up of the answers in each period: arrays with an element for each."""

    answered: NDArray[numpy.int64]
    shortest_ns: Nanoseconds
    longest_ns: Nanoseconds
    sum_ns: NDArray[numpy.float64]
    body_bytes: NDArray[numpy.int64]
    counters: NDArray[numpy.int64]
    """A row for each period, of the counters of its histogram."""

    @classmethod
    def of(cls, periods: int, *, buckets: int) -> Self:
        """Begin with none, of which the longest will be in the last of these buckets."""
        return cls(
            answered=numpy.zeros(periods, numpy.int64),
            shortest_ns=numpy.full(periods, numpy.iinfo(numpy.int64).max),
            longest_ns=numpy.zeros(periods, numpy.int64),
            sum_ns=numpy.zeros(periods),
            body_bytes=numpy.zeros(periods, numpy.int64),
            counters=numpy.zeros((periods, buckets), numpy.int64),
        )

    def add(
        self, places: NDArray[numpy.int64], times_ns: Nanoseconds, body_bytes: NDArray[numpy.int64] | None
    ) -> None:
        """Add answers to the periods at these places."""
        periods, buckets = self.counters.shape
        self.answered += numpy.bincount(places, minlength=periods)
        self.sum_ns += numpy.bincount(places, weights=times_ns, minlength=periods)
        numpy.minimum.at(self.shortest_ns, places, times_ns)
        numpy.maximum.at(self.longest_ns, places, times_ns)
        if body_bytes is not None:
            numpy.add.at(self.body_bytes, places, body_bytes)
        found = places * buckets + bucket_of(numpy.minimum(times_ns, LONGEST_NS), SERIES_DIGITS)
        self.counters += numpy.bincount(found, minlength=self.counters.size).reshape(periods, buckets)

    def period(self, number: int, bounds_ns: tuple[int, int], failed: int) -> SeriesPeriod:
        """Return one period, between two moments of the window."""
        begin_ns, end_ns = bounds_ns
        answered = int(self.answered[number])
        [indices] = self.counters[number].nonzero()
        counts = self.counters[number][indices]
        latency = distribution(0)
        if answered:
            latency = distribution_of_counts(
                counted_in(indices, counts, SERIES_DIGITS),
                extremes=(int(self.shortest_ns[number]), int(self.longest_ns[number])),
                mean_ns=float(self.sum_ns[number]) / answered,
            )
        return SeriesPeriod(
            t_s=begin_ns / _NS_PER_S,
            width_s=(end_ns - begin_ns) / _NS_PER_S,
            answered=answered,
            failed=failed,
            body_bytes=int(self.body_bytes[number]),
            latency_ms=latency,
            latency_histogram=encoded_counters(indices, counts, SERIES_DIGITS),
        )


def period_width_ns(window_ns: int) -> int:
    """Return how wide the periods of a window are: a power of two seconds, so that there are at most 600."""
    width_ns = _NS_PER_S
    while window_ns > width_ns * PERIODS_MAX:
        width_ns *= 2
    return width_ns


def period_of_counts(bounds_s: tuple[float, float], counted: Sequence[Counted], failed: int) -> SeriesPeriod:
    """Return a period between two moments of the window, of counted times in ns without bodies."""
    begin_s, end_s = bounds_s
    times = merged(counted)
    return SeriesPeriod(
        t_s=begin_s,
        width_s=end_s - begin_s,
        answered=times.total,
        failed=failed,
        body_bytes=0,
        latency_ms=distribution_of_counts(times),
        latency_histogram=encoded(times.middle, SERIES_DIGITS, times.counts),
    )
