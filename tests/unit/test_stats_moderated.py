"""Moderated variances, against Smyth's formula by hand, other implementations and an analysis of variance."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.interval import estimate_over_trials
from loadcurve.stats.moderated import (
    FOR_RATIOS,
    BlockSpread,
    Borrowing,
    Variances,
    moderated,
    usual_degrees,
)
from loadcurve.stats.paired import block_means, paired_ratios
from loadcurve.stats.power import trials_to_show
from loadcurve.stats.ranking import Ranking, rank
from loadcurve.stats.servers import estimates_of_servers

TRUSTING = Borrowing(degrees_max=100, doubt=1e-9)
"""Takes as much as there is."""


def variances(*pairs: tuple[float, float]) -> Variances:
    values, degrees = np.array(pairs, dtype=float).T
    return Variances(values, degrees)


def test_the_posterior_variance_is_that_of_smyths_formula():
    # (d0 s0² + d s²) / (d0 + d) with d = 2, s² = 1, s0² = 4 and d0 = 6 / 2 = 3 is (3 * 4 + 2 * 1) / 5 = 2.8.
    found = moderated(variances((1, 2)), variances((4, 6)), TRUSTING)
    assert found.values == pytest.approx([2.8])
    assert found.degrees == pytest.approx([5])


def test_no_more_is_borrowed_than_is_missing_to_the_most():
    others = variances((2, 40), (2, 40), (2, 40))
    own = variances((2, 1), (2, 3), (2, 9))
    assert moderated(own, others, FOR_RATIOS).degrees == pytest.approx([4, 4, 9])


@pytest.mark.parametrize("quotient", [200.0, 0.001])
def test_less_is_borrowed_from_others_that_the_own_variance_contradicts(quotient: float):
    found = moderated(variances((quotient, 2)), variances((1, 12)), FOR_RATIOS)
    p_value = 2 * min(stats.f.cdf(quotient, 2, 12), stats.f.sf(quotient, 2, 12))
    assert p_value < FOR_RATIOS.doubt
    assert found.degrees == pytest.approx([2 + 2 * p_value / FOR_RATIOS.doubt])


@pytest.mark.parametrize("others", [(0.0, 4), (3.0, 0)])
def test_others_without_a_spread_lend_nothing(others: tuple[float, float]):
    found = moderated(variances((2, 1)), variances(others), FOR_RATIOS)
    assert (found.values.tolist(), found.degrees.tolist()) == ([2.0], [1.0])


def spread_of(logs: np.ndarray) -> tuple[np.ndarray, BlockSpread]:
    first, second = np.triu_indices(len(logs), 1)
    pairs = logs[first] - logs[second]
    return pairs, BlockSpread.of(pairs, logs.mean(axis=0), len(logs))


@pytest.mark.parametrize("blocks", [2, 3, 5])
def test_what_is_beside_a_pair_is_the_rest_of_an_analysis_of_variance(blocks: int):
    logs = np.random.default_rng(blocks).normal(size=(4, blocks))
    pairs, spread = spread_of(logs)
    beside = spread.beside(pairs[:1], np.array([2.0]), np.array([blocks - 1.0]))
    # An orthonormal basis of the servers' contrasts that begins with the pair, and of their mean.
    basis = np.array([[1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3], [1, 1, 1, 1]], dtype=float)
    basis /= np.linalg.norm(basis, axis=1, keepdims=True)
    squares = (basis @ logs).var(axis=1) * blocks
    rest = squares[1:] if blocks == 2 else squares[1:3]
    assert beside.values == pytest.approx([2 * rest.sum() / len(rest) / (blocks - 1)])
    assert beside.degrees == pytest.approx([len(rest) * (blocks - 1)])


def test_a_block_that_lacks_a_server_tells_nothing_of_the_spread():
    logs = np.random.default_rng(3).normal(size=(3, 4))
    whole = spread_of(logs[:, :3])[1]
    logs[2, 3] = math.nan
    cut = spread_of(logs)[1]
    assert (cut.between, cut.of_blocks) == (pytest.approx(whole.between), pytest.approx(whole.of_blocks))


def ratio_of(logs: np.ndarray, place: int = 0):
    pairs, spread = spread_of(logs)
    return paired_ratios(pairs, np.full(len(pairs), 2.0), spread)[place]


def test_two_trials_of_two_servers_are_compared_as_by_hand():
    logs = np.array([[0.70, 0.76], [0.02, -0.02]])
    # The differences 0.68 and 0.78 have the variance 0.005; the sums 0.72 and 0.74, at their scale, 0.0002.
    # One degree of freedom counts half: (0.005 + 0.5 * 0.0002) / 1.5 = 0.0034, of 1.5 degrees of freedom.
    ratio = ratio_of(logs)
    error = math.sqrt(0.0034 / 2)
    assert ratio.log_sd == pytest.approx(math.sqrt(0.0034))
    assert ratio.p_value == pytest.approx(2 * stats.t.sf(0.73 / error, 1.5))
    low, high = stats.t.interval(0.95, 1.5, 0.73, error)
    assert (ratio.estimate.low, ratio.estimate.high) == pytest.approx((math.exp(low), math.exp(high)))
    method = "geometric mean, moderated t on the logarithms, 1.5 degrees of freedom, 0.95"
    assert ratio.estimate.method == method


def test_from_five_trials_on_and_for_two_servers_from_three_on_the_test_is_students():
    draw = np.random.default_rng(1)
    for servers, blocks in ((2, 3), (2, 4), (3, 5), (6, 8)):
        logs = draw.normal(size=(servers, blocks))
        ratio = ratio_of(logs)
        assert ratio.p_value == pytest.approx(stats.ttest_rel(logs[0], logs[1]).pvalue)
        assert "Student's t" in ratio.estimate.method


def test_one_trial_has_no_spread_whatever_the_others_have():
    logs = np.array([[1.0, math.nan], [2.0, 2.1], [3.0, 3.2]])
    ratio = ratio_of(logs)
    assert (ratio.p_value, ratio.estimate.low, ratio.log_sd) == (None, None, None)


def test_an_estimate_of_two_trials_is_that_of_smyths_formula():
    servers = [[100.0, 110.0], [50.0, 57.0], [7.0, 7.2]]
    logs = [np.log(values) for values in servers]
    own = np.array([values.var(ddof=1) for values in logs])
    for place, estimate in enumerate(estimates_of_servers(servers)):
        others = np.delete(own, place).mean()
        quotient = own[place] / others
        # Of the two degrees of freedom one counts, and less by the p-value of the F test of both variances.
        borrowed = 2 * min(stats.f.cdf(quotient, 1, 2), stats.f.sf(quotient, 1, 2))
        variance = (borrowed * others + own[place]) / (borrowed + 1)
        ends = stats.t.interval(0.95, 1 + borrowed, logs[place].mean(), math.sqrt(variance / 2))
        assert (estimate.low, estimate.high) == pytest.approx(tuple(np.exp(ends)))
        assert "moderated" in estimate.method


@pytest.mark.parametrize(
    "servers",
    [
        [[100.0, 110.0]],
        [[100.0, 110.0], [50.0]],
        [[100.0, 110.0], [50.0, 0.0]],
        [[100.0, 110.0, 108.0], [50.0, 57.0, 53.0]],
        [[100.0, 110.0], [50.0, 50.0]],
        [[None, None], [50.0, 57.0]],
    ],
    ids=str,
)
def test_servers_that_have_nobody_to_borrow_from_or_need_not_are_estimated_alone(servers):
    assert estimates_of_servers(servers) == [estimate_over_trials(values) for values in servers]


def test_more_trials_for_fewer_degrees_of_freedom():
    # 1 own and half of 1, of 4 and of 9; 2 own and half of 2 * 4, of which 2 are missing to 4.
    found = [usual_degrees(2, 2), usual_degrees(2, 4), usual_degrees(2, 10), usual_degrees(3, 6)]
    assert found == [1.5, 2.5, 4, 4]


def of_logs(*servers: list[float]) -> Ranking:
    return rank({str(place): np.array([row]).T for place, row in enumerate(servers)}, "higher")


def test_a_pair_that_is_not_told_apart_says_how_many_trials_would_tell():
    # Cohen (1988): at 80 % and two-sided 5 %, pairs that differ by half a standard deviation take 34 of them.
    assert trials_to_show(0.5, 1.0) == 34
    assert trials_to_show(-0.8, 1.0) == 15
    alike = [0.5 * math.sqrt(4 / 5) + one for one in (-1, -1, 0, 1, 1)]
    [pair] = of_logs(alike, [0.0] * 5).pairs
    # Their mean is √(4 / 5) / 2 and their standard deviation 1: 0.447 of it.
    assert pair.trials_to_show == trials_to_show(0.5 * math.sqrt(4 / 5), 1.0) == 42


def test_a_pair_without_a_measured_difference_or_told_apart_needs_no_number():
    [equal] = of_logs([0.1, -0.1, 0.0], [0.0, 0.0, 0.0]).pairs
    [apart] = of_logs([1.0, 1.1, 1.05], [0.0, 0.05, 0.1]).pairs
    assert (equal.trials_to_show, apart.trials_to_show, apart.told_apart) == (None, None, True)


def test_ratios_of_tiers_are_moderated_as_those_of_pairs_are():
    ranking = of_logs([1.00, 1.04], [1.01, 1.03], [0.0, 0.05])
    ahead = ranking.tiers[0]
    assert set(ahead.servers) == {"0", "1"}
    assert "moderated" in ahead.to_next.method


def test_block_means_of_levels_leave_out_what_a_server_lacks():
    stack = np.array([[[1.0, 2.0]], [[3.0, math.nan]]])
    assert block_means(stack.mean(axis=0)) == pytest.approx([2.0])
