"""Ratios of independent samples, held against scipy's own test of Welch and against simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.independent import IndependentRatio

NEW = [101.0, 97.5, 108.2, 99.1]
BASE = [88.0, 91.5, 86.1, 93.0, 90.2, 84.4]


def test_the_ratio_is_that_of_the_geometric_means():
    ratio = IndependentRatio.of([2.0, 8.0], [1.0, 4.0]).estimate()
    assert (ratio.value, ratio.n) == (pytest.approx(4.0 / 2.0), 2)


def test_interval_and_p_value_are_those_of_welchs_test_of_the_logarithms():
    expected = stats.ttest_ind(np.log(NEW), np.log(BASE), equal_var=False)
    interval = expected.confidence_interval(0.95)
    ratio = IndependentRatio.of(NEW, BASE)
    assert ratio.p_value == pytest.approx(expected.pvalue)
    estimate = ratio.estimate()
    assert estimate.low == pytest.approx(math.exp(interval.low))
    assert estimate.high == pytest.approx(math.exp(interval.high))


def test_the_ratio_the_other_way_round_is_its_inverse_with_its_interval():
    there, back = IndependentRatio.of(NEW, BASE).estimate(), IndependentRatio.of(BASE, NEW).estimate()
    assert there.value == pytest.approx(1 / back.value)
    assert there.low == pytest.approx(1 / back.high)
    assert there.high == pytest.approx(1 / back.low)


def test_a_single_value_on_one_side_leaves_the_interval_open():
    ratio = IndependentRatio.of([110.0], BASE)
    assert ratio.p_value is None
    estimate = ratio.estimate()
    assert (estimate.low, estimate.high, estimate.n) == (None, None, 1)


def test_equal_samples_without_scatter_show_no_difference():
    ratio = IndependentRatio.of([5.0, 5.0], [5.0, 5.0])
    assert (ratio.p_value, ratio.estimate().low, ratio.estimate().high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -1.0], [1.0, math.inf], [1.0, math.nan]])
def test_what_has_no_logarithm_is_refused(values: list[float]):
    with pytest.raises(ValueError, match="ratio"):
        IndependentRatio.of(values, [1.0, 2.0])


def test_intervals_cover_the_true_ratio_when_the_samples_scatter_differently():
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(2_000):
        new = np.exp(random.normal(math.log(1.2), 0.02, 4))
        base = np.exp(random.normal(0.0, 0.06, 7))
        estimate = IndependentRatio.of(list(new), list(base)).estimate()
        covered += estimate.low < 1.2 < estimate.high
    assert 0.93 <= covered / 2_000 <= 0.97
