"""Ratios of independent samples, held against scipy's own test of Welch."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.independent import IndependentRatio

NEW = [101.0, 97.5, 108.2, 99.1]
BASE = [88.0, 91.5, 86.1, 93.0, 90.2, 84.4]


def test_interval_and_p_value_are_those_of_welchs_test_of_the_logarithms():
    expected = stats.ttest_ind(np.log(NEW), np.log(BASE), equal_var=False)
    interval = expected.confidence_interval(0.95)
    ratio = IndependentRatio.of(NEW, BASE)
    assert ratio.p_value == pytest.approx(expected.pvalue)
    estimate = ratio.estimate
    assert (estimate.value, estimate.n) == (pytest.approx(stats.gmean(NEW) / stats.gmean(BASE)), len(NEW))
    assert (estimate.low, estimate.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)))


def test_a_single_value_on_one_side_leaves_the_interval_open():
    ratio = IndependentRatio.of([110.0], BASE)
    assert ratio.p_value is None
    estimate = ratio.estimate
    assert (estimate.low, estimate.high, estimate.n) == (None, None, 1)


def test_equal_samples_without_scatter_show_no_difference():
    ratio = IndependentRatio.of([5.0, 5.0], [5.0, 5.0])
    assert (ratio.p_value, ratio.estimate.low, ratio.estimate.high) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -1.0], [1.0, math.inf], [1.0, math.nan]])
def test_what_has_no_logarithm_is_refused(values: list[float]):
    with pytest.raises(ValueError, match="ratio"):
        IndependentRatio.of(values, [1.0, 2.0])
