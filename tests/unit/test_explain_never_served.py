"""Connections that a server never turns to, however long they wait."""

from support.explained_run import CONNECTIONS, Data, Setup, evidence, found


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


def test_a_server_that_serves_all_and_one_of_which_that_is_not_known_give_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections != CONNECTIONS[0]:
            serve(record, int(connections), int(connections))

    assert found(plant) == {}
