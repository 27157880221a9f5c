"""What holds for all findings: none if nothing is odd, evidence for each, and the weightiest first."""

import pytest
from pydantic import ValidationError

from loadcurve.explain.all import findings
from loadcurve.explain.finding import WEIGHTS, Finding
from support.explained_run import Data, Setup, doubt, found, planted_run, retried_connects, use_cpus


def test_a_run_in_which_nothing_is_odd_has_no_finding():
    assert found() == {}


def test_a_run_in_which_nothing_was_measured_has_no_finding():
    run = planted_run(setup=Setup(trials=0))
    assert findings(run) == []


def everything(record: Data, trial: int, connections: float) -> None:
    """Plant many causes at once."""
    retried_connects(record, [0.1] * 490 + [1003.0] * 10, overflows=4)
    doubt(record, "generator_saturated")
    use_cpus(record, 1.95)
    record["load"]["errors"]["fd_unavailable"] = 3
    if connections == 10:
        record["load"]["status"]["5xx"] = 400


def test_every_finding_has_evidence_and_the_weightiest_come_first():
    found_here = findings(planted_run(everything))
    assert {one.code for one in found_here} >= {
        "rig_limit",
        "wrong_answers",
        "cpu_limit",
        "listen_queue_overflow",
    }
    assert all(one.evidence for one in found_here)
    weights = [WEIGHTS.index(one.weight) for one in found_here]
    assert weights == sorted(weights)


def test_a_finding_without_evidence_cannot_be_made():
    one = findings(planted_run(everything))[0]
    with pytest.raises(ValidationError, match="evidence"):
        Finding.model_validate(one.model_dump() | {"evidence": []})


def test_neighbouring_points_and_trials_are_one_finding_and_distant_ones_are_two():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections in {1, 2, 100}:
            use_cpus(record, 1.9)

    values = (1, 2, 5, 10, 25, 50, 100)
    parts = [one.points for one in findings(planted_run(plant, Setup(values=values)))]
    assert sorted([[p["connections"] for p in points] for points in parts]) == [[1, 2], [100]]


def test_of_equal_weight_what_is_about_the_server_comes_before_what_is_about_the_machine():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["probe"]["cpus"] = [{"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.12}]
        if connections == 100:
            retried_connects(record, [0.1] * 490 + [1003.0] * 10, overflows=4)

    # Steal is at more points, and of the same weight.
    first, second = findings(planted_run(plant))
    assert (first.code, second.code) == ("listen_queue_overflow", "steal")
    assert first.weight == second.weight
    assert len(first.points) < len(second.points)
