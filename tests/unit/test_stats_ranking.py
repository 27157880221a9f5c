"""Paired ratios and rankings, against arithmetic and other implementations."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.analysis.curves import curves, usable_logs
from loadcurve.analysis.ranking import RunRanking, rank_run
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES
from loadcurve.stats.paired import Logs, PairedRatio, block_means, paired_ratios
from loadcurve.stats.ranking import Ranking, holm_adjusted, rank
from support import synthetic_run as synthetic

THROUGHPUT = MEASURES["throughput"]
AT = {float(connections): place for place, connections in enumerate(synthetic.CONNECTIONS)}
"""The place of each point in the sweep."""


def one_point(**trials: list[float | None]) -> Logs:
    """The logarithms of each server's values block by block; None where a block has none that is usable."""
    return {server: np.log(np.array([values], dtype=float)).T for server, values in trials.items()}


def ratio_of(values: Logs, first: str, second: str) -> PairedRatio:
    [ratio] = paired_ratios(block_means(values[first] - values[second])[None, :])
    assert ratio is not None
    return ratio


def ranked(run: Run) -> RunRanking:
    return rank_run(curves(run), THROUGHPUT)


def ranges(ranking: Ranking) -> dict[str, tuple[int, int]]:
    return {rank.server: (rank.best, rank.worst) for rank in ranking.ranks}


def test_blocks_that_no_point_connects_are_no_evidence_that_they_agree():
    first = np.array([[2.0, 3.0, np.nan], [np.nan, np.nan, 7.0]])
    means = block_means(first - 1.0)
    # Nothing says how a block at other points differs from the first one.
    assert means == pytest.approx([1.5, np.nan], nan_ok=True)
    [ratio] = paired_ratios(means[None, :])
    assert (ratio.estimate.n, ratio.p_value) == (1, None)


def test_blocks_are_compared_over_those_that_connect_them():
    # The third block shares a point with each of the others, which have none in common.
    values = np.array([[1.0, 2.0, np.nan, np.nan], [np.nan, np.nan, 5.0, 6.0], [2.0, np.nan, 3.0, np.nan]])
    first, second, third = block_means(values)
    assert (third - first, second - third) == pytest.approx((1.0, 2.0))


def test_the_paired_test_equals_scipys_on_the_logarithms():
    first, second = [103.0, 99.0, 110.0, 95.0], [100.0, 97.0, 103.0, 96.0]
    ratio = ratio_of(one_point(a=first, b=second), "a", "b")
    scipys = stats.ttest_rel([math.log(x) for x in first], [math.log(x) for x in second])
    low, high = scipys.confidence_interval()
    assert ratio.p_value == pytest.approx(scipys.pvalue)
    assert (ratio.estimate.low, ratio.estimate.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert ratio.estimate.value == pytest.approx(stats.gmean(first) / stats.gmean(second))


def test_only_blocks_that_have_both_are_paired():
    values = one_point(a=[2.0, None, 4.0, 8.0], b=[1.0, 1.0, 2.0, None])
    ratios = block_means(values["a"] - values["b"])
    assert ratios == pytest.approx([math.log(2), math.nan, math.log(2), math.nan], nan_ok=True)
    assert ratio_of(values, "a", "b").estimate.n == 2


def test_one_block_gives_a_ratio_without_an_interval_and_without_a_verdict():
    values = one_point(a=[2.0], b=[1.0])
    ratio = ratio_of(values, "a", "b")
    assert (ratio.estimate.value, ratio.estimate.low, ratio.p_value) == (pytest.approx(2), None, None)
    assert paired_ratios(np.array([[math.nan]])) == [None]
    ranking = rank(values, "higher")
    assert not ranking.decides
    assert ranges(ranking) == {"a": (1, 2), "b": (1, 2)}


def test_a_block_that_lacks_points_does_not_look_like_another_ratio():
    # The ratio is 2 at one point and 8 at the other, in every block: 4 over the curve, whatever is missing.
    first = np.log([[2.0, 8.0], [2.2, 8.8], [1.8, math.nan]])
    second = np.log([[1.0, 1.0], [1.1, 1.1], [0.9, 0.9]])
    assert block_means(first - second) == pytest.approx([math.log(4)] * 3)


def test_holms_adjustment_equals_that_of_r():
    # What p.adjust of R says for these with the method "holm".
    assert holm_adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjusted([0.9, 0.8]) == [1.0, 1.0]
    assert holm_adjusted([]) == []


def test_servers_that_overlap_share_ranks_and_a_group_and_the_others_do_not():
    values = one_point(
        fast=[131.0, 132.5, 129.5, 131.5, 130.0],
        alike=[130.0, 133.0, 130.5, 129.0, 132.0],
        slow=[100.0, 101.0, 99.5, 100.5, 99.0],
    )
    ranking = rank(values, "higher")
    assert ranges(ranking) == {"fast": (1, 2), "alike": (1, 2), "slow": (3, 3)}
    assert [set(group) for group in ranking.groups] == [{"fast", "alike"}, {"slow"}]
    ahead, behind = ranking.tiers
    assert (set(ahead.servers), behind.servers) == ({"fast", "alike"}, ("slow",))
    both = stats.gmean([131.0, 132.5, 129.5, 131.5, 130.0, 130.0, 133.0, 130.5, 129.0, 132.0])
    assert ahead.to_next.value == pytest.approx(both / stats.gmean([100.0, 101.0, 99.5, 100.5, 99.0]))
    assert behind.to_next is None


def test_where_less_is_better_the_least_comes_first():
    values = one_point(quick=[1.0, 1.1, 0.9, 1.05], slow=[3.0, 3.2, 2.8, 3.1])
    assert ranges(rank(values, "lower")) == {"quick": (1, 1), "slow": (2, 2)}
    assert ranges(rank(values, "higher")) == {"slow": (1, 1), "quick": (2, 2)}


def test_not_telling_apart_does_not_carry_over():
    # Each neighbour is within the spread of the next, and the ends are not: two groups share the middle.
    spread = [0.97, 1.0, 1.03, 0.99, 1.01]
    values = one_point(
        a=[1.04 * x for x in spread], b=[1.02 * x for x in reversed(spread)], c=[0.99 * x for x in spread]
    )
    ranking = rank(values, "higher")
    assert ranking.groups == (("a", "b"), ("b", "c"))
    assert ranges(ranking) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert [tier.servers for tier in ranking.tiers] == [("a", "b", "c")]


def test_neither_more_nor_fewer_cpus_are_better():
    with pytest.raises(ValueError, match="neither higher nor lower is better"):
        rank_run([], MEASURES["cpu_share"])


def test_invalid_points_never_enter_a_ranking_and_are_named(run: Run):
    _, logs = usable_logs(curves(run), THROUGHPUT)
    assert np.isnan(logs["tiny"][:, AT[100]]).tolist() == [False, False, True]
    ranking = ranked(run)
    left_out = {(out.server, out.point["connections"], out.invalid, out.absent) for out in ranking.left_out}
    assert left_out == {
        ("tiny", 100, (2,), ()),
        ("apache", 50, (), (2,)),
        ("apache", 100, (), (2,)),
        ("apache", 200, (), (2,)),
    }
    at_100 = {at.point["connections"]: at.ranking for at in ranking.at_points}[100]
    assert {pair.ratio.n for pair in at_100.pairs if "tiny" in (pair.first, pair.second)} == {2}


def test_over_the_curve_a_ratio_is_the_geometric_mean_over_points_and_blocks(run: Run):
    truths = {
        name: stats.gmean([truth.throughput_rps(c) for c in synthetic.CONNECTIONS])
        for name, truth in synthetic.SERVERS.items()
    }
    for pair in ranked(run).over_curve.pairs:
        assert pair.ratio.value == pytest.approx(truths[pair.first] / truths[pair.second])
        assert pair.ratio.n == 3


def test_a_suspect_point_enters_the_ranking(run: Run):
    _, logs = usable_logs(curves(run), THROUGHPUT)
    assert np.isfinite(logs["nginx"][:, AT[200]]).all()


def test_a_server_with_invalid_points_alone_is_in_no_ranking(run: Run):
    records = [synthetic.spoiled(one) if one.server == "tiny" else one for one in run.points]
    ranking = ranked(synthetic.with_records(run, records))
    assert [rank.server for rank in ranking.over_curve.ranks] == ["nginx", "apache"]
    assert {out.point["connections"] for out in ranking.left_out if out.server == "tiny"} == {
        *synthetic.CONNECTIONS
    }
