"""The search for a capacity, on simulated servers whose capacity is known."""

import math

import numpy as np
import pytest

from loadcurve.stats.capacity import Observation, capacity, trial_capacity
from loadcurve.stats.search import SearchSpace, next_load
from loadcurve.stats.slo import parse_objective

P99 = parse_objective("p99 < 10ms")
RATES = SearchSpace(100, 100_000, whole=False)
CONNECTIONS = SearchSpace(1, 1_000, whole=True)
TOO_FEW = object()
"""Too few answers came for the percentile."""


def searched(space: SearchSpace, p99_ms, earlier: list[float] | None = None) -> list[Observation]:
    """Take one trial to its end; ``p99_ms`` gives what is measured at a load, ``None`` or ``TOO_FEW``."""
    seen: list[Observation] = []
    while (load := next_load(space, seen, earlier or [])) is not None:
        assert space.low <= load <= space.high
        assert load not in {one.load for one in seen}, "a load is measured once in a trial"
        p99 = p99_ms(load)
        is_few, p99 = p99 is TOO_FEW, None if p99 is TOO_FEW else p99
        holds = None if p99 is None else p99 < 10
        seen.append(Observation(load, holds, (p99,), load, enough_s=10.0 if is_few else None))
    return seen


def step(capacity_load: float):
    return lambda load: 1.0 if load < capacity_load else 100.0


@pytest.mark.parametrize("truth", [101, 150, 1_000, 3_333, 77_777, 99_999])
@pytest.mark.parametrize("earlier", [[], [5_000.0], [120.0, 90_000.0]])
def test_a_search_ends_with_the_capacity_between_two_near_loads(truth: float, earlier: list[float]):
    seen = searched(RATES, step(truth), earlier)
    low = max(one.load for one in seen if one.holds)
    high = min(one.load for one in seen if not one.holds)
    assert low < truth <= high <= 1.021 * low


def test_whole_loads_are_found_to_the_last_connection():
    seen = searched(CONNECTIONS, step(17))
    assert all(one.load == int(one.load) for one in seen)
    assert {16, 17} <= {one.load for one in seen}


def test_a_load_that_holds_above_one_that_does_not_is_no_lower_end():
    seen = [Observation(400, False, (100.0,), 400), Observation(800, True, (1.0,), 800)]
    assert next_load(RATES, seen, []) == 200


def test_a_limit_that_always_holds_ends_at_the_highest_load_and_one_that_never_does_at_the_lowest():
    assert searched(RATES, step(math.inf))[-1].load == 100_000
    assert [one.load for one in searched(RATES, step(0))] == [100]
    assert searched(RATES, step(0), [5_000.0])[-1].load == 100


@pytest.mark.parametrize("earlier", [[], [20_000.0]])
def test_ends_of_more_digits_than_a_load_between_them_are_reached_and_end_the_search(earlier: list[float]):
    space = SearchSpace(12_346, 98_765, whole=False)
    assert searched(space, step(math.inf), earlier)[-1].load == 98_765
    assert searched(space, step(0), earlier)[-1].load == 12_346


def test_a_later_trial_begins_near_what_the_earlier_ones_found():
    assert len(searched(RATES, step(20_000), [20_500.0])) <= 8
    assert len(searched(RATES, step(20_000))) > 12


def test_the_first_trial_doubles_its_load_and_a_later_one_takes_steps_that_grow():
    first = [one.load for one in searched(RATES, step(math.inf))]
    assert first == [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 100_000]
    later = [one.load for one in searched(RATES, step(math.inf), [1_150.0])]
    # From 1150 / 1.15 on by 1.15², by 1.15⁴, and from then on by 2.
    assert later[:5] == pytest.approx([1_000, 1_322.5, 2_313, 4_626, 9_252], rel=1e-3)


def test_few_requests_that_tell_no_percentile_do_not_end_the_search():
    seen = searched(RATES, lambda load: TOO_FEW if load < 1_000 else step(5_000)(load))
    found = trial_capacity(seen, P99)
    assert found.load == pytest.approx(5_000, rel=0.03)


def test_a_single_point_that_tells_nothing_is_passed_over():
    spoilt = iter([False] * 5 + [True] + [False] * 100)
    found = trial_capacity(searched(RATES, lambda load: None if next(spoilt) else step(5_000)(load)), P99)
    assert found.load == pytest.approx(5_000, rel=0.03)


def test_a_generator_that_cannot_go_on_ends_the_search_soon():
    seen = searched(RATES, lambda load: None if load > 5_000 else 1.0)
    assert sum(one.holds is None for one in seen) == 3
    found = trial_capacity(seen, P99)
    assert found.bound == "at_least"


def test_a_machine_on_which_no_load_can_be_judged_ends_the_search_soon():
    assert len(searched(RATES, lambda load: None)) == 3
    assert len(searched(RATES, lambda load: None, [5_000.0])) == 3


def test_below_a_load_with_too_few_answers_none_is_tried():
    seen = searched(RATES, lambda load: TOO_FEW if load < 1_000 else 100.0, [5_000.0])
    assert sum(one.load < 1_000 for one in seen) == 1


@pytest.mark.parametrize(
    ("trials", "between_trials", "noise"), [(5, 0.03, 0.1), (5, 0.03, 0.3), (10, 0.02, 0.1), (3, 0.05, 0.1)]
)
def test_a_search_lands_within_its_interval_and_measures_far_less_than_a_sweep(
    trials: int, between_trials: float, noise: float
):
    # A queue M/M/1 has its p99 at ln(100) / (mu - load), so 10 ms at mu - 460.5. Trials differ in mu, and
    # each measurement in its p99. 1000 studies: the share's standard error is 0.7 %.
    random = np.random.default_rng(trials)
    truth, covered, measured = 10_000 - 460.517, 0, 0
    for _ in range(1000):
        seen: list[list[Observation]] = []
        for _trial in range(trials):
            mu = truth * math.exp(random.normal(0, between_trials)) + 460.517
            earlier = [trial_capacity(one, P99).load for one in seen]
            noisy = lambda load, mu=mu: (  # noqa: E731 -- short enough to read here
                4605.17 / max(mu - load, 1) * math.exp(random.normal(0, noise))
            )
            seen.append(searched(RATES, noisy, earlier))
            measured += len(seen[-1])
        found = capacity(seen, P99)
        covered += found.load.low <= truth <= found.load.high
    assert 0.93 <= covered / 1000 <= 0.975
    # A sweep from 100 to 100,000 in steps of 2 % takes 349 points for each trial.
    assert measured / 1000 / trials < 349 / 30


def test_one_false_measurement_misleads_its_trial_alone():
    lies = iter([1.0, 1.0, 100.0])

    def at_first(load: float) -> float:
        return next(lies, step(20_000)(load))

    first = trial_capacity(searched(RATES, at_first), P99)
    assert first.load < 500
    second = trial_capacity(searched(RATES, step(20_000), [first.load]), P99)
    assert second.load == pytest.approx(20_000, rel=0.03)
