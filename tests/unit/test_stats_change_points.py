"""Change points: steps are found where they are, and spikes, noise and too few runs show none."""

import math

import numpy as np
import pytest
from scipy import stats

from loadcurve.stats.change_points import Reading, change_points

SIGMA = 0.01
"""Of the logarithms, so that 95 % of readings lie within about 2 % of their level."""


def readings(logs) -> list[Reading]:
    return [Reading(math.exp(one)) for one in logs]


def noise(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, SIGMA, count)


def places(logs, figures: int = 1) -> list[int]:
    return [one.place for one in change_points(readings(logs), figures).points]


def step(count: int, at: int, size: float) -> np.ndarray:
    return np.where(np.arange(count) >= at, size, 0.0)


@pytest.mark.parametrize("size", [0.1, -0.1])
def test_a_step_is_found_where_it_is_in_both_directions(size: float):
    (found,) = change_points(readings(noise(60) + step(60, 30, size))).points
    assert found.place == 30
    assert found.ratio.low is not None
    assert found.ratio.high is not None
    assert found.ratio.low < math.exp(size) < found.ratio.high


def test_the_p_value_and_the_interval_are_those_of_students_test_with_pooled_variance():
    logs = noise(20) + step(20, 10, 0.1)
    (found,) = change_points(readings(logs), figures=3).points
    test = stats.ttest_ind(logs[10:], logs[:10], equal_var=True)
    # Changes with three runs on either side have 15 places in 20 runs.
    assert found.adjusted_p_value == pytest.approx(min(1, test.pvalue * 15 * 3), rel=1e-6)
    interval = test.confidence_interval(0.95)
    assert found.ratio.low == pytest.approx(math.exp(interval.low), rel=1e-6)
    assert found.ratio.high == pytest.approx(math.exp(interval.high), rel=1e-6)


def test_a_step_up_and_down_again_is_two_changes():
    assert places(noise(90) + step(90, 30, 0.1) - step(90, 60, 0.1)) == [30, 60]


@pytest.mark.parametrize("runs", [3, 4, 6])
@pytest.mark.parametrize(("count", "at"), [(30, 10), (60, 30), (100, 50)])
def test_a_step_that_is_taken_back_after_a_few_runs_is_two_changes(count: int, at: int, runs: int):
    # -20 % is 11 standard deviations of 2 %: where a dip ends can be off by a run in none of 20 draws.
    dip = math.log(0.8) * (step(count, at, 1) - step(count, at + runs, 1))
    drawn = [2 * noise(count, seed) + dip for seed in range(20)]
    assert [places(logs, figures=5) for logs in drawn] == [[at, at + runs]] * 20


def test_two_steps_in_one_direction_are_two_changes_however_near_they_are():
    assert places(noise(60) + step(60, 28, 0.1) + step(60, 32, 0.1)) == [28, 32]


@pytest.mark.parametrize("back", [-0.02, -0.05])
def test_three_of_four_runs_are_no_stretch(back: float):
    # The spike is replaced by a run beside it, which is no evidence for a level of four.
    logs = noise(60)
    logs[30:34] = 0.034
    assert places(logs) == [30, 34]
    logs[32] = back
    assert places(logs) == []


def test_a_dip_stays_found_however_many_runs_come_after_it():
    logs = 2 * noise(200) + math.log(0.8) * (step(200, 30, 1) - step(200, 34, 1))
    for count in range(50, 201, 10):
        assert places(logs[:count], figures=5) == [30, 34]


def test_the_p_value_of_a_stretch_is_for_every_length_that_it_could_have_had():
    logs = noise(20) + step(20, 8, 0.1) - step(20, 12, 0.1)
    found = change_points(readings(logs), figures=3).points
    tests = [stats.ttest_ind(logs[8:12], other, equal_var=True).pvalue for other in (logs[:8], logs[12:])]
    # 15 places in 20 runs, three figures, and stretches of 3 to 14 runs with three on either side: the
    # stronger end is adjusted for these, and ten times more.
    expected = [15 * 3 * max(one, 10 * 12 * min(tests)) for one in tests]
    assert [one.adjusted_p_value for one in found] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("place", [0, 1, 20, 38, 39])
@pytest.mark.parametrize("size", [0.05, 1.0, -5.0])
def test_a_single_spike_is_no_change_however_high_it_is(place: int, size: float):
    logs = noise(40)
    logs[place] += size
    assert places(logs) == []


def test_two_runs_after_a_step_are_pending_and_the_third_proves_it():
    logs = noise(43) + step(43, 40, 0.2)
    for count, pending in ((41, 1), (42, 2)):
        changes = change_points(readings(logs[:count]))
        assert (changes.points, changes.pending) == ((), pending)
    assert places(logs) == [40]


def test_nothing_is_pending_where_fewer_runs_than_two_segments_show_no_noise():
    logs = step(6, 5, 0.5)
    assert change_points(readings(logs[1:])).pending == 0
    assert change_points(readings(logs)).pending == 1


def test_a_change_that_is_smaller_than_the_noise_is_none():
    logs = noise(2000) + step(2000, 1000, SIGMA)
    assert places(logs) == []


def test_the_noise_that_is_given_is_the_smallest_change():
    logs = readings(noise(60) + step(60, 30, 0.1))
    assert change_points(logs, noise=0.09).points
    assert not change_points(logs, noise=0.12).points


def test_readings_whose_own_intervals_are_wide_show_less():
    values = [math.exp(one) for one in noise(12) + step(12, 6, 0.2)]
    assert change_points([Reading(one) for one in values]).points
    wide = [Reading(one, one / 2, one * 2) for one in values]
    assert not change_points(wide).points


def test_runs_that_lie_closer_together_than_their_trials_hide_no_less():
    # The same 1.01 after ten times 1.00; half the interval of a run of three trials is 4.303 standard errors.
    values = [1.0 + 0.01 * (number >= 10) + 1e-5 * (number % 2) for number in range(20)]
    (found,) = change_points([Reading(one) for one in values]).points
    assert found.place == 10
    own_sd = 0.02
    reach = math.exp(4.302652729749462 * own_sd)
    changes = change_points([Reading(one, one / reach, one * reach, 3) for one in values])
    assert changes.points == ()
    assert changes.noise == pytest.approx(math.expm1(1.959963984540054 * own_sd))


def test_equal_readings_have_no_change_and_an_exact_step_has_one():
    assert places([0.0] * 20) == []
    assert places(step(20, 10, 0.1)) == [10]


def test_more_figures_demand_more_evidence():
    logs = noise(30, seed=3) + step(30, 27, 2.6 * SIGMA)
    assert len(places(logs, 10**9)) == 0


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_fewer_runs_than_two_segments_have_no_change(count: int):
    assert places(step(count, 2, 1.0)) == []


def test_a_reading_without_a_logarithm_is_refused():
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive and finite"):
            change_points([Reading(1.0), Reading(value)])


def test_histories_without_a_change_rarely_show_one():
    # 200 histories of 5 figures; at 5 % more than 20 alarms have a probability below 1 in 1,000.
    drawn = np.random.default_rng(7)
    alarms = sum(any(places(drawn.normal(0, SIGMA, 60), 5) for _ in range(5)) for _ in range(200))
    assert alarms <= 20
