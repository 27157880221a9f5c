"""The distribution of latency at each point: the merged histograms of a server's trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from loadcurve.report import text
from loadcurve.result.distribution import merged_curve
from loadcurve.result.records import PointRecord

STEP = 1.05
"""Two neighbouring rows of a thinned distribution lie at least this factor of ``inverse_tail`` apart."""

CLASS_RATIO = 1.1
"""Each class of a density ends at this many times its start: all are equally wide on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A step of a distribution; ``inverse_tail`` is 1 / (1 - percentile / 100): one request in this many."""

    inverse_tail: float
    percentile: float
    latency_ms: float


@dataclass(frozen=True, slots=True)
class DensityClass:
    """The part ``share`` of the requests (of 1) took from ``from_ms`` up to CLASS_RATIO times as long."""

    from_ms: float
    share: float


@dataclass(frozen=True, slots=True)
class LatencyDistribution:
    """One distribution in both of its forms."""

    quantiles: list[Quantile]
    density: list[DensityClass]
    """Without gaps: a class between others has a share of 0 where no request was."""
    pauses: list[Quantile]
    """How long a request that is due at any moment would have waited for pauses of the machine alone; empty
    where there were none, or they were not measured."""


def latency_distribution(server: str, trials: Sequence[PointRecord]) -> LatencyDistribution | None:
    """Merge the latency histograms of the trials at one point; ``None`` where they hold nothing.

    The maximum is at one request in as many as there were, the smallest tail that the samples can show.

    Raises ``BadInput`` where a histogram cannot be decoded.
    """
    answered = [
        (load.latency_ms.known_count, load.histograms.latency)
        for load in (trial.load for trial in trials)
        if load.latency_ms.count and load.histograms.latency is not None
    ]
    if not answered:
        return None
    count = sum(count for count, _ in answered)
    name = f"a latency histogram of {server} at {text.point(trials[0].point)}"
    curve = merged_curve([histogram for _, histogram in answered], name)
    if not curve:
        return None
    return LatencyDistribution(_thinned(curve, count), density(curve), _delays(server, trials, count))


def _delays(server: str, trials: Sequence[PointRecord], count: int) -> list[Quantile]:
    """Merge the delays by pauses over trials, of each trial those of the side that was paused for longer.

    Moments are more than the ``count`` of requests, whose tail ends at one in as many.
    """
    sides = [
        max(measured, key=lambda side: side.paused_s)
        for trial in trials
        if (measured := [one for one in (trial.load.generator.pauses, trial.probe.pauses) if one is not None])
    ]
    if not any(side.count for side in sides):
        return []
    name = f"a histogram of pauses of {server} at {text.point(trials[0].point)}"
    curve = merged_curve([side.histogram for side in sides], name)
    moments = sum(side.delay_ms.known_count for side in sides)
    found = _thinned(curve, moments) if curve and moments else []
    return [one for one in found if one.latency_ms > 0 and one.inverse_tail <= count]


def density(curve: Sequence[tuple[float, float]]) -> list[DensityClass]:
    """Return the share of requests in each class, from rising pairs of a percentile (0 to 100) and its time.

    What is 0 ms has no place on a logarithmic axis and is left out.
    """
    percentiles, times_ms = numpy.array(curve, dtype=float).reshape(-1, 2).T
    shares = numpy.diff(percentiles, prepend=0.0) / 100
    above_zero = times_ms > 0
    if not above_zero.any():
        return []
    numbers = numpy.floor(numpy.log(times_ms[above_zero]) / math.log(CLASS_RATIO)).astype(int)
    lowest = int(numbers.min())
    classes = numpy.bincount(numbers - lowest, weights=shares[above_zero])
    return [
        DensityClass(CLASS_RATIO ** (lowest + place), share) for place, share in enumerate(classes.tolist())
    ]


def _thinned(curve: Sequence[tuple[float, float]], count: int) -> list[Quantile]:
    """Keep the first and last steps and those a visible distance apart.

    A point has thousands of steps, and a report hundreds of points, so they are not gone through one by one.
    """
    percentiles = numpy.array([percentile for percentile, _ in curve])
    tails = 1 - percentiles / 100
    inverse_tails = numpy.full(len(tails), float(count))
    numpy.divide(1, tails, out=inverse_tails, where=tails > 1 / count)
    kept = [0]
    last = len(curve) - 1
    while (following := int(numpy.searchsorted(inverse_tails, inverse_tails[kept[-1]] * STEP))) < last:
        kept.append(following)
    return [
        Quantile(float(inverse_tails[place]), *curve[place])
        for place in [*kept, *([last] if last > 0 else [])]
    ]
