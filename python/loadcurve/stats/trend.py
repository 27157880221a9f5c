"""Trends: whether a figure rises or falls through a long run, and how fast.

The test is Mann's and Kendall's, which asks only for an order: a leak is as seldom a straight line as noise
is normal. Its variance is enlarged where neighbouring values are alike, as those of a machine that warms up
and cools down are; otherwise a slow wave would count as a trend.

Sources: H. B. Mann, "Nonparametric tests against trend", Econometrica 13 (1945) 245-259; P. K. Sen,
"Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968) 1379-1389; K. H. Hamed and
A. R. Rao, "A modified Mann-Kendall trend test for autocorrelated data", Journal of Hydrology 204 (1998)
182-196; S. Yue and C. Wang, "The Mann-Kendall test modified by effective sample size to detect trend in
serially correlated hydrological series", Water Resources Management 18 (2004) 201-218.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.interval import CONFIDENCE, Estimate

LEAST_VALUES = 8
"""Of fewer values a trend is not asked for: the exact test of 4 cannot reach 5 %, and one spike decides."""
MOST_VALUES = 1_000
"""Of more values the means of neighbours are taken: all pairs of a year of hours are millions."""
EXACT_UP_TO = 10
"""Up to this many values without ties have their exact distribution; above, the normal one is as good."""
LIKENESS_MAX = 0.95
"""More likeness of neighbours than this leaves a twentieth of the values, or less, to judge by."""
METHOD = "Theil-Sen slope, with Sen's interval"

SECONDS_PER_HOUR = 3600

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure changed over time."""

    slope_per_s: Estimate
    """The median of the slopes between all pairs, in the figure's unit per second, with its 95 % interval."""
    change: float
    """The slope times the time between the first value and the last, in the figure's unit."""
    start: float
    """The median of what the values would be without the slope: the figure at the first time."""
    p_value: float
    """How often values without a trend rise or fall as steadily, by the two-sided test."""

    @property
    def end(self) -> float:
        """The figure at the last time, by the slope."""
        return self.start + self.change

    @property
    def slope_per_hour(self) -> Estimate:
        """The slope in the figure's unit per hour."""
        slope = self.slope_per_s
        low, high = (None if end is None else end * SECONDS_PER_HOUR for end in (slope.low, slope.high))
        return replace(slope, value=slope.value * SECONDS_PER_HOUR, low=low, high=high)

    @property
    def relative_change(self) -> float | None:
        """The change as a share of the start; ``None`` where that is not above 0."""
        return self.change / self.start if self.start > 0 else None


def trend(times_s: Sequence[float], values: Sequence[float]) -> Trend | None:
    """Return the trend of values at ascending times; ``None`` of fewer than :data:`LEAST_VALUES`.

    Raises ``ValueError`` where times and values are not equally many, or times do not ascend.
    """
    times, figures = np.asarray(times_s, dtype=float), np.asarray(values, dtype=float)
    if times.shape != figures.shape or np.any(np.diff(times) <= 0):
        raise ValueError("expected as many values as times, which ascend")
    if len(times) < LEAST_VALUES:
        return None
    times, figures = _thinned(times), _thinned(figures)
    earlier, later = np.triu_indices(len(times), 1)
    rises = figures[later] - figures[earlier]
    slopes = np.sort(rises / (times[later] - times[earlier]))
    slope = float(np.median(slopes))
    score = int(np.sign(rises).sum())
    inflation = _inflation(figures - slope * times)
    variance = _variance(figures) * inflation
    low, high = _ends(slopes, variance)
    return Trend(
        slope_per_s=Estimate(slope, low, high, len(times_s), METHOD),
        change=slope * float(times[-1] - times[0]),
        start=float(np.median(figures - slope * (times - times[0]))),
        p_value=_p_value(score, variance, figures, is_independent=inflation == 1),
    )


def _thinned(values: Values) -> Values:
    """Return the means of neighbours, :data:`MOST_VALUES` at most."""
    if len(values) <= MOST_VALUES:
        return values
    return np.array([part.mean() for part in np.array_split(values, MOST_VALUES)])


def _variance(values: Values) -> float:
    """Return the variance of the score of independent values without a trend, which equal ones lower."""
    n = len(values)
    ties = np.unique(values, return_counts=True)[1]
    return float(n * (n - 1) * (2 * n + 5) - np.sum(ties * (ties - 1) * (2 * ties + 5))) / 18


def _inflation(residuals: Values) -> float:
    """Return by which factor likeness of neighbours enlarges that variance, by the ranks; at least 1.

    Both ways are too small for some series: Hamed's and Rao's for short ones whose likeness fades slowly,
    that of Yue and Wang for those that repeat.
    """
    n = len(residuals)
    ranks = _ranks(residuals) - (n + 1) / 2
    power = float(ranks @ ranks)
    if not power:
        return 1.0
    lags = np.arange(1, n - 1)
    likeness = np.array([float(ranks[:-lag] @ ranks[lag:]) / power for lag in lags])
    return max(1.0, _of_all_lags(likeness, lags, n), _of_neighbours(float(likeness[0]), n))


def _of_all_lags(likeness: Values, lags: NDArray[np.int64], n: int) -> float:
    """Return Hamed's and Rao's factor: of significant autocorrelations, as all of them would be noise."""
    counts = np.abs(likeness) > NormalDist().inv_cdf((1 + CONFIDENCE) / 2) / math.sqrt(n)
    weights = (n - lags) * (n - lags - 1) * (n - lags - 2)
    return 1 + 2 / (n * (n - 1) * (n - 2)) * float(np.sum(weights * likeness * counts))


def _of_neighbours(likeness: float, n: int) -> float:
    """Return the factor by which a series has fewer independent values than values: (1 + r) / (1 - r).

    What a short series shows of ``r`` is too small: (r n + 1) / (n - 4) makes up for it (M. G. Kendall, "Note
    on bias in the estimation of autocorrelation", Biometrika 41 (1954) 403-404).
    """
    if likeness * math.sqrt(n) < NormalDist().inv_cdf(CONFIDENCE):
        return 1.0
    r = min((likeness * n + 1) / (n - 4), LIKENESS_MAX)
    return (1 + r) / (1 - r)


def _ranks(values: Values) -> Values:
    """Return the ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Values = (last - (counts - 1) / 2)[place]
    return means


def _ends(slopes: Values, variance: float) -> tuple[float, float]:
    """Return the interval of the slope: the slopes at equal ranks on both sides of the median (Sen)."""
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance)
    low = max(round((len(slopes) - half) / 2) - 1, 0)
    high = min(round((len(slopes) + half) / 2), len(slopes) - 1)
    return float(slopes[low]), float(slopes[high])


def _p_value(score: int, variance: float, values: Values, *, is_independent: bool) -> float:
    n = len(values)
    if is_independent and n <= EXACT_UP_TO and len(np.unique(values)) == n:
        return _exact_p_value(score, n)
    if not variance:
        return 1.0
    # A score is a whole number, so that half a step to its neighbours belongs to it.
    z = max(0, abs(score) - 1) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _exact_p_value(score: int, n: int) -> float:
    """Return the share of all orders of ``n`` values with a score as far from 0 (Kendall's distribution)."""
    counts = [1]
    """The number of orders by the number of pairs that fall, from 0 on."""
    for more in range(1, n):
        summed = [0] * (len(counts) + more)
        for falling, count in enumerate(counts):
            for added in range(more + 1):
                summed[falling + added] += count
        counts = summed
    pairs = n * (n - 1) // 2
    extreme = sum(count for falling, count in enumerate(counts) if abs(pairs - 2 * falling) >= abs(score))
    return extreme / math.factorial(n)
