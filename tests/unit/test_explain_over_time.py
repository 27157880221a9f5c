"""What rises or falls from trial to trial of a soak."""

from dataclasses import replace
from datetime import timedelta

import pytest

from loadcurve.result.records import RUNNING_SERVER
from support.explained_run import BEGIN, Setup, evidence, found

HOURLY = Setup(values=(50,), trials=24, every_s=3600)
MIB = 2**20


def leaks(record, trial, _value, mib_per_hour=2):
    record["probe"]["server"]["memory_mean_bytes"] += mib_per_hour * MIB * trial


def test_memory_that_grows_from_hour_to_hour_is_a_leak_with_its_slope():
    finding = found(leaks, HOURLY)["grows_over_time"]
    [(name, per_hour)] = evidence(finding).items()
    assert name == "mean memory per hour at connections = 50"
    # Noise of 1 % of 16 MiB lies on it.
    assert per_hour == pytest.approx(2, abs=0.05)
    [slope] = finding.evidence
    assert slope.low < 2 < slope.high
    assert finding.certainty == "likely"


def test_memory_of_servers_that_each_trial_starts_anew_is_no_growth_of_one():
    """Such as a log or a table on disk, which each start reads: nothing grew while a server lived."""
    anew = replace(HOURLY, is_kept=False)
    assert "grows_over_time" not in found(leaks, anew)


def test_memory_of_a_server_that_ran_before_the_run_is_of_one_life():
    attached = replace(HOURLY, is_kept=False, server={"catalog_entry": RUNNING_SERVER})
    assert "grows_over_time" in found(leaks, attached)


def test_files_that_are_never_closed_are_a_leak():
    def plant(record, trial, _value):
        record["probe"]["server"]["open_files_max"] = 20 + 3 * trial

    finding = found(plant, HOURLY)["grows_over_time"]
    assert evidence(finding)["open files and sockets per hour at connections = 50"] == 3


def test_latency_that_rises_is_a_drift():
    def plant(record, trial, _value):
        for name in ("p50", "p99"):
            record["load"]["latency_ms"][name] *= 1 + 0.01 * trial

    assert found(plant, HOURLY).keys() == {"drifts_over_time"}


@pytest.mark.parametrize(
    "setup",
    [Setup(values=(50,), trials=24), Setup(values=(50,), trials=7, every_s=3600)],
    ids=["trials that follow each other", "too few trials"],
)
def test_other_runs_have_no_trends(setup):
    assert "grows_over_time" not in found(leaks, setup)


def test_a_growth_that_matters_to_nobody_is_no_finding():
    """Half a MiB in a day."""
    assert found(lambda *planted: leaks(*planted, mib_per_hour=0.02), HOURLY) == {}


def test_memory_counts_from_the_last_start_of_the_server():
    """It leaks for 16 hours, dies, and grows no more in the 8 hours after its start."""
    started = (BEGIN + timedelta(hours=16)).isoformat()

    def plant(record, trial, value):
        if trial < 16:
            leaks(record, trial, value)

    def restarted(record, trial, value):
        plant(record, trial, value)
        if trial >= 16:
            record["server_started_at"] = started

    assert "grows_over_time" not in found(restarted, HOURLY)


def test_equal_hours_have_no_trend():
    """Of 40 soaks with three points each, at 1 %: none is expected, and one is allowed."""
    soaks = [Setup(values=(10, 50, 100), trials=24, every_s=3600, seed=seed) for seed in range(40)]
    assert sum(bool(found(setup=one).keys() & {"grows_over_time", "drifts_over_time"}) for one in soaks) <= 1
