"""The interval over trials, against a textbook, another implementation and its own promise."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.interval import Estimate, geometric_interval, mean_interval


def test_one_trial_gives_its_value_without_an_interval():
    estimate = mean_interval([41.5])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (41.5, None, None, 1)


def test_the_interval_reaches_as_far_as_the_tabulated_t_times_the_standard_error():
    # t(0.975, 4) = 2.776 in every table; the values have mean 3 and variance 10 / 4.
    estimate = mean_interval([1, 2, 3, 4, 5])
    reach = 2.776 * (2.5 / 5) ** 0.5
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((3 - reach, 3, 3 + reach), rel=1e-3)


def test_two_trials_use_the_t_value_of_one_degree_of_freedom():
    # t(0.975, 1) = tan(0.475 pi) = 12.706; the standard error of (0, 2) is 1.
    estimate = mean_interval([0.0, 2.0])
    assert (estimate.low, estimate.high) == pytest.approx((1 - 12.706205, 1 + 12.706205), rel=1e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_interval_equals_scipys(confidence: float):
    values = [103.2, 99.8, 101.1, 97.4, 104.9, 100.3]
    expected = stats.t.interval(confidence, len(values) - 1, np.mean(values), stats.sem(values))
    estimate = mean_interval(values, confidence)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-9)


def test_equal_trials_give_an_interval_of_no_width():
    estimate = mean_interval([7.0, 7.0, 7.0])
    assert (estimate.low, estimate.high) == (7.0, 7.0)


def test_the_interval_covers_the_truth_in_19_of_20_studies():
    # 2000 studies: the share's standard error is 0.5 %, and four of them are allowed.
    truth = 1000.0
    studies = np.random.default_rng(20).normal(truth, 30.0, size=(2000, 5)).tolist()
    intervals = [mean_interval(trials) for trials in studies]
    covered = sum(i.low is not None and i.high is not None and i.low <= truth <= i.high for i in intervals)
    assert covered / len(studies) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("values", "confidence"), [([], 0.95), ([1.0, float("nan")], 0.95), ([1.0, 2.0], 1.0), ([1.0, 2.0], 0.0)]
)
def test_what_has_no_estimate_is_refused(values: list[float], confidence: float):
    with pytest.raises(ValueError, match=r"value|finite|confidence"):
        mean_interval(values, confidence)


def test_the_geometric_mean_of_halves_and_doubles_is_between_them_by_ratio():
    # ln 1, ln 2 and ln 4 have mean ln 2 and s = ln 2; t(0.975, 2) = 4.302653 in every table.
    estimate = geometric_interval([1.0, 2.0, 4.0])
    reach = math.exp(4.302653 * math.log(2) / 3**0.5)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((2, 2 / reach, 2 * reach), rel=1e-6)
    assert estimate.n == 3


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_geometric_interval_equals_scipys_of_the_logarithms(confidence: float):
    values = [103.2, 99.8, 101.1, 97.4, 104.9, 100.3]
    logs = np.log(values)
    expected = np.exp(stats.t.interval(confidence, len(logs) - 1, np.mean(logs), stats.sem(logs)))
    estimate = geometric_interval(values, confidence)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected), rel=1e-9)
    assert estimate.value == pytest.approx(stats.gmean(values))


def test_the_geometric_interval_of_a_positive_figure_never_reaches_below_zero():
    estimate = geometric_interval([0.01, 100.0])
    assert estimate.low is not None
    assert estimate.low > 0


def test_one_trial_has_no_geometric_interval_either():
    estimate = geometric_interval([41.5])
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(41.5), None, None)
    assert estimate.relative_half_width is None


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0], [1.0, float("nan")]])
def test_what_has_no_geometric_mean_is_refused(values: list[float]):
    with pytest.raises(ValueError, match=r"value|finite"):
        geometric_interval(values)


def test_the_relative_half_width_is_that_of_the_farther_end():
    assert Estimate(100.0, 90.0, 112.0, 3, "").relative_half_width == pytest.approx(0.12)
    assert Estimate(100.0, 85.0, 112.0, 3, "").relative_half_width == pytest.approx(0.15)
    assert Estimate(0.0, -1.0, 1.0, 3, "").relative_half_width is None
