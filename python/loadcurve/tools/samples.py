"""From the times of single requests to figures, by the engine's rules.

Percentiles are order statistics, given where the samples bound them from both sides; see
docs/methodology/times.md. Arrays are of whole nanoseconds, in any width.
"""

import math
from collections.abc import Sequence

import numpy

import loadcurve._engine as native
from loadcurve.loads.limits import SERIES_PERIODS_MAX
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
from loadcurve.tools.numbers import Whole
from loadcurve.tools.percentiles import distribution

_NS_PER_MS = 1e6
_NS_PER_S = 10**9
DIGITS, SERIES_DIGITS = 3, 2
SLICE, SHORT_SLICE = 1_000_000, 100_000
"""How many times are computed with at once, which bounds the memory that this takes: in floats, and as whole
numbers of full width."""


def _rank(share: int, count: int) -> int:
    return -(-count * share // WHOLE)


def distribution_of(rising: Whole) -> Distribution:
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


def _mean(times: Whole) -> float:
    return float(numpy.mean(times, dtype=numpy.float64))


def _stddev(times: Whole) -> float:
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


def times_of(times_ns: Whole, resolution_ms: float | None, completeness: Completeness = "complete") -> Times:
    """Return the figures of single times, and their histogram."""
    return times_of_rising(numpy.sort(times_ns), resolution_ms, completeness)


def times_of_rising(
    rising: Whole, resolution_ms: float | None, completeness: Completeness = "complete"
) -> Times:
    """Return the same of times that rise."""
    return Times(
        distribution=distribution_of(rising),
        completeness=completeness,
        resolution_ms=resolution_ms,
        histogram=_histogram_of(rising) if len(rising) else None,
    )


def _histogram_of(rising: Whole) -> str:
    """Return the histogram of times that rise, of which the counters' bounds are looked up."""
    longest = numpy.minimum(rising[-1:].astype(numpy.int64), LONGEST_NS)
    indices = numpy.arange(int(bucket_of(longest, DIGITS)[0]) + 1)
    bounds = counted_in(indices, indices, DIGITS).lowest
    # Looked up as what they are looked up among, which is not converted for it.
    places = numpy.searchsorted(rising, bounds.astype(rising.dtype))
    counts = numpy.diff(numpy.append(places, len(rising)))
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
    done_ns: Whole,
    times_ns: Whole,
    window_ns: tuple[int, int],
    *,
    failed_at_ns: Whole,
    body_bytes: Whole | None = None,
) -> list[SeriesPeriod]:
    """Return a window's periods, each a power of two seconds wide, at most 600, the last one cut at its end.

    ``done_ns`` are the moments of the answers, ``failed_at_ns`` those of failures, and ``window_ns`` those of
    the window's begin and end, all of one clock.
    """
    begin_ns, end_ns = window_ns
    length_ns = end_ns - begin_ns
    if length_ns <= 0:
        return []
    width_ns = period_width_ns(length_ns)
    periods = -(-length_ns // width_ns)
    failed_in = numpy.clip((failed_at_ns.astype(numpy.int64) - begin_ns) // width_ns, 0, periods - 1)
    failed = numpy.bincount(failed_in, minlength=periods)
    sums = native.PeriodSums(periods, width_ns, SERIES_DIGITS)
    for first in range(0, len(times_ns), SHORT_SLICE):
        part = slice(first, first + SHORT_SLICE)
        bodies = None if body_bytes is None else body_bytes[part].astype(numpy.int64)
        sums.add(done_ns[part].astype(numpy.int64) - begin_ns, times_ns[part].astype(numpy.int64), bodies)
    return [
        _period((number * width_ns, min((number + 1) * width_ns, length_ns)), found, int(failed[number]))
        for number, found in enumerate(sums.periods())
    ]


def _period(
    bounds_ns: tuple[int, int], found: tuple[int, int, int, int, int, bytes], failed: int
) -> SeriesPeriod:
    """Return one period, between two moments of the window, of what the engine has found of its answers."""
    begin_ns, end_ns = bounds_ns
    answered, shortest_ns, longest_ns, sum_ns, body_bytes, counters = found
    counts = numpy.frombuffer(counters, numpy.int64)
    [indices] = counts.nonzero()
    counts = counts[indices]
    latency = distribution(0)
    if answered:
        latency = distribution_of_counts(
            counted_in(indices, counts, SERIES_DIGITS),
            extremes=(shortest_ns, longest_ns),
            mean_ns=sum_ns / answered,
        )
    return SeriesPeriod(
        t_s=begin_ns / _NS_PER_S,
        width_s=(end_ns - begin_ns) / _NS_PER_S,
        answered=answered,
        failed=failed,
        body_bytes=body_bytes,
        latency_ms=latency,
        latency_histogram=encoded_counters(indices, counts, SERIES_DIGITS),
    )


def period_width_ns(window_ns: int) -> int:
    """Return how wide the periods of a window are: a power of two seconds, so that there are at most 600."""
    width_ns = _NS_PER_S
    while window_ns > width_ns * SERIES_PERIODS_MAX:
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
