"""CPU credits that ran out during a trial."""

from loadcurve.result.records import BurstRecord, LimitsRecord
from support.explained_run import Data, Setup, evidence, found, use_cpus

BURST = {"limits": LimitsRecord(cpus=1, memory_bytes=None, burst=BurstRecord(credits=30, baseline_share=0.1))}


def credits_left(record: Data, remaining: float, ran_out_s: float | None, at_baseline_s: float) -> None:
    use = {"remaining": remaining, "ran_out_s": ran_out_s, "at_baseline_s": at_baseline_s}
    record["limit_use"] = {"oom_kills": None, "memory_peak_bytes": None, "credits": use}


def test_credits_that_run_out_are_found_from_that_point_on_and_not_as_throttling():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections < 50:
            credits_left(record, 30 - connections, None, 0)
            return
        use_cpus(record, 0.1)
        record["probe"]["throttling"] = {"periods": 20, "throttled_periods": 19, "throttled_s": 1.7}
        credits_left(record, 0, 41.0 + trial, 1.5)

    [finding] = found(plant, Setup(server=BURST)).values()
    assert (finding.code, finding.weight, finding.certainty) == ("cpu_credits", "distorts", "shown")
    assert [point["connections"] for point in finding.points] == [50, 100]
    assert "The CPU credits of nginx ran out 41 to 45 s after its start, at connections = 50:" in finding.seen
    assert "its baseline of 10 % of its CPUs" in finding.seen
    assert evidence(finding)["CPU credits at the start of the server"] == 30
    assert 'restart = "point"' in finding.advice


def test_credits_that_last_are_no_finding():
    assert found(lambda record, *_: credits_left(record, 3.5, None, 0), Setup(server=BURST)) == {}


def test_a_single_moment_at_the_baseline_is_no_finding_and_throttling_remains_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        # 0.1 % of the load's time.
        credits_left(record, 0.001, 3.0, record["load"]["duration_s"] / 1000)
        use_cpus(record, 0.95)

    assert set(found(plant, Setup(server=BURST))) == {"cpu_limit"}


def test_a_server_without_credits_has_nothing_to_run_out():
    assert "cpu_credits" not in found(lambda record, *_: use_cpus(record, 0.5))
