"""Connections that the server closes: by which of its rules."""

from support.explained_run import Data, Setup, distribution_of, evidence, found


def close_after(record: Data, replies: float) -> None:
    connections = record["load"]["load"]["connections"]
    record["load"]["connections"] |= {
        "opened": connections + 50,
        "replies_per_connection": replies,
    }


def test_a_limit_of_requests_for_each_connection_is_named_as_the_cause_of_reconnects():
    settings = {"keepalive_requests": 100}
    [finding] = found(lambda record, *_: close_after(record, 98.0), Setup(settings=settings)).values()
    assert (finding.code, finding.certainty) == ("reconnects", "shown")
    assert "after 100 requests" in finding.cause
    assert finding.briefly is not None
    assert finding.briefly.endswith(
        "because the server is configured to close a connection after 100 requests"
    )
    assert evidence(finding)["reconnections"] == 50


def test_reconnects_that_no_setting_explains_are_reported_as_likely_a_rule_of_the_server():
    [finding] = found(lambda record, *_: close_after(record, 40.0)).values()
    assert (finding.code, finding.certainty, finding.briefly) == ("reconnects", "likely", None)


def test_reconnects_while_processes_come_and_go_are_reported_as_likely_due_to_them():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 40.0)
        record["probe"]["server"]["processes"] = {"min": 4, "max": 5}

    finding = found(plant)["reconnects"]
    assert (finding.certainty, finding.briefly) == ("likely", None)
    assert finding.cause.startswith("The number of the server's processes changed during this load")
    assert "the same number of processes" in finding.advice


def test_an_idle_timeout_explains_connections_that_lived_as_long():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 40.0)
        record["load"]["connections"]["lifetime_ms"] = distribution_of([5100.0] * 20)

    [finding] = found(plant, Setup(settings={"keepalive_timeout": 5})).values()
    assert finding.certainty == "shown"
    assert "idle for 5 s" in finding.cause


def test_connections_that_the_load_itself_closes_are_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        record["load"]["load"]["calls"] = 10

    assert found(plant) == {}


def test_connections_replaced_after_failures_are_reported_as_errors_and_not_as_closed():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        # The warm-up has its own failures, which no figure counts.
        record["load"]["requests"]["failed"] = 40
        record["load"]["errors"]["closed_early"] = 40

    assert set(found(plant)) == {"wrong_answers"}


def test_a_close_after_a_thousand_requests_is_too_rare_to_matter():
    assert found(lambda record, *_: close_after(record, 1000.0)) == {}
