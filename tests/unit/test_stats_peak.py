"""Peak and knee, against known curves, queueing theory and their own promise."""

import numpy as np
import pytest

from loadcurve.stats.complete import not_beaten
from loadcurve.stats.peak import knee, peak

LOADS = [1, 10, 50, 100, 200]
TRUTH_RPS = [1_000, 6_000, 9_000, 10_000, 8_000]


def trials_of(truth: list[float], trials: int, seed: int, *, drift: float = 0.1, noise: float = 0.01):
    """Return trials that drift together at all loads and are noisy at each."""
    random = np.random.default_rng(seed)
    logs = (
        np.log(truth) + random.normal(0, drift, (trials, 1)) + random.normal(0, noise, (trials, len(truth)))
    )
    return np.exp(logs).tolist()


def test_the_peak_is_the_load_with_the_greatest_throughput_and_has_its_mean():
    found = peak(LOADS, [[rate * factor for rate in TRUTH_RPS] for factor in (0.5, 1.0, 2.0)])
    assert (found.load, found.place, found.alike) == (100, "inside", (100,))
    assert found.value.value == pytest.approx(10_000)  # The geometric mean of 0.5, 1 and 2 is 1.


def test_drift_between_trials_widens_the_interval_but_does_not_blur_where_the_peak_is():
    found = peak(LOADS, trials_of(TRUTH_RPS, 5, seed=1, drift=0.3, noise=0.005))
    assert found.alike == (100,)
    assert found.value.high / found.value.low > 1.2


def test_loads_within_the_noise_cannot_be_told_apart_from_the_peak():
    found = peak(LOADS, trials_of([1_000, 6_000, 9_990, 10_000, 9_995], 5, seed=2, noise=0.02))
    assert set(found.alike) >= {50, 100, 200}
    assert 1 not in found.alike


def test_a_peak_at_the_end_of_the_sweep_was_not_reached():
    found = peak(LOADS, trials_of([1_000, 6_000, 9_000, 10_000, 12_000], 3, seed=3))
    assert (found.load, found.place) == (200, "last")


def test_one_trial_has_a_peak_without_an_interval_and_tells_nothing_apart():
    found = peak(LOADS, [TRUTH_RPS])
    assert (found.load, found.value.low, found.value.high, found.alike) == (100, None, None, None)


def test_a_load_that_most_trials_lack_is_left_out_and_named():
    trials = [[1.0, 2.0, 8.0, None], [1.0, 2.0, 4.0, None], [1.0, None, 2.0, 99.0]]
    found = peak([1, 2, 3, 4], trials)
    assert (found.load, found.place, found.not_compared) == (3, "last", (4,))
    # The figure is that of the table, of all trials that have one: (8 * 4 * 2) ** (1 / 3).
    assert (found.value.n, found.value.value) == (3, pytest.approx(4))


def test_the_peak_is_where_the_figures_of_all_trials_put_it():
    # In the trials that have both loads the first is ahead; over all, as the table shows, the second.
    trials = [[10.0, 9.0], [10.0, 9.0], [None, 27.0]]
    assert peak([1, 2], trials).load == 2


def test_nothing_usable_has_no_peak():
    assert peak(LOADS, [[None] * 5, [None] * 5]) is None
    assert peak(LOADS, []) is None


@pytest.mark.parametrize(
    ("truth", "most"),
    [
        ([5_000, 9_000, 10_000, 9_000], 0.97),
        # Three loads that share the peak: the greatest mean of the three is too great by 0.85 standard
        # errors. The interval is then on the safe side.
        ([5_000, 10_000, 10_000, 10_000], 0.985),
    ],
)
def test_the_interval_of_the_peak_covers_the_truth_although_it_was_chosen(truth: list[float], most: float):
    # 2000 studies: the share's standard error is 0.5 %.
    covered = 0
    for seed in range(2000):
        found = peak([1, 2, 3, 4], trials_of(truth, 5, seed, drift=0.01, noise=0.03))
        covered += found.value.low <= 10_000 <= found.value.high
    assert 0.93 <= covered / 2000 <= most


def test_the_loads_that_cannot_be_told_apart_hold_the_true_peak():
    held = sum(
        100 in peak(LOADS, trials_of([1_000, 6_000, 9_800, 10_000, 9_900], 5, seed, noise=0.02)).alike
        for seed in range(1000)
    )
    assert held / 1000 >= 0.95


def test_an_alternative_that_is_always_smaller_is_beaten_and_equals_are_not():
    assert not_beaten([[1.0, 2.0, 2.1], [1.1, 2.2, 2.1], [0.9, 1.8, 1.9]]) == [False, True, True]


def test_one_of_two_equal_alternatives_is_beaten_in_one_of_twenty_studies():
    random = np.random.default_rng(11)
    beaten = sum(not not_beaten(np.exp(random.normal(0, 0.1, (5, 2))).tolist())[0] for _ in range(2000))
    assert 0.03 <= beaten / 2000 <= 0.07


def test_the_knee_of_an_open_queue_is_where_it_is_half_busy():
    # M/M/1: latency 1 / (mu - lambda), so power lambda (mu - lambda) is greatest at mu / 2 (Kleinrock 1979).
    rates = [1_000, 3_000, 5_000, 7_000, 9_000]
    latency_ms = [1000 / (10_000 - rate) for rate in rates]
    found = knee(rates, [rates] * 3, [latency_ms] * 3)
    assert found.load == 5_000


@pytest.mark.parametrize("longer", [[], [1_000, 10_000]])
def test_the_knee_of_a_closed_loop_is_where_its_server_becomes_full_however_long_the_sweep(longer: list[int]):
    # Up to 8 connections throughput grows with them and latency stays; beyond, it is the other way round.
    loads = [1, 2, 4, 8, 16, 32, *longer]
    rates = [min(1_000 * load, 8_000) for load in loads]
    latency_ms = [1000 * load / rate for load, rate in zip(loads, rates, strict=True)]
    found = knee(loads, [rates] * 3, [latency_ms] * 3)
    assert found.load == 8
