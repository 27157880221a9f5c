"""A trial unlike its siblings."""

import dataclasses
import math
import random

import pytest

from loadcurve.explain import odd_trial
from loadcurve.explain.subject import subjects
from loadcurve.result.records import RUNNING_SERVER, PointRecord
from support.explained_run import Data, Setup, found, planted_run
from support.synthetic_run import with_load


def test_a_burp_is_reported_with_the_counter_that_its_siblings_do_not_have():
    def plant(record: Data, trial: int, connections: float) -> None:
        if (trial, connections) == (3, 25):
            record["load"]["rate_rps"]["answered"] *= 0.7
            record["probe"]["throttling"] = {"periods": 20, "throttled_periods": 0, "throttled_s": 0.0}
            record["load"]["kernel"]["retransmits"] = 40

    [finding] = found(plant).values()
    assert (finding.code, finding.trials, finding.points) == ("odd_trial", [3], [{"connections": 25}])
    assert finding.trials_measured == 5
    assert "segments retransmitted" in finding.cause


def test_a_probability_that_is_computed_as_nothing_is_called_small():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["rate_rps"]["answered"] = 1000.0 * (0.5 if (trial, connections) == (3, 25) else 1)

    [finding] = found(plant).values()
    assert "(p < 0.0001)" in finding.seen


def test_a_burp_that_no_counter_shows_is_not_explained_by_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        if (trial, connections) == (3, 25):
            record["load"]["rate_rps"]["answered"] *= 0.7

    [finding] = found(plant).values()
    assert "No kernel counter" in finding.cause
    assert "this start of the server" in finding.cause
    assert "guests" not in finding.cause


def test_on_a_virtual_machine_what_no_counter_shows_may_be_its_hosts_doing():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 3:
            record["load"]["rate_rps"]["answered"] *= 0.7

    [finding] = found(plant, Setup(host={"virtual_machine": True})).values()
    assert "what other guests of this machine's host use" in finding.cause


def test_a_server_that_lives_from_trial_to_trial_has_no_start_in_an_odd_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 3:
            record["load"]["rate_rps"]["answered"] *= 0.7

    [finding] = found(plant, Setup(server={"catalog_entry": RUNNING_SERVER})).values()
    assert "start of the server" not in finding.cause


def test_a_trial_that_is_slow_at_every_point_does_not_hide_in_its_own_spread():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 2:
            record["load"]["rate_rps"]["answered"] *= 0.5

    [finding] = found(plant).values()
    assert (finding.code, finding.trials, len(finding.points)) == ("odd_trial", [2], 5)


def test_a_small_difference_is_none_to_care_about_however_significant():
    def plant(record: Data, trial: int, connections: float) -> None:
        exact = 1000.0 * connections
        record["load"]["rate_rps"]["answered"] = exact * (0.97 if (trial, connections) == (3, 25) else 1)

    assert found(plant) == {}


def with_throughput(record: PointRecord, rps: float) -> PointRecord:
    rate = record.load.rate_rps.model_copy(update={"answered": rps})
    return with_load(record, rate_rps=rate)


@pytest.mark.parametrize(("trials", "servers"), [(3, 1), (5, 1), (20, 1), (5, 21)])
def test_equal_trials_are_called_odd_in_at_most_a_twentieth_of_the_studies(trials: int, servers: int):
    base, studies = (
        planted_run(setup=Setup(trials=trials, values=(5, 10, 25, 50))),
        400 if servers == 1 else 100,
    )
    drawn = random.Random(trials)
    names = [f"server-{number}" for number in range(servers)]
    run = base.run.model_copy(update={"servers": dict.fromkeys(names, base.run.servers["nginx"])})

    def alarms() -> bool:
        # A deviation of 6 % makes many trials differ by more than the 5 % that matter in practice.
        records = [
            with_throughput(one, 1000 * math.exp(drawn.gauss(0, 0.06))).model_copy(update={"server": name})
            for name in names
            for one in base.points
        ]
        return any(map(odd_trial.find, subjects(dataclasses.replace(base, run=run, records=records))))

    share = sum(alarms() for _ in range(studies)) / studies
    # 5 % and twice the standard error of this many studies.
    assert share <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / studies)
