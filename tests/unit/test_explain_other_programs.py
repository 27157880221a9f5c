"""CPU time that other programs took."""

import pytest

from support.explained_run import CONNECTIONS, Data, division, doubt, found


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


def test_what_others_take_is_a_finding_where_they_are_expected_too():
    def noted(record: Data, trial: int, connections: float) -> None:
        record["probe"]["cpu_time"] = division(0.93, "cc1")

    finding = found(noted)["other_programs"]
    assert "up to 93 %" in finding.seen
    assert finding.briefly is None, "no point is invalid for it"


def test_the_answer_says_how_many_measurements_others_made_invalid():
    def at_fifty(record: Data, trial: int, connections: float) -> None:
        plant(record, "invalid" if connections == 50 else "suspect")

    briefly = found(at_fifty)["other_programs"].briefly
    assert briefly is not None
    # Five trials at each of the loads.
    assert briefly.startswith(f"5 of {5 * len(CONNECTIONS)} measurements are invalid, because other programs")


def test_a_little_that_no_verdict_speaks_of_is_no_finding():
    def little(record: Data, trial: int, connections: float) -> None:
        record["probe"]["cpu_time"] = division(0.04, "cc1")

    assert found(little) == {}
