"""Judging claims about ratios, trends and peaks from trials."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.stats.claims import (
    Region,
    above_all,
    above_one,
    falling,
    grid_around,
    level,
    may_lie_beyond,
    peak_between,
    rising,
    within,
)
from loadcurve.stats.interval import Estimate, geometric_interval
from loadcurve.stats.peak import greatest

STUDIES = 400
MOST_WRONG = 0.05 + 3 * math.sqrt(0.05 * 0.95 / STUDIES)
"""Three standard errors above the rate of errors that is promised."""


def interval(low: float | None, high: float | None) -> Estimate:
    return Estimate(1.0, low, high, 5, "given")


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.2, 1.4, "replicated"),
        (1.31, 1.6, "cannot_tell"),
        (0.9, 1.2, "cannot_tell"),
        (0.9, 1.1, "not_replicated"),
        (1.5, 2.0, "not_replicated"),
        (None, None, "cannot_tell"),
    ],
)
def test_a_ratio_is_replicated_where_the_whole_interval_lies_within_its_margin(low, high, outcome):
    # 1.3 within 10 % is from 1.1818 to 1.43.
    assert within(interval(low, high), Region.around(1.3, 0.1)) == outcome


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (1.01, 1.02, "replicated"),
        (0.98, 1.04, "not_replicated"),
        (0.8, 0.99, "not_replicated"),
        (0.8, 1.04, "cannot_tell"),
        (0.98, 1.06, "cannot_tell"),
        (None, None, "cannot_tell"),
    ],
)
def test_a_ratio_above_one_is_contradicted_where_it_is_negligible(low, high, outcome):
    assert above_one(interval(low, high), 0.05) == outcome


def test_a_trend_is_contradicted_by_one_step_that_goes_the_other_way():
    rows = [[1.0 * f, 2.0 * f, 1.5 * f, 4.0 * f] for f in (1.0, 1.01, 0.99)]
    trend = rising(rows, 0.05)
    assert (trend.outcome, trend.ratio.value) == ("not_replicated", pytest.approx(4.0))
    assert trend.contrary_step is not None
    assert (trend.contrary_step[0], trend.contrary_step[1].value) == (1, pytest.approx(0.75))


def test_a_fall_is_a_rise_of_the_inverse_with_ratios_as_measured():
    rows = [[4.0 * f, 2.0 * f, 1.0 * f] for f in (1.0, 1.02, 0.98)]
    trend = falling(rows, 0.05)
    assert (trend.outcome, trend.ratio.value) == ("replicated", pytest.approx(0.25))
    assert rising(rows, 0.05).outcome == "not_replicated"


def test_a_figure_is_level_where_every_place_is_within_the_margin_of_the_first():
    steady = [[1.0 * f, 1.01 * f, 0.99 * f] for f in (1.0, 1.5, 2.0)]
    assert level(steady, 0.05).outcome == "replicated"
    bent = level([[1.0 * f, 1.3 * f, 0.99 * f] for f in (1.0, 1.5, 2.0)], 0.05)
    assert (bent.outcome, bent.ratio.value) == ("not_replicated", pytest.approx(1.3))
    assert level([[1.0, 1.3, 0.8], [1.0, 0.8, 1.3]], 0.05).outcome == "cannot_tell"


@given(st.floats(1e-3, 1e3), st.floats(1.0, 10.0))
def test_the_inverse_of_a_ratio_exchanges_its_ends(value, spread):
    ratio = Estimate(value, value / spread, value * spread, 5, "given")
    assert ratio.inverted.inverted.low == pytest.approx(ratio.low)
    assert ratio.inverted.low == pytest.approx(1 / ratio.high)


ratios = st.builds(
    lambda value, spread: Estimate(value, value / spread, value * spread, 5, "given"),
    st.floats(0.2, 5.0),
    st.floats(1.0001, 3.0),
)
margins = st.floats(0.01, 0.5)
curves = st.integers(2, 5).flatmap(
    lambda places: st.lists(
        st.lists(st.floats(0.1, 10.0), min_size=places, max_size=places), min_size=2, max_size=6
    )
)


@given(ratios, margins)
def test_of_two_servers_only_one_is_greater(ratio, margin):
    both = {above_one(ratio, margin), above_one(ratio.inverted, margin)}
    assert both in ({"replicated", "not_replicated"}, {"not_replicated"}, {"cannot_tell"})


@given(ratios, st.floats(0.2, 5.0), margins, margins)
def test_a_wider_margin_takes_back_no_replication_of_a_ratio(ratio, claimed, margin, more):
    if within(ratio, Region.around(claimed, margin)) == "replicated":
        assert within(ratio, Region.around(claimed, margin + more)) == "replicated"


@given(curves, margins)
def test_a_curve_falls_as_its_mirror_image_rises(rows, margin):
    falls = falling(rows, margin)
    assert falls.outcome == rising([row[::-1] for row in rows], margin).outcome
    assert falls.outcome == rising([[1 / value for value in row] for row in rows], margin).outcome


@given(curves, margins)
def test_a_curve_that_rises_does_not_fall(rows, margin):
    assert not rising(rows, margin).outcome == falling(rows, margin).outcome == "replicated"


@pytest.mark.parametrize(("errors_below", "outcome"), [(3.3, "cannot_tell"), (6.0, "not_replicated")])
def test_one_of_several_ratios_contradicts_only_at_its_part_of_the_level(errors_below, outcome):
    # The standard deviation is 0.01 over five blocks. Student's t with 4 degrees of freedom reaches 2.78
    # standard errors at 5 %, and at a quarter of that between 3.75 (its 2 %) and 4.60 (its 1 %).
    scatter = [-0.01, -0.01, 0.0, 0.01, 0.01]
    one = [-errors_below * 0.01 / math.sqrt(5) + deviation for deviation in scatter]
    others = [[0.5 + deviation for deviation in scatter]] * 3
    assert above_all([one, *others], 0.001)[0] == outcome
    assert above_all(others, 0.001)[0] == "replicated"


def test_a_peak_is_found_no_more_precisely_than_the_loads_around_it():
    assert grid_around([1, 10, 50, 100, 200], 100) == (50, 200)
    assert grid_around([1, 10, 50], 30) == (10, 50)
    assert grid_around([1, 10], 10) == (1, 10)
    assert grid_around([1, 10], 11) is None
    assert grid_around([1, 10], 0.5) is None


@pytest.mark.parametrize(
    ("loads", "values", "beyond"),
    [
        ([1.0, 2.0, 3.0], [1, 2, 3], True),
        ([1.0, 2.0, 3.0], [1, 3, 2], False),
        ([10.0, 20.0, 30.0], [3, 2, 1], True),
        # There is no load below one connection.
        ([1.0, 2.0, 3.0], [3, 2, 1], False),
    ],
)
def test_a_peak_at_an_open_end_of_the_sweep_may_lie_beyond_it(loads, values, beyond):
    top = greatest(loads, [[value * f for value in values] for f in (1.0, 1.01, 0.99)])
    assert top is not None
    assert may_lie_beyond(top, loads) == beyond


def test_a_peak_is_judged_by_every_load_that_may_be_the_greatest():
    loads = [1.0, 2.0, 3.0, 4.0]
    top = greatest(loads, [[1 * f, 5 * f, 3 * f, 1 * f] for f in (1.0, 1.01, 0.99)])
    assert top is not None
    assert top.alike == (2.0,)
    assert peak_between(top, 1, 3) == "replicated"
    assert peak_between(top, 3, 4) == "not_replicated"
    single = greatest(loads, [[1, 5, 3, 1]])
    assert single is not None
    assert peak_between(single, 1, 3) == "cannot_tell"


def noise(generator: random.Random, trials: int, places: int) -> list[list[float]]:
    """Trials of a curve that is level in truth, and scatters by 15 %."""
    return [[math.exp(generator.gauss(0, 0.15)) for _ in range(places)] for _ in range(trials)]


@pytest.mark.parametrize("trials", [3, 5])
def test_claims_about_noise_cannot_be_decided_in_95_of_100_studies(trials):
    generator = random.Random(7)
    decided = dict.fromkeys(("rises", "falls", "level", "peak", "greater"), 0)
    for _ in range(STUDIES):
        rows = noise(generator, trials, 6)
        decided["rises"] += rising(rows, 0.05).outcome != "cannot_tell"
        decided["falls"] += falling(rows, 0.05).outcome != "cannot_tell"
        decided["level"] += level(rows, 0.05).outcome != "cannot_tell"
        top = greatest(range(6), rows)
        assert top is not None
        decided["peak"] += peak_between(top, 2, 4) != "cannot_tell"
        ratio = geometric_interval([row[0] / row[1] for row in rows])
        decided["greater"] += above_one(ratio, 0.05) != "cannot_tell"
    assert max(decided.values()) <= MOST_WRONG * STUDIES, decided
