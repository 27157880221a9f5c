"""Whether a figure rises or falls through a long run.

The expected figures are those of pymannkendall 1.4.3 (the original test, and that of Hamed and Rao) and of
scipy 1.17 (slopes with Sen's interval, the exact test) for the same series.
"""

import math
import random
from itertools import pairwise

import pytest

from loadcurve.stats.trend import MOST_VALUES, trend

RISES_RANDOMLY = [3.1, 2.9, 3.5, 3.3, 3.9, 3.6, 4.2, 4.0]


def noise(count, seed):
    chance = random.Random(seed)
    return [round(chance.gauss(100, 5), 3) for _ in range(count)]


def rising(count, seed):
    chance = random.Random(seed)
    return [round(100 + 0.4 * place + chance.gauss(0, 5), 3) for place in range(count)]


def wave(count, seed, likeness=0.8):
    """Each value is like the one before it, and nothing rises to the end."""
    chance, value, values = random.Random(seed), 0.0, []
    for _ in range(count):
        value = likeness * value + chance.gauss(0, 1)
        values.append(round(100 + value, 3))
    return values


def with_ties(count, seed):
    chance = random.Random(seed)
    return [float(chance.randint(0, 6) + place // 15) for place in range(count)]


@pytest.mark.parametrize(
    ("values", "slope", "low", "high"),
    [
        (noise(40, 1), 0.01074, -0.092241379, 0.1332),
        (rising(40, 2), 0.354301587, 0.215676471, 0.494062500),
        (with_ties(50, 4), 0.107142857, None, None),
    ],
)
def test_the_slope_is_that_of_theil_and_sen(values, slope, low, high):
    found = trend(range(len(values)), values).slope_per_s
    assert found.value == pytest.approx(slope, rel=1e-6)
    if low is not None:
        assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)


@pytest.mark.parametrize(("values", "p_value"), [(noise(40, 1), 0.78871949), (rising(40, 2), 4.32279598e-05)])
def test_independent_values_have_the_p_value_of_mann_and_kendall(values, p_value):
    assert trend(range(len(values)), values).p_value == pytest.approx(p_value, rel=1e-6)


def test_likeness_of_neighbours_enlarges_the_variance_as_hamed_and_rao_say_or_more():
    values = wave(60, 3)
    # The original test sees a trend (p 0.00023); that of Hamed and Rao does not.
    assert trend(range(60), values).p_value >= 0.0621655


def test_few_values_have_their_exact_distribution():
    assert trend(range(8), RISES_RANDOMLY).p_value == pytest.approx(0.0141369048, rel=1e-6)


def test_every_order_of_eight_values_is_counted_once():
    falling = trend(range(8), [8, 7, 6, 5, 4, 3, 2, 1])
    assert falling.p_value == pytest.approx(2 / math.factorial(8))
    assert falling.slope_per_s.value == -1
    assert (falling.change, falling.start, falling.relative_change) == (-7, 8, -7 / 8)


def test_values_that_never_change_have_no_trend():
    found = trend(range(20), [5.0] * 20)
    assert (found.p_value, found.change, found.start) == (1, 0, 5)


def test_a_spike_is_no_trend():
    values = noise(40, 1)
    values[-1] = 1e6
    found = trend(range(40), values)
    assert found.p_value > 0.3
    assert found.relative_change < 0.03


def test_seven_values_are_too_few():
    assert trend(range(7), range(7)) is None


@pytest.mark.parametrize("times", [range(9), [0, 1, 2, 3, 4, 5, 5, 6]])
def test_times_that_do_not_ascend_or_fit_are_refused(times):
    with pytest.raises(ValueError, match="as many values as times, which ascend"):
        trend(times, range(8))


def test_of_very_many_values_the_means_of_neighbours_are_taken():
    values = [place / 10 for place in range(10 * MOST_VALUES)]
    found = trend([60.0 * place for place in range(len(values))], values)
    assert found.slope_per_s.value * 60 == pytest.approx(0.1)
    assert found.slope_per_s.n == len(values)


def test_equal_distances_need_not_be():
    times = [0, 1, 5, 6, 20, 21, 22, 40]
    assert all(later > earlier for earlier, later in pairwise(times))
    assert trend(times, [2 * time + 1 for time in times]).slope_per_s.value == pytest.approx(2)


def alike_by_half(count, seed):
    return wave(count, seed, likeness=0.5)


@pytest.mark.parametrize("series", [noise, alike_by_half, wave])
def test_series_without_a_trend_seldom_have_one(series):
    """At p 0.01, of 300 series 3 are expected; the seeds are fixed, so that the numbers are, too."""
    assert sum(trend(range(48), series(48, seed)).p_value <= 0.01 for seed in range(300)) <= 12
