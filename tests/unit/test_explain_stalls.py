"""Stretches in which a server answered nothing."""

import pytest

from loadcurve.result.machine import GENERATOR_PAUSED, TAKEN
from support.explained_run import Data, division, evidence, found, series, slow_request


def stall(record: Data, **more: object) -> None:
    """Nothing is answered from 0.9 s to 1.5 s, and requests that fell due before it wait for its end."""
    record["load"]["silences"] = [
        {"start_s": 0.9, "length_ms": 600},
        {"start_s": 0.2, "length_ms": 150},
        {"start_s": 0.1, "length_ms": 4},
    ]
    record["load"]["slowest"] = [slow_request(0.895 + 0.001 * n, 605 - n, n, **more) for n in range(10)]


@pytest.mark.parametrize(("cpu_in_stall", "cause"), [(0.0, "did nothing"), (0.5, "was busy throughout")])
def test_a_stall_is_reported_with_what_the_server_did_in_it(cpu_in_stall: float, cause: str):
    # The samples at 1.05 s to 1.45 s lie in the stall with their whole time.
    shares = [cpu_in_stall if 10 <= sample <= 14 else 0.25 for sample in range(20)]

    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(cpu_user_share=shares, cpu_system_share=shares)

    [finding] = found(plant).values()
    assert finding.code == "stall"
    assert "600 ms, from 0.90 s on, nothing was answered" in finding.seen
    assert cause in finding.cause
    shown = evidence(finding)
    assert shown["gaps without an answer as long as a stall"] == 2
    assert shown["slowest requests that were delayed"] == 10
    assert shown["CPU of the server in the stall"] == 2 * cpu_in_stall


def test_a_server_that_did_nothing_while_others_had_the_cpus_may_have_waited_for_one():
    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(cpu_user_share=[0.0] * 20, cpu_system_share=[0.0] * 20)
        record["probe"]["cpu_time"] = division(0.93, "yes")

    finding = found(plant)["stall"]
    assert "it may have waited for a CPU" in finding.cause


# Five samples lie in the stall of 0.6 s: 0.5 s of throttling is most of it, and 0.05 s is not.
@pytest.mark.parametrize(("in_sample_s", "certainty"), [(0.1, "shown"), (0.01, "likely")])
def test_throttling_for_most_of_a_stall_shows_its_cause_and_less_makes_it_likely(
    in_sample_s: float, certainty: str
):
    throttled = [in_sample_s if 10 <= sample <= 14 else 0.0 for sample in range(20)]

    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(throttled_s=throttled)

    [finding] = found(plant).values()
    assert "used its CPU quota" in finding.cause
    assert finding.certainty == certainty
    brief = "nothing was answered for 600 ms, because the CPU limit stopped the server"
    assert finding.briefly == (brief if certainty == "shown" else None)


@pytest.mark.parametrize(("stolen_cpus", "is_reported"), [(0.6, True), (0.4, False)])
def test_a_stall_in_which_the_host_took_the_processor_is_reported_as_that(
    stolen_cpus: float, is_reported: bool
):
    stolen = [stolen_cpus if 10 <= sample <= 14 else 0.0 for sample in range(20)]

    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        record["probe"]["series"] = series(steal_cpus=stolen)

    finding = next(one for one in found(plant).values() if one.code == "stall")
    assert ("The host did not run this machine's CPUs" in finding.cause) == is_reported


LATE = {"p50": 0.1, "p99": 0.2, "p99_9": 1, "max": 580}
STOPPED = {"status": "suspect", "reasons": [{"code": GENERATOR_PAUSED, "text": "stopped"}]}
TAKEN_FROM = {"status": "suspect", "reasons": [{"code": TAKEN, "text": "taken"}]}


@pytest.mark.parametrize(
    "otherwise",
    [
        pytest.param({"silences": [{"start_s": 0.9, "length_ms": 30}]}, id="others are answered meanwhile"),
        pytest.param({"slowest": []}, id="nothing was under way in it"),
        pytest.param({"rate_rps": {"answered": 20.0}}, id="requests are 50 ms apart"),
        pytest.param({"generator": {"lateness_ms": LATE}}, id="the generator stood still itself"),
        pytest.param({"verdict": STOPPED}, id="the process that sends the load was stopped"),
        pytest.param({"verdict": TAKEN_FROM}, id="other programs had the CPUs"),
    ],
)
def test_a_silence_that_is_not_the_servers_is_no_stall(otherwise: Data):
    def plant(record: Data, trial: int, connections: float) -> None:
        stall(record)
        for name, value in otherwise.items():
            before = record["load"][name]
            record["load"][name] = before | value if isinstance(before, dict) else value

    assert found(plant) == {}


def timed_out(record: Data, *, start_s: float = 0.69, error: str | None = "timeout") -> None:
    """Nothing is answered from 0.69 s to 2.72 s, and requests have a second for their answer."""
    record["load"]["silences"] = [{"start_s": 0.688, "length_ms": 2030}]
    record["load"]["slowest"] = [slow_request(start_s, 1000, n, error=error) for n in range(10)]


def test_a_stall_that_outlasts_the_timeout_of_the_requests_is_one():
    finding = found(lambda record, *_: timed_out(record))["stall"]
    assert "2,030 ms, from 0.69 s on, nothing was answered" in finding.seen
    assert evidence(finding)["slowest requests that were delayed"] == 10


@pytest.mark.parametrize(
    "otherwise",
    [
        pytest.param({"error": "reset"}, id="the server ended them itself"),
        pytest.param({"start_s": 0.4}, id="they waited for 29 % of their time before it"),
    ],
)
def test_a_long_silence_without_requests_that_timed_out_in_it_is_none(otherwise: Data):
    assert "stall" not in found(lambda record, *_: timed_out(record, **otherwise))


def test_connections_that_wait_for_a_lost_syn_are_no_stall():
    assert found(lambda record, *_: stall(record, syn_retransmits=1)) == {}
