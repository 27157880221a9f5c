"""TLS sessions that were not resumed: where that is a finding, and which cause its counts leave."""

import pytest

from loadcurve.explain.finding import Finding
from support.encrypted_run import tls_result
from support.explained_run import Data, evidence, found


def resuming(
    record: Data, full: int, resumed: int, refused: int = 0, *, asked: float = 0.0, processes: int = 1
) -> None:
    """Give a record handshakes of quick ones in its window, a share of which was to be full."""
    load = record["load"]
    load["load"] |= {"scheme": "https", "full_handshakes": asked, "calls": 200}
    load["connections"] |= {"opened": full + resumed, "replies_per_connection": 200.0, "rate_cps": 100.0}
    quick = {"full_ms": [0.1] * full, "resumed_ms": [0.1] * resumed}
    load["tls"] = tls_result(full, resumed, refused=refused, **quick)
    record["probe"]["server"]["processes"] = {"min": processes, "max": processes}


def of(full: int, resumed: int, refused: int, *, processes: int = 1) -> Finding:
    findings = found(lambda record, *_: resuming(record, full, resumed, refused, processes=processes))
    assert list(findings) == ["not_resumed"]
    return findings["not_resumed"]


@pytest.mark.parametrize(
    ("full", "resumed", "asked"),
    [(500, 500, 0.5), (50, 950, 0.0), (1000, 0, 1.0), (19, 0, 0.0), (0, 0, 0.0)],
)
def test_full_handshakes_within_five_points_of_what_was_asked_for_are_no_finding(
    full: int, resumed: int, asked: float
):
    assert found(lambda record, *_: resuming(record, full, resumed, full, asked=asked)) == {}


def test_a_server_that_sends_no_ticket_on_a_resumed_connection_shows_in_connections_without_one():
    # Two tickets for each full handshake, and none otherwise: every third handshake is full.
    finding = of(400, 800, 0)
    assert finding.certainty == "shown"
    assert "resumed 800 of the 1,200 TLS sessions" in finding.seen
    assert (
        "33 % of the handshakes were full instead of 0 %: 400 connections had no session to offer."
        in finding.seen
    )
    assert "2 were resumed for each full one" in finding.cause
    assert evidence(finding)["connections without a session"] == 400


def test_processes_that_do_not_know_each_others_sessions_show_in_sessions_that_were_refused():
    finding = of(750, 250, 750, processes=4)
    assert finding.certainty == "likely"
    assert "750 offered sessions were refused" in finding.seen
    assert "has 4 processes" in finding.cause
    assert "one of 4" in finding.cause


def test_of_one_process_that_refuses_sessions_the_store_is_too_small():
    finding = of(900, 100, 900)
    assert finding.certainty == "likely"
    assert "its store keeps fewer than" in finding.cause
    assert "processes" not in finding.cause


def test_a_server_without_tickets_and_sessions_shows_in_connections_that_never_had_one():
    finding = of(1000, 0, 0)
    assert finding.certainty == "shown"
    assert "sent no session ticket" in finding.cause


def test_records_of_earlier_versions_say_how_many_were_not_resumed_and_not_which_end_had_none():
    def plant(record: Data, *_: float) -> None:
        resuming(record, 0, 0)
        record["load"]["tls"] = tls_result(1000, 0)

    [finding] = found(plant).values()
    assert (finding.code, finding.certainty) == ("not_resumed", "shown")
    # Of 1,000 connections as many as are open at once have no session to go on with.
    assert "of the 995 TLS sessions" in finding.seen
    assert "or fewer than the connections require" in finding.cause
