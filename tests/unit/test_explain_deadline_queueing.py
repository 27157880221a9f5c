"""Calls that miss their deadline: where a queue is the cause, and where it is not."""

import pytest

from support.explained_run import Data, evidence, found
from support.synthetic_run import distribution

SENT = 2000
CODE = "deadline_missed_in_queue"


def calls(
    record: Data, *, service_ms: list[float], missed: int = 0, error: str = "timeout", timeout_s: float = 0.2
) -> None:
    """Make the requests of a record calls of gRPC; ``missed`` of them missed their deadline."""
    load = record["load"]
    load["load"] |= {"messages": "grpc", "http": "2", "timeout_s": timeout_s, "streams": 10}
    answered = SENT - missed
    load["requests"] |= {
        "due": SENT,
        "sent": SENT,
        "answered": answered,
        "ok": answered,
        "failed": missed,
    }
    load["service_time_ms"] = load["latency_ms"] = distribution(service_ms)
    load["errors"] |= {error: missed}


def plant(*, quick_ms=(5.0,), slow_ms=(150.0,), missed=400, **more):
    """Points of at most 25 connections are served at once; at those of more, calls miss their deadline."""

    def planted(record: Data, _trial: int, connections: float) -> None:
        if connections <= 25:
            calls(record, service_ms=[*quick_ms] * 1000, **more)
        else:
            calls(record, service_ms=[*slow_ms] * 1000, missed=missed, **more)

    return planted


@pytest.mark.parametrize("error", ["timeout", "grpc_deadline_exceeded"])
def test_a_deadline_that_is_long_for_a_call_is_missed_in_a_queue_whoever_gives_up(error):
    finding = found(plant(error=error))[CODE]
    assert [point["connections"] for point in finding.points] == [50, 100]
    assert finding.certainty == "likely"
    assert finding.seen.startswith(
        "Up to 20 % of the calls were not answered within 200 ms, although nginx needs 5 ms"
    )
    figures = evidence(finding)
    assert figures["calls that missed their deadline"] == 400
    assert figures["median service time where hardly any missed it"] == pytest.approx(5, rel=0.01)
    assert figures["median service time here"] == pytest.approx(150, rel=0.01)
    # 50 and 100 connections with ten streams each.
    assert figures["calls under way, at most"] == 750


@pytest.mark.parametrize(
    "planted",
    [
        # Serving a call takes a good part of the deadline.
        plant(quick_ms=[50.0]),
        # One call of fifty misses it, however few there are.
        lambda record, *_: calls(record, service_ms=[5.0] * 1000, missed=40),
        # The other calls are as quick as ever: the server stood still for a while.
        plant(slow_ms=[5.0]),
        # Hardly any missed it.
        plant(missed=9),
        # No record shows how long serving takes.
        lambda record, *_: calls(record, service_ms=[150.0] * 1000, missed=400),
    ],
)
def test_what_else_lets_calls_miss_a_deadline_is_no_such_finding(planted):
    assert CODE not in found(planted)


def test_half_of_the_calls_are_no_moment():
    assert CODE in found(plant(slow_ms=[5.0], missed=1000))


def test_calls_that_were_never_sent_are_among_all_of_which_a_share_missed_its_deadline():
    def planted(record: Data, trial: int, connections: float) -> None:
        plant(missed=1500)(record, trial, connections)
        if connections > 25:
            # They waited for a stream.
            record["load"]["requests"]["sent"] = SENT - 1400

    assert found(planted)[CODE].seen.startswith("Up to 75 % of the calls were not answered within 200 ms")


def test_requests_that_are_no_calls_have_no_deadline():
    def requests(record: Data, trial: int, connections: float) -> None:
        plant()(record, trial, connections)
        del record["load"]["load"]["messages"]

    assert CODE not in found(requests)
