"""What the intervals, ranks and stopping rules promise, held against 2,000 synthetic studies each.

The standard error of a share of 2,000 is 0.5 % at 95 %. Seeds are fixed, so a test gives one answer.
"""

import math

import numpy as np
import pytest
from benches.synthetic_studies import (
    Autoregressive,
    Drift,
    RandomWalk,
    Steady,
    Studies,
    heavy_tailed,
    normal,
    slow_trials,
    studies,
)
from scipy import stats

from loadcurve.stats.interval import Estimate, geometric_interval
from loadcurve.stats.noise import spread_within, visible_difference
from loadcurve.stats.paired import Logs, PairedRatio, block_means, paired_ratios
from loadcurve.stats.ranking import Ranking, rank
from loadcurve.stats.stopping import LEAST_ADAPTIVE_TRIALS, Figure, UntilNarrow, may_end, wide_points

COUNT = 2000

MILD = [
    Steady(),
    Autoregressive(sd=0.01, half_life_blocks=0.3),
    Autoregressive(sd=0.01, half_life_blocks=1),
    Autoregressive(sd=0.01, half_life_blocks=3),
    RandomWalk(sd_per_block=0.004),
]
"""Drifts that spread over a run as much as half of what a trial's own noise does, which is 2 %."""
STRONG = [
    Autoregressive(sd=0.02, half_life_blocks=1),
    Autoregressive(sd=0.02, half_life_blocks=3),
    RandomWalk(sd_per_block=0.02),
]
"""Drifts as strong as a trial's own noise and stronger."""


def covers(estimate: Estimate, truth: float) -> bool:
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


def coverage_of_means(simulated: Studies) -> float:
    """The share of studies whose interval of the first server's mean holds its truth."""
    trials, truths = simulated.values[:, 0].tolist(), simulated.truths[:, 0].tolist()
    return float(
        np.mean([covers(geometric_interval(t), truth) for t, truth in zip(trials, truths, strict=True)])
    )


def by_block(study: np.ndarray) -> Logs:
    """One study, servers by blocks, as the rankings take it."""
    return {f"server-{place}": np.log(trials[:, None]) for place, trials in enumerate(study)}


def ratio_of(first: np.ndarray, second: np.ndarray) -> PairedRatio:
    [ratio] = paired_ratios(block_means(first - second)[None, :])
    assert ratio is not None
    return ratio


def rankings(simulated: Studies) -> list[Ranking]:
    return [rank(by_block(study), "higher") for study in simulated.values]


def alarms(found: list[Ranking]) -> float:
    """The share of studies in which any two servers are told apart."""
    return float(np.mean([any(pair.told_apart for pair in ranking.pairs) for ranking in found]))


@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("drift", MILD, ids=str)
def test_an_interval_of_throughput_covers_the_mean_over_the_run_in_93_to_97_percent(
    drift: Drift, blocks: int
):
    simulated = studies(COUNT, [1000.0, 1300.0, 900.0], blocks, drift, seed=blocks)
    assert 0.93 <= coverage_of_means(simulated) <= 0.97


@pytest.mark.parametrize("blocks", [3, 5, 10, 20])
def test_heavy_tails_leave_the_coverage_where_it_is(blocks: int):
    simulated = studies(COUNT, [1000.0, 1000.0], blocks, Steady(), noise=heavy_tailed, seed=blocks)
    assert 0.93 <= coverage_of_means(simulated) <= 0.97


@pytest.mark.parametrize("noise", [normal, heavy_tailed])
@pytest.mark.parametrize("drift", STRONG, ids=str)
def test_a_strong_drift_makes_intervals_wider_than_they_need_be_and_never_too_narrow(drift: Drift, noise):
    for blocks in (5, 10, 20):
        simulated = studies(COUNT, [1000.0] * 3, blocks, drift, noise=noise, seed=blocks)
        assert coverage_of_means(simulated) >= 0.95


def test_no_interval_covers_the_level_of_another_day():
    # The long-run level is 1000; the drift of a run stays on one side of it for several blocks.
    simulated = studies(COUNT, [1000.0] * 3, 10, Autoregressive(0.02, half_life_blocks=3), seed=1)
    intervals = [geometric_interval(trials) for trials in simulated.values[:, 0].tolist()]
    assert np.mean([covers(interval, 1000.0) for interval in intervals]) < 0.8


def test_rare_slow_trials_are_covered_less_often_than_said():
    for blocks in (5, 10, 20):
        simulated = studies(COUNT, [1000.0] * 2, blocks, Steady(), noise=slow_trials, seed=blocks)
        assert 0.88 <= coverage_of_means(simulated) <= 0.93


@pytest.mark.parametrize("noise", [normal, heavy_tailed])
@pytest.mark.parametrize("blocks", [3, 5, 10])
@pytest.mark.parametrize("drift", [Steady(), *STRONG], ids=str)
def test_a_paired_ratio_covers_the_true_one_in_93_to_97_percent_however_the_machine_drifts(
    drift, blocks, noise
):
    simulated = studies(COUNT, [1310.0, 1000.0], blocks, drift, noise=noise, seed=blocks)
    covered = 0
    for study in simulated.values:
        values = by_block(study)
        ratio = ratio_of(values["server-0"], values["server-1"])
        covered += covers(ratio.estimate, 1.31)
    assert 0.93 <= covered / COUNT <= 0.97


@pytest.mark.parametrize("servers", [3, 5])
@pytest.mark.parametrize("drift", [Steady(), Autoregressive(0.02, 1), RandomWalk(0.02)], ids=str)
def test_servers_that_are_the_same_are_told_apart_in_at_most_5_percent_of_the_studies(
    drift: Drift, servers: int
):
    # The share is at most 5 %, and that of 2,000 studies at most two standard errors above it.
    assert alarms(rankings(studies(COUNT, [1000.0] * servers, 5, drift, seed=servers))) <= 0.05 + 2 * 0.0049


def test_two_servers_that_are_the_same_are_told_apart_in_5_percent():
    # With one pair nothing is corrected: the error rate is the test's own, give or take 3 standard errors.
    found = alarms(rankings(studies(COUNT, [1000.0] * 2, 5, RandomWalk(0.02), seed=2)))
    assert found == pytest.approx(0.05, abs=0.015)


def test_points_that_are_missing_by_chance_do_not_raise_the_alarms():
    draw = np.random.default_rng(8)
    count, blocks, points = 500, 5, 4
    found = []
    for study in studies(count, [1000.0] * 3, blocks, RandomWalk(0.01), seed=8).values:
        logs = np.full((3, blocks, points), np.nan)
        for place, block, column in np.ndindex(logs.shape):
            if draw.random() > 0.1:
                # Each server has its own kind of curve, which must not look like a bad block.
                logs[place, block, column] = math.log(
                    study[place, block] * (1 + column * place)
                ) + draw.normal(0, 0.01)
        [ratio] = paired_ratios(block_means(logs[0] - logs[2])[None, :])
        truth = math.prod(1 / (1 + 2 * column) for column in range(4)) ** (1 / 4)
        found.append(ratio is not None and ratio.estimate.n > 1 and covers(ratio.estimate, truth))
    # The standard error of a share of 500 is 1 % here.
    assert np.mean(found) == pytest.approx(0.95, abs=0.03)


def test_servers_measured_one_after_the_other_would_be_told_apart_by_the_drift():
    simulated = studies(COUNT, [1000.0] * 2, 5, RandomWalk(0.02), seed=3, in_blocks=False)
    logs = np.log(simulated.values)
    p_values = stats.ttest_ind(logs[:, 0], logs[:, 1], axis=1, equal_var=False).pvalue
    assert np.mean(p_values <= 0.05) > 0.2


def test_pairs_find_a_difference_that_unpaired_trials_overlook():
    simulated = studies(COUNT, [1040.0, 1000.0], 5, RandomWalk(0.02), noise_sd=0.01, seed=4)
    logs = np.log(simulated.values)
    unpaired = np.mean(stats.ttest_ind(logs[:, 0], logs[:, 1], axis=1, equal_var=False).pvalue <= 0.05)
    paired = alarms(rankings(simulated))
    assert paired > unpaired + 0.15


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_the_smallest_visible_difference_is_found_in_80_percent(blocks: int):
    # Two servers of the same noise: the log ratio's standard deviation is √2 times that of a trial.
    known = spread_within([("a", "b")], {name: np.zeros((1, 1)) for name in "ab"})
    assert known is None
    twins = studies(1, [1000.0] * 2, COUNT, Steady(), seed=5).values[0]
    spread = spread_within([("server-0", "server-1")], by_block(twins))
    assert spread.log_sd == pytest.approx(0.02 * math.sqrt(2), rel=0.05)
    difference = visible_difference(spread, blocks).value
    simulated = studies(COUNT, [1000.0 * (1 + difference), 1000.0], blocks, Steady(), seed=blocks)
    assert alarms(rankings(simulated)) == pytest.approx(0.8, abs=0.04)


def stopped_at(trials: list[float], rule: UntilNarrow) -> int:
    """How many trials a server has when its study ends."""
    figures = [Figure("nginx", {"connections": 10.0}, value) for value in trials]
    return next(
        (n for n in range(rule.least, rule.most) if may_end(n, wide_points(figures[:n], rule), rule)),
        rule.most,
    )


@pytest.mark.parametrize("most", [20, 40])
@pytest.mark.parametrize("noise_sd", [0.02, 0.03, 0.04, 0.06, 0.08])
def test_an_interval_at_which_a_study_stopped_covers_in_at_least_93_percent(noise_sd: float, most: int):
    rule = UntilNarrow(0.03, LEAST_ADAPTIVE_TRIALS, most, "throughput")
    simulated = studies(COUNT, [1000.0], most, Steady(), noise_sd=noise_sd, seed=6)
    covered = [
        covers(geometric_interval(trials[: stopped_at(trials, rule)]), 1000.0)
        for trials in simulated.values[:, 0].tolist()
    ]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_stopping_after_three_trials_would_cover_less():
    rule = UntilNarrow(0.03, 3, 20, "throughput")
    simulated = studies(COUNT, [1000.0], 20, Steady(), noise_sd=0.05, seed=7)
    covered = [
        covers(geometric_interval(trials[: stopped_at(trials, rule)]), 1000.0)
        for trials in simulated.values[:, 0].tolist()
    ]
    assert np.mean(covered) < 0.92
