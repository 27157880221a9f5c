"""Capacity from observations with known answers."""

import math

import numpy as np
import pytest

from loadcurve.analysis.limits import observed
from loadcurve.result.records import PointRecord
from loadcurve.stats.capacity import (
    Observation,
    Unjudged,
    UnjudgedFor,
    best_first,
    capacity,
    trial_capacity,
    unjudged,
)
from loadcurve.stats.slo import parse_objective
from support.synthetic_run import point_record

P99 = parse_objective("p99 < 10ms")
BOTH = parse_objective("p99 < 10ms, errors < 1 %")


def trial(*figures: tuple[float, float | None]) -> list[Observation]:
    """Return observations of loads and their p99; throughput is ten times the load."""
    return [Observation(load, None if p99 is None else p99 < 10, (p99,), 10 * load) for load, p99 in figures]


def test_the_capacity_lies_where_the_logarithm_of_the_latency_crosses_the_limit():
    # From 1 to 100 ms, 10 ms is halfway on a logarithmic scale.
    found = trial_capacity(trial((100, 0.5), (200, 1), (300, 100), (400, 200)), P99)
    assert (found.bound, found.load, found.throughput_rps) == ("exact", 250, 2_500)
    assert found.holds_again_at is None


def test_of_several_limits_the_one_that_is_crossed_first_counts():
    held = Observation(100, holds=True, values=(1.0, 0.0), throughput_rps=1_000)
    broken = Observation(200, holds=False, values=(100.0, 0.04), throughput_rps=2_000)
    found = trial_capacity([held, broken], BOTH)
    # The latency crosses at 150, and the errors, a share on a straight line, at 100 + 100 / 4.
    assert found.load == pytest.approx(125)


def test_a_limit_that_holds_at_every_load_says_at_least():
    found = trial_capacity(trial((100, 1), (200, 2)), P99)
    assert (found.bound, found.load) == ("at_least", 200)


def test_a_limit_that_fails_at_the_lowest_load_says_below():
    found = trial_capacity(trial((100, 11), (200, 20)), P99)
    assert (found.bound, found.load, found.throughput_rps) == ("below", 100, None)


def test_a_limit_that_fails_and_holds_again_counts_up_to_the_failure_and_says_so():
    found = trial_capacity(trial((10, 1), (15, 100), (20, 1), (50, 100)), P99)
    assert (found.load, found.holds_again_at) == (12.5, 20)


def test_what_is_not_known_is_passed_over():
    found = trial_capacity(trial((50, None), (100, 1), (300, 100), (400, None)), P99)
    assert (found.bound, found.load) == ("exact", 200)
    assert trial_capacity(trial((50, None)), P99) is None


HELD_AND_FAILED = trial((4_757, 1), (5_657, None), (6_727, None), (8_000, None), (11_310, 100))


def test_a_capacity_around_loads_that_could_not_be_judged_is_between_those_that_could():
    found = trial_capacity(HELD_AND_FAILED, P99)
    assert (found.bound, found.load, found.fails_at, found.throughput_rps) == ("between", 4_757, 11_310, None)
    # Another trial looks in the middle, on a logarithmic axis: 4,757 times the root of 11,310 / 4,757.
    assert found.centre == pytest.approx(7_335, abs=1)
    alone = capacity([HELD_AND_FAILED], P99)
    assert (alone.bound, alone.load, alone.safe_load, alone.greatest_load) == ("between", None, 4_757, 11_310)
    assert (alone.bracket.low, alone.bracket.high) == (4_757, 11_310)


def test_a_load_within_the_resolution_of_a_search_leaves_its_capacity_a_figure():
    found = trial_capacity(trial((1_000, 1), (1_015, None), (1_030, 100)), P99)
    assert (found.bound, found.load) == ("exact", 1_015)


@pytest.mark.parametrize(
    ("others", "low", "high"),
    [
        # Other trials held and failed within the first one's bounds, which they make narrower.
        ([trial((9_000, 1), (9_100, 100))], 9_000, 9_100),
        # They contradict one another from 9,100 to 9,500: what all say lies on both sides of that.
        ([trial((9_000, 1), (9_100, 100)), trial((9_500, 1), (9_600, 100))], 9_000, 9_600),
    ],
)
def test_a_trial_without_a_figure_leaves_none_over_trials_but_what_held_and_what_failed(others, low, high):
    found = capacity([HELD_AND_FAILED, *others], P99)
    assert (found.bound, found.load, found.throughput_rps) == ("between", None, None)
    assert (found.bracket.low, found.bracket.high) == (low, high)
    assert (found.safe_load, found.greatest_load) == (4_757, math.inf)


def test_where_the_limits_fail_for_another_reason_than_their_figures_the_load_below_counts():
    died = Observation(200, holds=False)
    found = trial_capacity([*trial((100, 1)), died], P99)
    assert (found.load, found.bound) == (100, "exact")


def test_a_point_is_judged_by_its_limits():
    latency = {"latency_ms": point_record().load.latency_ms.model_copy(update={"p99": 9.0}).model_dump()}
    assert observed(point_record(**latency), 10, P99).holds is True
    assert observed(point_record(**latency), 10, parse_objective("p99 < 8ms")).holds is False
    assert observed(point_record(**latency), 10, parse_objective("p99.9 < 8ms")).holds is None
    # One limit that is broken is enough, whatever the other one says.
    assert observed(point_record(**latency), 10, parse_objective("p99.9 < 8ms, p99 < 8ms")).holds is False


def with_answers(count: int, **load: object) -> PointRecord:
    """Return a point of 2 s with this many answers, too few for its p99."""
    record = point_record()
    latency = record.load.latency_ms.model_copy(update={"count": count, "p99": None}).model_dump()
    plan = {**record.load.load.model_dump(by_alias=True), **load}
    return point_record(latency_ms=latency, duration_s=2.0, load=plan)


def test_a_percentile_of_too_few_answers_says_how_many_it_requires_and_which_duration_would_do():
    seen = observed(with_answers(200), 10, P99)
    # Hahn and Meeker: ln 0.025 / ln 0.99 = 367.04, so 368; at 100 answers in a second these take 3.68 s.
    assert (seen.holds, seen.why_unknown) == (None, "p99 requires 368 answers, and 200 came")
    assert seen.enough_s == pytest.approx(3.68)
    assert observed(with_answers(0), 10, P99).enough_s is None, "nothing came, so no duration is known to do"


def test_a_point_that_is_invalid_for_another_reason_than_the_server_says_for_which():
    reasons = [{"code": code, "text": code} for code in ("generator_late", "cpu_taken", "cpu_taken")]
    invalid = point_record(verdict={"status": "invalid", "reasons": reasons, "notes": []})
    assert observed(invalid, 10, P99).why_unknown == "the point is invalid (generator_late, cpu_taken)"


def test_loads_that_no_trial_could_judge_are_those_with_the_longest_duration_that_each_would_take():
    def unknown(load: float, why: str, enough_s: float | None) -> Observation:
        return Observation(load, None, why_unknown=why, enough_s=enough_s)

    first = [unknown(1, "a", 9.0), unknown(2, "b", 5.0), unknown(4, "c", 2.0), Observation(64, holds=False)]
    second = [Observation(2, holds=True)]
    too_few = UnjudgedFor((1, 4), "a", 9.0)
    assert unjudged([first, second]) == Unjudged((too_few,))
    taken = [unknown(load, "invalid", None) for load in (8, 3)]
    found = unjudged([[*first, *taken], second])
    assert found == Unjudged((too_few, UnjudgedFor((3, 8), "invalid", None)))
    assert found.loads == (1, 3, 4, 8)
    assert unjudged([second]) is None


@pytest.mark.parametrize(
    ("codes", "holds"),
    [
        (["errors"], False),
        (["stopped_answering"], False),
        (["never_served"], False),
        (["server_lost"], False),
        (["generator_late"], None),
        (["errors", "generator_late"], None),
    ],
)
def test_an_invalid_point_fails_if_it_is_the_servers_doing_and_else_tells_nothing(codes, holds):
    reasons = [{"code": code, "text": code} for code in codes]
    invalid = point_record(verdict={"status": "invalid", "reasons": reasons, "notes": []})
    assert observed(invalid, 10, parse_objective("p99 < 1s")).holds is holds


def test_over_trials_the_capacity_is_a_geometric_mean_with_an_interval():
    found = capacity([trial((100, 1), (limit, 10), (4_000, 50)) for limit in (200, 400, 800)], P99)
    assert (found.bound, found.load.value, found.load.n) == ("exact", pytest.approx(400), 3)
    assert found.throughput_rps.value == pytest.approx(4_000)
    # The logarithms are ln 2 apart: s = ln 2, and t(0.975, 2) = 4.302653.
    assert found.load.high == pytest.approx(400 * math.exp(4.302653 * math.log(2) / 3**0.5), rel=1e-6)
    assert found.safe_load == found.load.low


def test_trials_of_which_some_reach_the_end_have_no_mean():
    found = capacity([trial((100, 1), (200, 100)), trial((100, 1), (200, 2))], P99)
    assert (found.bound, found.load, found.safe_load) == ("mixed", None, 150)


def test_one_trial_has_no_interval_and_is_as_safe_as_it_is():
    found = capacity([trial((100, 1), (200, 100))], P99)
    assert (found.load.value, found.load.low, found.safe_load) == (pytest.approx(150), None, 150)


def test_the_interval_from_a_sweep_covers_the_capacity_in_19_of_20_studies():
    # A queue M/M/1 has its p99 at ln(100) / (mu - load): 10 ms at mu - 460.5. Trials differ in mu by 3 %.
    random = np.random.default_rng(5)
    loads = np.arange(8_000, 11_000, 50)
    truth, covered = 10_000 - 460.517, 0
    for _ in range(2000):
        trials = []
        for mu in truth * np.exp(random.normal(0, 0.03, 5)) + 460.517:
            p99 = 4605.17 / np.maximum(mu - loads, 1)
            trials.append(trial(*zip(loads.tolist(), p99.tolist(), strict=True)))
        found = capacity(trials, P99)
        covered += found.load.low <= truth <= found.load.high
    assert 0.93 <= covered / 2000 <= 0.97


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        # The lower ends: 400 * exp(-4.303 * 0.1334 / 3**0.5) = 287; 500 * exp(-4.303 * 0.511 / 3**0.5) = 140.
        ([350, 400, 457], [300, 500, 833], ["one", "other"]),
        # One trial has no interval, so that it is no safer than the others' lower ends: 450 is below 500.
        ([450], [300, 500, 833], ["other", "one"]),
        ([450], [500], ["other", "one"]),
    ],
)
def test_the_best_capacity_is_the_one_to_rely_on_and_one_trial_is_not_taken_for_certain(one, other, order):
    capacities = {
        name: capacity([trial((100, 1), (load, 10), (4_000, 50)) for load in loads], P99)
        for name, loads in (("one", one), ("other", other))
    }
    assert best_first(capacities) == order
