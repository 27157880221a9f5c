"""The order of the trials."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from loadcurve.runs.points import trial_order

NAMES = st.lists(st.text("abcdefgh", min_size=1), min_size=1, max_size=6, unique=True)
SEEDS = st.integers(min_value=0, max_value=2**64 - 1)
TRIALS = st.integers(min_value=1, max_value=8)


@given(NAMES, TRIALS, SEEDS)
def test_each_block_holds_each_server_once(servers, trials, seed):
    order = trial_order(servers, trials, seed)
    blocks = [[planned.server for planned in order if planned.block == block] for block in range(trials)]
    assert [sorted(block) for block in blocks] == [sorted(servers)] * trials
    assert len(order) == trials * len(servers)


@given(NAMES, TRIALS, SEEDS)
def test_trials_are_numbered_in_their_order_and_blocks_do_not_interleave(servers, trials, seed):
    order = trial_order(servers, trials, seed)
    assert [planned.trial for planned in order] == list(range(len(order)))
    assert [planned.block for planned in order] == sorted(planned.block for planned in order)


@given(NAMES, TRIALS, SEEDS)
def test_the_same_seed_gives_the_same_order(servers, trials, seed):
    assert trial_order(servers, trials, seed) == trial_order(servers, trials, seed)


@given(NAMES, TRIALS, SEEDS)
def test_more_trials_continue_the_order_of_fewer(servers, trials, seed):
    fewer = trial_order(servers, trials, seed)
    assert trial_order(servers, trials + 1, seed)[: len(fewer)] == fewer


def test_seeds_give_different_orders():
    # Five blocks of four servers have 24 ** 5, almost 8 million, orders: 100 seeds hardly ever share one.
    orders = {tuple(planned.server for planned in trial_order("abcd", 5, seed)) for seed in range(100)}
    assert len(orders) >= 99


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_server_takes_each_place_about_equally_often(place):
    seeds = 3000
    taken = Counter(trial_order(["nginx", "apache", "limit"], 1, seed)[place].server for seed in range(seeds))
    low, high = binom.interval(1 - 1e-6, seeds, 1 / 3)
    assert all(low <= taken[server] <= high for server in ("nginx", "apache", "limit"))
