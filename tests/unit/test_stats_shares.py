"""Shares counted over trials: intervals of one and of differences, held against publications and chance."""

import numpy as np
import pytest

from loadcurve.stats.shares import CountedShare, ShareDifference, hybrid_ends, score_ends, share_interval

NORMAL = 1.959964
"""The quantile of publications, which have single draws in place of trials."""
WHOLE = 5_000


def shares(base: list[int], new: list[int], whole: int = WHOLE) -> ShareDifference:
    counted = [CountedShare(parts, [whole] * len(parts)) for parts in (new, base)]
    return ShareDifference(*counted)


@pytest.mark.parametrize(
    ("part", "whole", "ends"),
    [
        # Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_the_score_interval_is_the_published_one(part, whole, ends):
    assert score_ends(part / whole, whole, NORMAL) == pytest.approx(ends, abs=5e-5)


@pytest.mark.parametrize(
    ("new", "base", "ends"),
    [
        # Newcombe, "Interval estimation for the difference between independent proportions", 1998, table II,
        # method 10.
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((10, 10), (0, 10), (0.6075, 1.0)),
    ],
)
def test_the_interval_of_a_difference_is_the_published_one(new, base, ends):
    found = hybrid_ends((new[0] / new[1], new[1]), (base[0] / base[1], base[1]), NORMAL)
    assert found == pytest.approx(ends, abs=5e-5)


def test_trials_that_differ_no_more_than_draws_have_no_design_effect():
    assert shares([10, 10, 10], [30, 30, 30]).design_effect == 1


def test_the_design_effect_is_pearsons_statistic_over_its_degrees_of_freedom():
    # Of 60 in 15,000: (20² + 20² + 40²) / (5,000 · 0.004 · 0.996) over two degrees of each side.
    assert shares([0, 0, 0], [0, 0, 60]).design_effect == pytest.approx(2_400 / (20 * 0.996) / 4)


@pytest.mark.parametrize(
    ("base", "new", "is_shown"),
    [
        ([0, 0, 0], [20, 20, 20], True),
        # The same number, of one trial alone.
        ([0, 0, 0], [0, 0, 60], False),
        # Too few for any difference, although the trials do not differ at all.
        ([0, 0, 0], [1, 1, 1], False),
        ([20, 20, 20], [0, 0, 0], True),
        ([0, 0, 0], [0, 0, 0], False),
    ],
)
def test_a_difference_is_shown_by_trials_that_agree_and_enough_errors(base, new, is_shown):
    difference = shares(base, new)
    found = difference.estimate_at()
    assert found.value == pytest.approx((sum(new) - sum(base)) / 15_000)
    assert (found.low > 0 or found.high < 0) == is_shown
    assert (difference.p_value < 0.05) == is_shown


@pytest.mark.parametrize(("base", "new"), [([3, 9, 6], [15, 22, 11]), ([30, 21, 25], [9, 3, 5])])
def test_the_p_value_is_the_error_rate_at_which_the_interval_ends_at_zero(base, new):
    difference = shares(base, new)
    ends = difference.estimate_at(1 - difference.p_value)
    assert min(abs(ends.low), abs(ends.high)) == pytest.approx(0, abs=1e-9)


def test_one_trial_on_a_side_has_no_interval():
    difference = shares([5], [50, 50, 50])
    assert difference.p_value is None
    assert (difference.estimate_at().low, difference.estimate_at().high) == (None, None)
    assert share_interval(CountedShare([5], [100])).low is None


def test_no_errors_among_few_requests_bound_little():
    # None of 2 · 10: the score interval ends at t² / (20 + t²), with t of one degree, 12.7062.
    few = share_interval(CountedShare([0, 0], [10, 10]))
    assert (few.low, few.high) == pytest.approx((0, 12.7062**2 / (20 + 12.7062**2)))


def test_of_equal_servers_at_most_five_per_cent_of_differences_are_shown():
    # Trials whose own shares differ by a factor of e^0.5, which draws of single requests do not explain.
    random = np.random.default_rng(4)
    own = 0.01 * np.exp(0.5 * random.standard_normal((400, 2, 3)))
    counts = random.binomial(WHOLE, own)
    found = [shares(*pair.tolist()).estimate_at() for pair in counts]
    shown = sum(one.low > 0 or one.high < 0 for one in found)
    # Of 400 at 5 %, 32 or more come in one of 200 series.
    assert shown < 32


@pytest.mark.parametrize(("parts", "wholes"), [([], []), ([1], [0]), ([2], [1]), ([1], [1, 1]), ([-1], [1])])
def test_what_is_no_share_is_refused(parts, wholes):
    with pytest.raises(ValueError, match="whole"):
        CountedShare(parts, wholes)
