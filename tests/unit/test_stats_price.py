"""What requests cost, and who is to be taken where."""

import numpy as np
import pytest

from loadcurve.stats.interval import Estimate
from loadcurve.stats.price import Leader, Offer, cheapest, cost, leaders


def test_requests_per_dollar_and_dollars_per_million_are_arithmetic_on_the_throughput():
    # 1000 requests/s for an hour are 3.6 million for 0.0116 $.
    found = cost(Estimate(1_000, 900, 1_100, 5, "t"), 0.0116)
    assert found.requests_per_usd.value == pytest.approx(3.6e6 / 0.0116)
    assert found.usd_per_million_requests.value == pytest.approx(0.0116 / 3.6)
    assert found.requests_per_usd.low == pytest.approx(0.9 * 3.6e6 / 0.0116)
    # The least throughput costs the most, and the greatest the least.
    assert found.usd_per_million_requests.high == pytest.approx(0.0116 / 3.6 / 0.9)
    assert found.usd_per_million_requests.low == pytest.approx(0.0116 / 3.6 / 1.1)
    assert found.usd_per_million_requests.n == 5


def test_a_throughput_without_an_interval_gives_a_cost_without_one():
    found = cost(Estimate(1_000, None, None, 1, "t"), 0.0116)
    assert (found.requests_per_usd.low, found.usd_per_million_requests.high) == (None, None)


def test_the_cheapest_serves_as_far_as_it_can_and_then_the_next_one():
    small, medium, large = Offer("s", 0.01, 600), Offer("m", 0.05, 1_000), Offer("l", 0.1, 1_200)
    assert cheapest([large, small, medium]) == [small, medium, large]


def test_an_offer_that_does_no_more_than_a_cheaper_one_is_left_out():
    small, dear = Offer("s", 0.01, 600), Offer("d", 0.05, 600)
    assert cheapest([dear, small]) == [small]
    assert cheapest([Offer("a", 0.01, 500), Offer("b", 0.01, 600)]) == [Offer("b", 0.01, 600)]
    assert cheapest([Offer("none", 0.01, 0)]) == []


def values(curves: dict[str, list[float]], blocks: int = 5) -> dict[str, dict[int, list[float]]]:
    random = np.random.default_rng(3)
    drift = np.exp(random.normal(0, 0.2, blocks))
    return {
        server: {b: (drift[b] * np.array(curve) * np.exp(random.normal(0, 0.01, len(curve)))).tolist()
                 for b in range(blocks)}
        for server, curve in curves.items()
    }  # fmt: skip


def test_who_leads_changes_where_the_curves_cross():
    found = leaders([1, 10, 100, 1000], values({"a": [10, 20, 20, 20], "b": [5, 15, 30, 40]}))
    assert found == [Leader("a", 10, ()), Leader("b", 1000, ())]


def test_servers_that_cannot_be_told_apart_share_a_range():
    a = {0: [10.0, 20.0, 30.0], 1: [10.2, 20.2, 30.2], 2: [10.0, 20.0, 30.0], 3: [10.0, 20.0, 30.0]}
    b = {0: [10.1, 20.1, 30.1], 1: [10.0, 20.0, 30.0], 2: [9.9, 19.9, 29.9], 3: [10.1, 20.1, 30.1]}
    worse = {block: [5.0, 5.0, 5.0] for block in a}
    assert leaders([1, 10, 100], {"worse": worse, "b": b, "a": a}) == [Leader("a", 100, ("b",))]


def test_a_server_that_is_within_the_noise_at_one_load_does_not_split_a_range():
    found = leaders([1, 10, 100], values({"a": [10, 20, 30], "b": [9, 20.02, 25]}))
    assert found == [Leader("a", 100, ())]


def test_a_load_that_no_server_measured_is_passed_over():
    missing = {server: {0: [1.0, None, one], 1: [1.0, None, one]} for server, one in (("a", 2.0), ("b", 1.0))}
    assert [leader.up_to for leader in leaders([1, 2, 3], missing)] == [1, 3]


def test_nobody_leads_where_one_trial_alone_has_measured():
    once = {"a": {0: [3.0, 3.0]}, "b": {0: [1.0, 1.0]}}
    assert leaders([1, 2], once) == []
    partly = {server: {0: row[0], 1: [row[0][0], None]} for server, row in once.items()}
    assert [leader.up_to for leader in leaders([1, 2], partly)] == [1]
