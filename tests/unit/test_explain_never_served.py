"""Connections that a server never turns to, however long they wait."""

import pytest

from support.explained_run import CONNECTIONS, Data, Setup, division, evidence, found


def serve(record: Data, served: int, asked: int, oldest_ms: float | None = 7000.0) -> None:
    record["load"]["connections"] |= {"asked": asked, "served": served}
    waiting = asked - served
    if waiting and oldest_ms is not None:
        record["load"]["waited_through"] = {
            "requests": waiting,
            "connections": waiting,
            "of_connections": asked,
            "oldest_ms": oldest_ms,
        }


def serve_five(record: Data, trial: int, connections: float) -> None:
    serve(record, min(5, int(connections)), int(connections))


def test_a_server_that_serves_a_fixed_number_of_connections_is_found_by_what_stays_the_same():
    finding = found(serve_five)["never_served"]
    assert (finding.weight, finding.certainty) == ("invalidates", "shown")
    assert finding.seen == "The server serves 5 connections at a time, however many there are."
    assert [point["connections"] for point in finding.points] == [10, 25, 50, 100]
    figures = evidence(finding)
    assert figures["connections answered in the window"] == 5
    assert figures["the longest wait at the end"] == 7
    assert "load it with at most 5" in finding.advice
    assert finding.briefly is not None
    assert "serves 5 at a time" in finding.briefly


def test_at_one_load_alone_the_number_is_reported_without_calling_it_a_limit():
    finding = found(serve_five, Setup(values=(5, 20)))["never_served"]
    assert (finding.certainty, finding.briefly) == ("likely", None)
    assert finding.seen == "The server answered on 5 of 20 connections, and on the others never."
    assert "accepts one connection at a time" not in finding.cause


def test_after_a_short_wait_a_server_that_accepts_slowly_is_the_first_cause_named():
    def plant(record: Data, trial: int, connections: float) -> None:
        # As Node.js 20 under a load of one second.
        serve(record, min(31, int(connections)), int(connections), oldest_ms=1100.0)

    finding = found(plant, Setup(values=(20, 64)))["never_served"]
    assert finding.cause.startswith("A server that accepts one connection at a time")
    assert finding.advice.startswith("Repeat it with a longer warm-up or without --quick")


def test_a_number_that_differs_from_load_to_load_is_no_limit():
    def plant(record: Data, trial: int, connections: float) -> None:
        serve(record, int(connections) - 1, int(connections))

    assert found(plant)["never_served"].certainty == "likely"


def test_connections_that_fail_again_and_again_are_no_queue():
    def plant(record: Data, trial: int, connections: float) -> None:
        serve(record, min(5, int(connections)), int(connections), oldest_ms=None)

    finding = found(plant)["never_served"]
    assert finding.certainty == "likely"
    assert "the longest wait at the end" not in evidence(finding)


@pytest.mark.parametrize(
    ("answered", "is_found"),
    [
        # 0.75 answers for each of 200: chance leaves 200 exp(-0.75) = 94 without one; 103 are about as many.
        (150, False),
        # 5 for each: chance leaves 200 exp(-5) = 1.3.
        (1_000, True),
    ],
)
def test_a_window_too_short_for_an_answer_on_each_connection_is_no_sign(answered: int, is_found: bool):
    def plant(record: Data, trial: int, connections: float) -> None:
        serve(record, 97, 200, oldest_ms=500.0)
        record["load"]["requests"] |= {"due": answered + 103, "sent": answered + 103, "answered": answered}
        record["load"]["requests"] |= {"unanswered": 103}

    assert ("never_served" in found(plant)) == is_found


def test_where_others_had_the_cpus_connections_without_an_answer_are_no_sign():
    def plant(record: Data, trial: int, connections: float) -> None:
        serve_five(record, trial, connections)
        record["probe"]["cpu_time"] = division(0.93, "yes")

    assert "never_served" not in found(plant)


def test_a_server_that_serves_all_and_one_of_which_that_is_not_known_give_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections != CONNECTIONS[0]:
            serve(record, int(connections), int(connections))

    assert found(plant) == {}
