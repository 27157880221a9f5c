"""The test that a gate makes after each block, and what it promises."""

import math

import numpy as np
import pytest
from benches.gate_simulation import MACHINES, Case, outcomes
from scipy import stats

from loadcurve.analysis.gated import plan_of
from loadcurve.stats.sequential import (
    LEAST_PLANNED,
    GatePlan,
    judge,
    more_blocks,
    smallest_seen,
)
from loadcurve.stats.spending import LEAST_BLOCKS, nominal_levels

PLAN = GatePlan(math.log(1.03), 40, 5)


def around(mean: float, blocks: int, sd: float = 0.001) -> np.ndarray:
    """Blocks that alternate around a mean."""
    return np.array([mean + sd * (-1) ** place for place in range(blocks)])


def test_a_test_of_one_look_spends_all_of_its_level_there():
    assert nominal_levels(0.05, LEAST_BLOCKS) == (0.05,)


def test_the_second_look_spends_what_the_first_has_left():
    first, second = nominal_levels(0.05, LEAST_BLOCKS + 1)
    assert first == pytest.approx(0.05 * (LEAST_BLOCKS / (LEAST_BLOCKS + 1)) ** 2)
    # Neither crosses its bound with the probability that the bivariate normal distribution gives.
    correlation = math.sqrt(LEAST_BLOCKS / (LEAST_BLOCKS + 1))
    bounds = -stats.norm.ppf([first, second])
    neither = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(bounds)
    assert neither == pytest.approx(0.95, abs=1e-4)


def test_a_test_without_a_look_is_refused():
    with pytest.raises(ValueError, match="no look"):
        nominal_levels(0.05, LEAST_BLOCKS - 1)


def test_equal_builds_are_ruled_out_to_be_worse():
    judged = judge(PLAN, around(0.0, 40))
    assert judged.answer == "ruled_out"
    assert judged.confirmation is None
    assert judged.decided_after is not None
    assert judged.decided_after < 10


def test_a_regression_is_shown_by_two_draws_that_share_no_block():
    judged = judge(PLAN, around(0.1, 40))
    assert judged.answer == "regression"
    assert judged.confirmation is not None
    assert judged.first.blocks + judged.confirmation.blocks == judged.decided_after


def test_what_the_second_draw_does_not_show_does_not_fail():
    judged = judge(PLAN, np.concatenate([around(0.1, 6), around(0.0, 34)]))
    assert judged.confirmation is not None
    assert judged.answer == "ruled_out"


def test_what_was_not_measured_again_has_no_figure_of_that():
    judged = judge(PLAN, around(0.1, LEAST_BLOCKS))
    assert (judged.answer, judged.first.blocks) == ("open", LEAST_BLOCKS)
    assert (judged.confirmation.blocks, judged.confirmation.mean) == (0, None)
    # By the spread of the first draw the first look of the second one is enough.
    assert more_blocks(PLAN, judged) == LEAST_BLOCKS


def test_a_difference_that_is_shown_and_smaller_than_the_limit_is_no_regression():
    assert judge(PLAN, around(0.01, 40)).answer == "ruled_out"


def test_a_block_without_a_figure_says_nothing():
    values = around(0.1, 40)
    with_gaps = np.full(80, np.nan)
    with_gaps[::2] = values
    whole, gaps = judge(PLAN, values), judge(PLAN, with_gaps)
    assert gaps.first == whole.first
    assert gaps.answer == whole.answer
    assert judge(PLAN, np.full(40, np.nan)).answer == "open"


def test_more_blocks_are_named_where_they_would_decide():
    judged = judge(PLAN, around(0.02, 40, sd=0.05))
    assert judged.answer == "open"
    more = more_blocks(PLAN, judged)
    # About (2 · 0.05 / 0.0096)² blocks in all.
    assert more is not None
    assert 50 < more < 100
    # Where a quarter of the blocks has a figure of both, each such block costs four.
    assert more_blocks(PLAN, judged, 0.25) == 4 * more
    assert more_blocks(PLAN, judged, 0.01) is None
    at_the_limit = judge(PLAN, around(PLAN.least - 1e-6, 40, sd=0.05))
    assert more_blocks(PLAN, at_the_limit) is None


def test_the_smallest_visible_difference_is_never_below_the_limit_and_grows_with_the_spread():
    assert smallest_seen(PLAN, 1e-6) == PLAN.least
    # In 16 blocks for the confirmation about 2.7 standard errors, in 24 for the first draw about 3.6.
    assert smallest_seen(PLAN, 0.1) == pytest.approx(3.6 * 0.1 / math.sqrt(24), rel=0.1)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.name)
def test_gates_of_equal_builds_fail_in_at_most_one_of_a_hundred(machine):
    assert outcomes(machine, Case(0.0, 0.03), gates=200, blocks=45, seed=7).failed <= 0.01


def test_the_load_and_its_requests_have_half_of_the_error_rate_each():
    record = Case(0.0, 0.03, requests=10).record(45)
    of_load, of_request = plan_of(record).shown_level, plan_of(record, None, "GET /0").shown_level
    assert 5 * of_load == pytest.approx(0.025)
    assert 10 * 2 * of_request == pytest.approx(0.025)
    # Without requests, the load has all of it.
    assert 5 * plan_of(Case(0.0, 0.03).record(45)).shown_level == pytest.approx(0.05)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda one: one.name)
def test_gates_of_equal_builds_with_ten_requests_fail_as_rarely_as_those_of_one(machine):
    # 25 figures, each independent of the others, which is the worst case.
    gates = 400
    found = outcomes(machine, Case(0.0, 0.03, requests=10), gates=gates, blocks=45, seed=11)
    assert found.failed <= 0.01
    # The first draw errs in 5 % of gates at most, of which these many allow what chance adds to 20.
    assert found.suspected <= stats.binom.ppf(0.9999, gates, 0.05) / gates


def test_ten_requests_leave_the_gates_power_to_see_a_regression_of_one():
    found = outcomes(MACHINES[0], Case(0.10, 0.03, requests=10), gates=200, blocks=45, seed=12)
    assert found.failed >= 0.9


def test_nine_of_ten_gates_find_a_regression_of_5_percent_at_a_spread_of_5_percent():
    found = outcomes(MACHINES[0], Case(0.05, 0.03), gates=200, blocks=45, seed=8)
    assert found.failed >= 0.9


def test_the_shortest_gate_can_show_a_great_regression():
    judged = judge(GatePlan(math.log(1.03), LEAST_PLANNED, 5), around(0.5, LEAST_PLANNED, sd=0.01))
    assert judged.answer == "regression"
