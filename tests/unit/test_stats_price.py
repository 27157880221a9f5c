"""What requests cost, and who is the cheapest where."""

import pytest

from loadcurve.stats.interval import Estimate
from loadcurve.stats.price import Offer, cheapest, cost


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
