"""Processor time that the host kept back."""

from support.explained_run import Data, Setup, found


def test_steal_is_told_and_burst_credits_where_the_machine_has_them():
    def plant(record: Data, trial: int, connections: float) -> None:
        if trial == 1:
            cpu = {"cpu": 0, "busy_share": 0.8, "softirq_share": 0.1, "steal_share": 0.12}
            record["probe"]["cpus"] = [cpu]

    [finding] = found(plant).values()
    assert (finding.code, finding.trials) == ("steal", [1])
    assert "credit" not in finding.cause
    [finding] = found(plant, Setup(host={"machine_product": "t3.large"})).values()
    assert "credit" in finding.cause


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
