"""The interval over trials, against another implementation; test_stats_simulation.py has its promise."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.interval import Estimate, geometric_interval, mean_interval

VALUES = [103.2, 99.8, 101.1, 97.4, 104.9, 100.3]


@pytest.mark.parametrize("values", [VALUES, VALUES[:2]])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_interval_equals_scipys(confidence: float, values: list[float]):
    expected = stats.t.interval(confidence, len(values) - 1, np.mean(values), stats.sem(values))
    estimate = mean_interval(values, confidence)
    assert (estimate.low, estimate.high) == pytest.approx(expected, rel=1e-9)
    assert (estimate.value, estimate.n) == (pytest.approx(np.mean(values)), len(values))


@pytest.mark.parametrize("interval", [mean_interval, geometric_interval])
def test_one_trial_gives_its_value_without_an_interval(interval: Callable[..., Estimate]):
    estimate = interval([41.5])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (pytest.approx(41.5), None, None, 1)
    assert estimate.relative_half_width is None


def test_equal_trials_give_an_interval_of_no_width():
    estimate = mean_interval([7.0, 7.0, 7.0])
    assert (estimate.low, estimate.high) == (7.0, 7.0)


@pytest.mark.parametrize("interval", [mean_interval, geometric_interval])
@pytest.mark.parametrize(
    ("values", "confidence"), [([], 0.95), ([1.0, math.nan], 0.95), ([1.0, 2.0], 1.0), ([1.0, 2.0], 0.0)]
)
def test_what_has_no_estimate_is_refused(interval: Callable[..., Estimate], values, confidence: float):
    with pytest.raises(ValueError, match=r"value|finite|confidence"):
        interval(values, confidence)


@pytest.mark.parametrize("value", [0.0, -2.0])
def test_what_has_no_logarithm_has_no_geometric_mean(value: float):
    with pytest.raises(ValueError, match=r"value|finite"):
        geometric_interval([1.0, value])


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_geometric_interval_equals_scipys_of_the_logarithms(confidence: float):
    logs = np.log(VALUES)
    expected = np.exp(stats.t.interval(confidence, len(logs) - 1, np.mean(logs), stats.sem(logs)))
    estimate = geometric_interval(VALUES, confidence)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(expected), rel=1e-9)
    assert estimate.value == pytest.approx(stats.gmean(VALUES))


def test_the_geometric_interval_of_a_positive_figure_never_reaches_below_zero():
    estimate = geometric_interval([0.01, 100.0])
    assert estimate.low > 0


def test_the_relative_half_width_is_that_of_the_farther_end():
    assert Estimate(100.0, 90.0, 112.0, 3, "").relative_half_width == pytest.approx(0.12)
    assert Estimate(100.0, 85.0, 112.0, 3, "").relative_half_width == pytest.approx(0.15)
    assert Estimate(0.0, -1.0, 1.0, 3, "").relative_half_width is None
