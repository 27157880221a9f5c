"""A server at the limit of its CPUs, of its share of them, or of one thread."""

import pytest

from loadcurve.result.records import LimitsRecord
from support.explained_run import Data, Setup, evidence, found, use_cpus


def test_a_server_that_uses_all_its_cpus_is_at_their_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        use_cpus(record, 1.95 if connections == 100 else 1.2)

    [finding] = found(plant).values()
    assert (finding.code, [p["connections"] for p in finding.points]) == ("cpu_limit", [100])
    assert evidence(finding)["CPUs available to it"] == 2
    assert "1.95 of the 2 CPUs" in finding.seen


def test_its_limit_counts_and_not_the_cpus_that_it_is_bound_to():
    limits = {"limits": LimitsRecord(cpus=0.5, memory_bytes=None)}
    assert set(found(lambda record, *_: use_cpus(record, 0.49), Setup(server=limits))) == {"cpu_limit"}
    assert found(lambda record, *_: use_cpus(record, 0.49)) == {}


@pytest.mark.parametrize(("throttled", "codes"), [(8, {"cpu_throttled"}), (0, {"cpu_limit"})])
def test_a_throttled_server_is_reported_as_such_and_not_as_a_busy_one(throttled: int, codes: set[str]):
    def plant(record: Data, trial: int, connections: float) -> None:
        use_cpus(record, 0.5)
        use = {"periods": 20, "throttled_periods": throttled, "throttled_s": 0.3}
        record["probe"]["throttling"] = use

    limits = {"limits": LimitsRecord(cpus=0.5, memory_bytes=None)}
    by_code = found(plant, Setup(server=limits))
    assert set(by_code) == codes
    if throttled:
        # 8 of 20 periods.
        assert evidence(by_code["cpu_throttled"])["throttled periods"] == 0.4


@pytest.mark.parametrize(("period_ms", "wait"), [(10.0, "up to 10 ms"), (None, "up to 100 ms")])
def test_a_throttled_server_makes_requests_wait_for_as_long_as_its_period(period_ms: float | None, wait: str):
    def plant(record: Data, trial: int, connections: float) -> None:
        use_cpus(record, 0.5)
        record["probe"]["throttling"] = {"periods": 20, "throttled_periods": 8, "throttled_s": 0.3}

    limits = {"limits": LimitsRecord(cpus=0.5, memory_bytes=None, period_ms=period_ms)}
    assert wait in found(plant, Setup(server=limits))["cpu_throttled"].cause


def test_one_thread_on_two_cpus_is_bound_to_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        counts = {"min": 1, "max": 1}
        use_cpus(record, 0.98, processes=counts, threads=counts)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("one_thread", "shown")


def test_the_busiest_thread_tells_which_one_is_the_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        thread = {"pid": 7, "thread": 7, "name": "node", "cpu_share": 0.97}
        use_cpus(record, 1.3, busiest_thread=thread)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("one_thread", "shown")
    assert "node" in finding.cause
    assert evidence(finding)["CPU of its busiest thread"] == 0.97


def test_two_threads_that_are_both_busy_are_not_one():
    thread = {"pid": 7, "thread": 7, "name": "nginx", "cpu_share": 0.93}
    assert found(lambda record, *_: use_cpus(record, 1.75, busiest_thread=thread)) == {}


def test_one_worker_with_helper_threads_is_likely_bound_to_one():
    settings = {"workers": 1}
    [finding] = found(lambda record, *_: use_cpus(record, 1.02), Setup(settings=settings)).values()
    assert (finding.code, finding.certainty) == ("one_thread", "likely")


def test_a_server_of_several_threads_may_use_one_cpu_without_being_bound_to_it():
    assert found(lambda record, *_: use_cpus(record, 1.0)) == {}


def one_of_four_processes_works(record: Data, of_one: float) -> None:
    thread = {"pid": 7, "thread": 7, "name": "nginx", "cpu_share": 0.97}
    process = {"pid": 7, "name": "nginx", "cpu_share": of_one}
    counts = {"min": 5, "max": 5}
    use_cpus(record, 1.0, busiest_thread=thread, busiest_process=process, processes=counts, threads=counts)


def test_where_one_of_several_workers_does_all_the_work_more_workers_are_not_the_advice():
    settings = {"workers": 4}
    planted = found(lambda record, *_: one_of_four_processes_works(record, 0.98), Setup(settings=settings))
    finding = planted["one_thread"]
    assert "Start more workers" not in finding.advice
    assert "SO_REUSEPORT" in finding.advice
    # 0.98 of 1.0 CPUs.
    assert "the busiest did 98 % of the work" in finding.cause
    assert evidence(finding)["CPU of its busiest process"] == 0.98


def test_where_the_processes_beside_the_busiest_work_too_more_of_them_are():
    finding = found(lambda record, *_: one_of_four_processes_works(record, 0.6))["one_thread"]
    assert "Start more workers" in finding.advice
