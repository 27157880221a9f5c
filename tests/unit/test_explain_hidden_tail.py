"""Waiting that a closed loop would have hidden."""

from support.explained_run import Data, found


def open_load(record: Data, latency_p99_ms: float, service_p99_ms: float) -> None:
    record["load"]["load"] |= {"model": "open", "rate_rps": 1000.0, "arrivals": "constant"}
    record["load"]["latency_ms"]["p99"] = latency_p99_ms
    record["load"]["service_time_ms"]["p99"] = service_p99_ms


def test_a_tail_that_a_closed_loop_would_have_hidden_is_reported():
    [finding] = found(lambda record, *_: open_load(record, 120, 3)).values()
    assert finding.code == "hidden_tail"
    assert "p99 of 3 ms, instead of 120 ms" in finding.seen


def test_a_replay_is_an_open_loop_too():
    def plant(record: Data, trial: int, connections: float) -> None:
        open_load(record, 120, 3)
        record["load"]["load"] |= {"rate_rps": None, "arrivals": "recorded", "speed": 2.0}

    [finding] = found(plant).values()
    assert finding.code == "hidden_tail"


def test_without_waiting_for_a_connection_both_loops_agree():
    assert found(lambda record, *_: open_load(record, 3.4, 3)) == {}


def test_a_wait_that_is_the_generators_own_is_not_attributed_to_the_server():
    def plant(record: Data, trial: int, connections: float) -> None:
        open_load(record, 120, 3)
        record["load"]["generator"]["lateness_ms"] = {"p50": 1, "p99": 100, "p99_9": 110, "max": 120}

    assert found(plant) == {}


def test_a_short_load_of_a_late_generator_is_not_attributed_to_the_server_either():
    def plant(record: Data, trial: int, connections: float) -> None:
        open_load(record, 120, 3)
        record["load"]["latency_ms"] |= {"p99": None, "p95": 120}
        record["load"]["service_time_ms"] |= {"p99": None, "p95": 3}
        record["load"]["generator"]["lateness_ms"] = {"p50": 1, "p99": None, "p99_9": None, "max": 120}

    assert found(plant) == {}
