"""CPU time that other programs took."""

import pytest

from support.explained_run import Data, doubt, found


def division(others: float, name: str) -> Data:
    program = {"name": name, "processes": 1, "pid": 7, "cpu": 0, "cpu_share": others}
    return {
        "cpus": [0],
        "server": 1 - others,
        "generator": None,
        "kernel": 0.0,
        "host": 0.0,
        "others": others,
        "idle": 0.0,
        "softirq_share": 0.0,
        "uncertain": 0.0,
        "programs": [program],
    }


def plant(record: Data, status: str) -> None:
    doubt(record, "cpu_taken")
    record["load"]["verdict"]["status"] = status
    record["probe"]["cpu_time"] = division(0.4, "cc1")
    record["load"]["generator"]["cpu_time"] = division(0.1, "java")


@pytest.mark.parametrize(("status", "is_in_answer"), [("invalid", True), ("suspect", False)])
def test_programs_are_named_and_part_of_the_answer_where_they_made_points_invalid(status, is_in_answer):
    finding = found(lambda record, *_: plant(record, status))["other_programs"]
    assert "up to 40 %" in finding.seen
    assert "Those that took most were cc1." in finding.cause
    assert (finding.briefly is not None) == is_in_answer
    assert {one.name: one.value for one in finding.evidence if "CPUs" in one.name} == {
        "others on the server's CPUs": 0.4,
        "others on the load's CPUs": 0.1,
    }


def test_a_little_that_no_verdict_speaks_of_is_no_finding():
    def little(record: Data, trial: int, connections: float) -> None:
        record["probe"]["cpu_time"] = division(0.04, "cc1")

    assert found(little) == {}
