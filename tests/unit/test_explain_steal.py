"""Processor time that the host kept back."""

import pytest

from support.explained_run import Data, Setup, doubt, found


def test_steal_is_reported_and_burst_credits_where_the_machine_has_them():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 1:
            cpu = {"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.12}
            record["probe"]["cpus"] = [cpu]

    [finding] = found(plant).values()
    assert (finding.code, finding.trials) == ("steal", [1])
    assert "credit" not in finding.cause
    [finding] = found(plant, Setup(host={"machine_product": "t3.large"})).values()
    assert "credit" in finding.cause


@pytest.mark.parametrize(("status", "is_in_answer"), [("invalid", True), ("suspect", False)])
def test_steal_is_part_of_the_answer_where_it_made_points_invalid(status: str, is_in_answer: bool):
    def plant(record: Data, trial: int, connections: float) -> None:
        doubt(record, "steal")
        record["load"]["verdict"]["status"] = status
        record["probe"]["cpus"] = [{"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.4}]

    brief = found(plant)["steal"].briefly
    assert (brief is not None and "up to 40 % of the time" in brief) == is_in_answer


def test_a_single_tick_of_steal_in_a_short_window_is_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["duration_s"] = 0.3
        cpu = {"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.033}
        record["probe"]["cpus"] = [cpu]

    assert found(plant) == {}


def test_steal_of_a_cpu_that_neither_side_uses_does_not_matter():
    def plant(record: Data, trial: int, connections: float) -> None:
        cpu = {"cpu": 9, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.5}
        record["probe"]["cpus"] = [cpu]

    assert found(plant) == {}


def test_a_window_without_length_has_no_steal_to_tell():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["duration_s"] = 0.0
        record["probe"]["cpus"] = [{"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.5}]

    assert found(plant) == {}
