"""Change points: after which run of a history a figure has moved, and by how much.

Series are split where two means differ most, or around the stretch that differs most from the rest, so that a
level of a few runs is seen however long the series is; neighbours that do not differ enough are merged again.

Sources: Fleming, Kołaczkowski and others, "Hunter: Using change point detection to hunt for performance
regressions", ICPE 2023, for split and merge with Student's t, as in Apache Otava; Matteson and James, "A
nonparametric approach for multiple change point analysis of multivariate data", JASA 109 (2014), and Daly and
others, "The use of change point detection to identify software performance regressions in a continuous
integration system", ICPE 2020, for splits one after the other; Olshen, Venkatraman and others, "Circular
binary segmentation for the analysis of array-based DNA copy number data", Biostatistics 5 (2004), for
stretches: one split alone misses a step that is soon taken back. Unlike Otava, variances have the divisor
n - 1, and p-values are adjusted for every place and every figure at which a change could have been found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.interval import CONFIDENCE, Estimate, exponential_ends, ratio_of_logarithm

SEGMENT_MIN = 3
"""Runs on either side of a change, at least."""
ERROR_RATE = 0.002
"""Of an adjusted p-value: so small that figures with heavy tails rarely show a change, too."""
WEAK_P_VALUE = 0.01
"""Of a split that is tried; what does not hold is merged again."""
METHOD = "ratio of geometric means of neighbouring segments, Student's t on the logarithms"
NORMAL_95 = 1.959963984540054
"""How many standard deviations 95 % of normal values lie within."""
STRETCH_MAX = 64
"""Runs of a stretch on another level that is looked for as a whole; longer ones are two steps."""
_SHORT = 2 * SEGMENT_MIN
_STRETCH_CAUTION = 10
"""By how much less likely than a step a stretch must be: few runs with heavy tails lie together by chance."""
_SD_PER_MAD = 1.482602218505602
_SPIKE_DEVIATIONS = 4.0
_NEIGHBOURS = 2

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """A positive figure of one run; the ends of its 95 % interval are ``None`` where it has none."""

    value: float
    low: float | None = None
    high: float | None = None
    trials: int | None = None
    """Those that the interval rests on; ``None`` for many."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of a figure: the first reading after it, and the ratio of the level after to that before."""

    place: int
    ratio: Estimate
    adjusted_p_value: float
    """For all places of the series, all figures of the history, and beside another change all lengths, with
    caution for heavy tails."""

    def moved(self, places: int) -> "ChangePoint":
        """Return the change in a series that has this many more readings before it."""
        return replace(self, place=self.place + places)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes in one series, in their order."""

    points: tuple[ChangePoint, ...]
    noise: float
    """The smallest change that counts, as a share: 95 % of runs without a change lie that near their mean."""
    pending: int
    """How many of the last readings lie beyond the noise, and are too few to show a change."""


def change_points(readings: Sequence[Reading], figures: int = 1, noise: float = 0.0) -> Changes:
    """Return the changes in a series of readings in the order of their runs.

    ``figures`` is the number of series that a history has: of histories without a change, at most 5 % show
    any. A change is at least as large as ``noise``, a share, which is that of the machine where it is known;
    as the noise of the series itself; and as what the readings' own intervals leave open, since a few runs
    may lie closer together than their trials do. A single reading far from its neighbours is no change,
    however far it is.

    Raises ``ValueError`` for a value that is not positive and finite, and for fewer than one figure.
    """
    if figures < 1:
        raise ValueError("a history has at least one figure")
    if not all(math.isfinite(one.value) and one.value > 0 for one in readings):
        raise ValueError("every reading of a history must be positive and finite")
    raw = np.log([one.value for one in readings])
    if len(raw) <= 1:
        return Changes((), noise, 0)
    deviation = _deviation(raw)
    own = float(np.median([_own_variance(one) for one in readings]))
    least = max(math.log1p(noise), NORMAL_95 * max(deviation, math.sqrt(own)))
    begin, end = _apart(raw[::-1], least), len(raw) - _apart(raw, least)
    series = _Series.of(raw[begin:end], readings[begin:end], deviation, least)
    # A change that was tried for anywhere, in any figure, could have been a false one.
    tried = max(1, len(raw) - 2 * SEGMENT_MIN + 1) * figures
    ends = [0, *_merged(series, _split(series), tried), end - begin]
    found = [
        series.change(low, place, high, p_value).moved(begin)
        for low, place, high, (p_value, _) in zip(
            ends, ends[1:-1], ends[2:], series.weaknesses(ends, tried), strict=False
        )
    ]
    # Of fewer runs than two segments the noise is not known, and so nothing is beyond it.
    pending = 0 if len(raw) < 2 * SEGMENT_MIN else len(raw) - end or _pending(raw[begin + ends[-2] :], least)
    return Changes(tuple(found), math.expm1(least), pending)


@dataclass(frozen=True)
class _Series:
    """Logarithms of readings without spikes, with what makes sums over them quick."""

    sums: Array
    squares: Array
    own_variances: Array
    """Sums of what the readings' own intervals leave open."""
    raw: Array
    """The centred logarithms themselves, with the spikes."""
    least: float
    """The smallest change that counts, as a logarithm."""

    @classmethod
    def of(cls, raw: Array, readings: Sequence[Reading], deviation: float, least: float) -> "_Series":
        """Return what a search needs of readings; ``deviation`` is that of their logarithms."""
        clean = _without_spikes(raw, deviation)
        # A sum of squares loses no digits around the mean.
        centred = clean - clean.mean()
        own = np.array([_own_variance(one) for one in readings])
        return cls(
            sums=np.concatenate([[0.0], np.cumsum(centred)]),
            squares=np.concatenate([[0.0], np.cumsum(centred**2)]),
            own_variances=np.concatenate([[0.0], np.cumsum(own)]),
            raw=raw - clean.mean(),
            least=least,
        )

    def tests(self, low: int, places: NDArray[np.int64], high: int) -> tuple[Array, Array, int]:
        """Return differences of means, their standard errors and degrees of freedom at some places."""
        before, after = places - low, high - places
        sums = self.sums[places] - self.sums[low], self.sums[high] - self.sums[places]
        squares = self.squares[places] - self.squares[low], self.squares[high] - self.squares[places]
        within = squares[0] - sums[0] ** 2 / before + squares[1] - sums[1] ** 2 / after
        degrees = high - low - 2
        own = (self.own_variances[high] - self.own_variances[low]) / (high - low)
        variance = np.maximum(np.maximum(within, 0.0) / degrees, max(own, 1e-18))
        difference = sums[1] / after - sums[0] / before
        return difference, np.sqrt(variance * (1 / before + 1 / after)), degrees

    def best(self, low: int, high: int) -> tuple[int, float] | None:
        """Return where the means of both sides differ most, and its p-value; ``None`` without a place."""
        places = np.arange(low + SEGMENT_MIN, high - SEGMENT_MIN + 1)
        if not len(places):
            return None
        difference, error, degrees = self.tests(low, places, high)
        statistic = np.abs(difference) / error
        place = int(statistic.argmax())
        return int(places[place]), _p_value(float(statistic[place]), degrees)

    def best_stretch(self, low: int, high: int) -> tuple[tuple[int, ...], float] | None:
        """Return the ends of the stretch that differs most from the rest, and its p-value for all lengths.

        There is a segment on either side of it: what reaches an end is a single step. ``None`` without room.
        """
        longest = min(STRETCH_MAX, high - low - 2 * SEGMENT_MIN)
        lengths = np.arange(SEGMENT_MIN, longest + 1)
        if not len(lengths):
            return None
        starts = np.arange(low + SEGMENT_MIN, high - 2 * SEGMENT_MIN + 1)[:, None]
        # Stretches that would reach too far are read at the end of the series, and left out below.
        ends = np.minimum(starts + lengths, high)
        inside, outside = ends - starts, high - low - (ends - starts)
        sums, squares = self.sums[ends] - self.sums[starts], self.squares[high] - self.squares[low]
        rest = self.sums[high] - self.sums[low] - sums
        degrees = high - low - 2
        within = np.maximum(squares - sums**2 / inside - rest**2 / outside, 0.0) / degrees
        own = (self.own_variances[high] - self.own_variances[low]) / (high - low)
        error = np.sqrt(np.maximum(within, max(own, 1e-18)) * (1 / inside + 1 / outside))
        statistic = np.where(ends <= high - SEGMENT_MIN, np.abs(sums / inside - rest / outside) / error, 0.0)
        row, column = np.unravel_index(int(statistic.argmax()), statistic.shape)
        found = int(starts[row, 0]), int(ends[row, column])
        return found, min(1.0, _p_value(float(statistic[row, column]), degrees) * len(lengths))

    def change(self, low: int, place: int, high: int, adjusted_p_value: float) -> ChangePoint:
        """Return the change at a place between the changes before and after it."""
        from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

        difference, error, degrees = self.tests(low, np.array([place]), high)
        logarithm = float(difference[0])
        half = float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) * float(error[0])
        value = ratio_of_logarithm(logarithm) or 1.0
        ratio = Estimate(value, *exponential_ends(logarithm, half), n=high - low, method=METHOD)
        return ChangePoint(place, ratio, adjusted_p_value)

    def p_value(self, low: int, place: int, high: int) -> tuple[float, float]:
        """Return the p-value of a change, which is 1 where it is smaller than the noise, and its size."""
        difference, error, degrees = self.tests(low, np.array([place]), high)
        size = abs(float(difference[0]))
        return 1.0 if size < self.least else _p_value(size / float(error[0]), degrees), size

    def is_broken(self, low: int, first: int, last: int, high: int) -> bool:
        """Whether a run of a short stretch lies with those around it: what replaced it is no evidence."""
        if last - first > _SHORT:
            return False
        before, level, after = (
            (self.sums[end] - self.sums[begin]) / (end - begin)
            for begin, end in pairwise((low, first, last, high))
        )
        apart = np.abs(self.raw[first:last, None] - [level, before, after])
        return bool((apart[:, :1] > apart[:, 1:]).any())

    def weaknesses(self, ends: Sequence[int], tried: int) -> list[tuple[float, float]]:
        """Return the adjusted p-value and -size of each change between the ends.

        Of changes that chance explains as well as one another the smallest is the weakest. The part between
        two changes could have been a stretch of any length, and so the stronger one is adjusted for these
        with caution: a step that is beyond doubt by itself needs no more for the one that takes it back.
        """
        found = [
            self.p_value(low, place, high)
            for low, place, high in zip(ends, ends[1:-1], ends[2:], strict=False)
        ]
        longest = min(STRETCH_MAX, len(self.sums) - 1 - 2 * SEGMENT_MIN)
        tries = _STRETCH_CAUTION * max(1, longest - SEGMENT_MIN + 1)
        of_stretches = [
            1.0 if self.is_broken(*ends[number : number + 4]) else min(one[0], other[0]) * tries
            for number, (one, other) in enumerate(pairwise(found))
        ]
        beside = [0.0, *of_stretches, 0.0]
        return [
            (min(1.0, max(p_value, *beside[number : number + 2]) * tried), -size)
            for number, (p_value, size) in enumerate(found)
        ]


def _split(series: _Series) -> list[int]:
    """Return where a series may change, each place between those found before.

    Of a step and a stretch the one that chance explains less is taken.
    """
    found: list[int] = []
    left = [(0, len(series.sums) - 1)]
    while left:
        low, high = left.pop()
        step, stretch = series.best(low, high), series.best_stretch(low, high)
        tried = [((step[0],), step[1])] if step is not None else []
        places, p_value = min([*tried, *([stretch] if stretch else [])], key=itemgetter(1), default=((), 1.0))
        if p_value <= WEAK_P_VALUE:
            found += places
            left += pairwise([low, *places, high])
    return sorted(found)


def _merged(series: _Series, places: list[int], tried: int) -> list[int]:
    """Return the places that hold between their neighbours, the weakest being removed one after the other."""
    ends = [0, *places, len(series.sums) - 1]
    while ends[1:-1]:
        weaknesses = series.weaknesses(ends, tried)
        weakest = max(range(len(weaknesses)), key=weaknesses.__getitem__)
        if weaknesses[weakest][0] <= ERROR_RATE:
            break
        del ends[weakest + 1]
        # What was found inside a part that has grown may lie elsewhere in it.
        for place in (weakest, weakest + 1):
            if 0 < place < len(ends) - 1 and (best := series.best(ends[place - 1], ends[place + 1])):
                ends[place] = best[0]
    return ends[1:-1]


def _p_value(statistic: float, degrees: int) -> float:
    from scipy.special import stdtr  # noqa: PLC0415 - scipy must not slow the start of the command

    return 2 * float(stdtr(degrees, -statistic))


def _own_variance(reading: Reading) -> float:
    """Return the variance of a reading's logarithm by its interval; 0 without one."""
    if not reading.low or not reading.high:
        return 0.0
    return (math.log(reading.high / reading.low) / (2 * _deviations_in_half(reading.trials))) ** 2


@cache
def _deviations_in_half(trials: int | None) -> float:
    """Return how many standard deviations half a 95 % interval over this many trials is wide."""
    if trials is None or trials <= 1:
        return NORMAL_95
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    return float(stdtrit(trials - 1, (1 + CONFIDENCE) / 2))


def _deviation(logs: Array) -> float:
    """Return the standard deviation of readings around their level, which steps and spikes do not change."""
    steps = np.diff(logs)
    return float(np.median(np.abs(steps - np.median(steps)))) * _SD_PER_MAD / math.sqrt(2)


def _without_spikes(logs: Array, deviation: float) -> Array:
    """Return the readings, each that lies far from its neighbours on both sides replaced by their median."""
    padded = np.pad(logs, _NEIGHBOURS, mode="reflect") if len(logs) > _NEIGHBOURS else logs
    if padded is logs:
        return logs
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
    medians = np.median(windows, axis=1)
    is_spike = np.abs(logs - medians) > _SPIKE_DEVIATIONS * deviation
    return np.where(is_spike, medians, logs)


def _apart(logs: Array, least: float) -> int:
    """Return how many readings at the end, too few for a change, lie beyond the noise of those before."""
    for count in range(1, SEGMENT_MIN):
        before = logs[-count - 2 * SEGMENT_MIN - 1 : -count]
        if len(before) < SEGMENT_MIN:
            return 0
        apart = logs - np.median(before)
        last = apart[-count:]
        is_apart = bool((np.abs(last) > least).all()) and bool((last * last[-1] > 0).all())
        # What was apart before them, too, may be a change by now.
        if is_apart and abs(apart[-count - 1]) <= least:
            return count
    return 0


def _pending(segment: Array, least: float) -> int:
    """Return how many readings at the end lie beyond the noise of their segment, all on one side of it."""
    if len(segment) <= 1:
        return 0
    apart = segment - np.median(segment)
    count = 0
    for one in apart[::-1]:
        if abs(one) <= least or one * apart[-1] <= 0:
            break
        count += 1
    return count
