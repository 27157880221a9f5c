"""Ratios of figures as small and as large as numbers can be: a ratio is a number, or absent."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.analysis.change import Change
from loadcurve.report.comparison import ratio_in_words
from loadcurve.report.leader import leader_words
from loadcurve.report.ranking_words import in_words
from loadcurve.result.measures import THROUGHPUT
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.interval import Estimate
from loadcurve.stats.ranking import rank

FIGURES = st.floats(1e-320, 1e308, allow_subnormal=True)
TABLES = st.integers(1, 4).flatmap(
    lambda blocks: st.lists(st.lists(FIGURES, min_size=blocks, max_size=blocks), min_size=2, max_size=4)
)


def assert_finite(estimate: Estimate | None) -> None:
    for one in [] if estimate is None else [estimate, estimate.inverted]:
        assert all(end is None or math.isfinite(end) for end in (one.value, one.low, one.high))


@given(TABLES)
def test_a_ranking_of_any_figures_has_finite_ratios_or_none(tables: list[list[float]]):
    logs = {f"server-{place}": np.log(np.array(row))[:, None] for place, row in enumerate(tables)}
    ranking = rank(logs, "higher")
    for estimate in [*(pair.ratio for pair in ranking.pairs), *(tier.to_next for tier in ranking.tiers)]:
        assert_finite(estimate)
    assert in_words(ranking, THROUGHPUT)
    assert not ranking.decides or leader_words(ranking, THROUGHPUT)


@given(st.lists(FIGURES, min_size=1, max_size=4), st.lists(FIGURES, min_size=1, max_size=4))
def test_a_change_between_any_figures_is_a_finite_ratio_or_none(new: list[float], base: list[float]):
    change = Change("nginx", THROUGHPUT, None, IndependentRatio.of(new, base))
    assert_finite(change.ratio.estimate)
    assert ratio_in_words(change)
    assert (change.worse_by > 0) == (change.ratio.logarithm < 0)


def test_a_small_change_that_is_shown_does_not_read_as_none():
    base = [56.40, 56.41, 56.39, 56.40]
    small = Change("nginx", THROUGHPUT, None, IndependentRatio.of([one * 0.998 for one in base], base))
    assert small.shown
    assert ratio_in_words(small) == "0.998 (0.998 to 0.998)"
    none = Change("nginx", THROUGHPUT, None, IndependentRatio.of(base, base))
    assert ratio_in_words(none) == "1.00 (1.00 to 1.00)"


def test_servers_beyond_any_ratio_are_ranked_without_a_number():
    logs = {"slow": np.log([[1e-300], [1.1e-300]]), "fast": np.log([[1.1e300], [1e300]])}
    ranking = rank(logs, "higher")
    assert [one.server for one in ranking.ranks] == ["fast", "slow"]
    [pair] = ranking.pairs
    assert (pair.ratio, pair.told_apart) == (None, True)
    assert leader_words(ranking, THROUGHPUT) == (
        "fast has the higher throughput, an out-of-range multiple of that of slow"
    )
