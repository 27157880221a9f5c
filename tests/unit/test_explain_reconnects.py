"""Connections that the server closes: by which of its rules."""

import pytest

from support.explained_run import Data, Setup, distribution_of, evidence, found, speak_http3


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


def think(record: Data, lifetime_ms: float, think_s: float = 1.5) -> None:
    """Each connection carries one answer and lives for so long; its client thinks before the next one."""
    end_by_server(record, (1, 1.0, 1))
    record["load"]["load"]["think_s"] = think_s
    record["load"]["latency_ms"] |= {"p50": 5.0}
    record["load"]["connections"]["lifetime_ms"] = distribution_of([lifetime_ms] * 20)


def test_connections_that_end_while_their_clients_think_are_not_closed_for_their_first_answer():
    finding = found(lambda record, *_: think(record, 1005.0))["reconnects"]
    assert finding.certainty == "likely"
    assert finding.cause.startswith(
        "The server ends connections that are idle for about 1 s, and the clients think for 1.5 s between "
        "requests."
    )
    assert "shorten the clients' think time" in finding.advice
    assert "the same timeout" in finding.advice


@pytest.mark.parametrize(("lifetime_ms", "think_s"), [(6.0, 1.5), (1005.0, 0.0)])
def test_connections_that_end_at_once_or_without_think_time_are_closed_for_their_first_answer(
    lifetime_ms, think_s
):
    finding = found(lambda record, *_: think(record, lifetime_ms, think_s))["reconnects"]
    assert finding.cause.startswith("The server closes each connection after its first answer.")


def end_idle(record: Data, idle_timeouts: int, **ends: object) -> None:
    """Over QUIC, the announced idle timeout is one second, and clients think for longer."""
    speak_http3(record, ends={"idle_timeouts": idle_timeouts, **ends})
    end_by_server(record, (1, 1.0, 1))
    record["load"]["load"]["think_s"] = 1.5


def test_an_idle_timeout_of_quic_is_named_with_what_the_server_announced():
    announced = {"min": 1000, "max": 1000}
    finding = found(lambda record, *_: end_idle(record, 50, server_idle_timeout_ms=announced))["reconnects"]
    assert finding.certainty == "shown"
    assert finding.cause.startswith(
        "The server ends connections that are idle for 1 s (announced), and the clients think for 1.5 s "
        "between requests."
    )
    assert evidence(finding)["connections ended by the idle timeout"] == 50


def test_connections_of_quic_that_most_end_in_another_way_are_not_idle():
    finding = found(lambda record, *_: end_idle(record, 20, closed=30))["reconnects"]
    assert finding.cause.startswith("The server closes each connection after its first answer.")


def test_connections_that_the_load_itself_closes_are_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        record["load"]["load"]["calls"] = 10

    assert found(plant) == {}


def test_connections_replaced_after_failures_are_reported_as_errors_and_not_as_closed():
    def plant(record: Data, trial: int, connections: float) -> None:
        close_after(record, 10.0)
        # The warm-up has its own failures, which no figure counts.
        record["load"]["requests"] |= {"answered": 460, "ok": 460, "failed": 40}
        record["load"]["errors"]["closed_early"] = 40

    assert set(found(plant)) == {"wrong_answers"}


def test_a_close_after_a_thousand_requests_is_too_rare_to_matter():
    assert found(lambda record, *_: close_after(record, 1000.0)) == {}


def end_by_server(record: Data, answers: tuple[int, float, int], *, lasting: int = 0) -> None:
    """The server ended 50 connections, by the least, the mean and the greatest number of their answers."""
    least, mean, greatest = answers
    close_after(record, mean)
    each = {"min": least, "mean": mean, "max": greatest}
    record["load"]["connections"] |= {
        "ended_by_server": {"count": 50, "answers": each},
        "lasting": lasting,
    }


def keep_all(record: Data) -> None:
    record["load"]["connections"] |= {"ended_by_server": {"count": 0, "answers": None}}


def test_connections_that_all_carried_the_same_number_of_answers_show_a_limit_without_any_setting():
    [finding] = found(lambda record, *_: end_by_server(record, (100, 100.0, 100))).values()
    assert finding.certainty == "shown"
    assert finding.cause.startswith("The server closes a connection after exactly 100 answers.")
    assert evidence(finding)["fewest answers before a close"] == 100
    assert evidence(finding)["most answers before a close"] == 100


@pytest.mark.parametrize(
    ("entry", "version", "named", "limit"),
    [
        ("tomcat", "10.1.5 Java 21.0.1", "Tomcat 10.1", 100),
        # Apache's MaxKeepAliveRequests leaves out the first.
        ("url", "Apache/2.4.41", "Apache 2.4", 101),
        ("apache-event", "2.4.41", "Apache 2.4", 101),
    ],
)
def test_a_limit_that_is_the_servers_default_is_reported_with_that(entry, version, named, limit):
    setup = Setup(server={"catalog_entry": entry, "version": version})
    [finding] = found(lambda record, *_: end_by_server(record, (limit, limit, limit)), setup).values()
    assert finding.cause.startswith(
        f"The server closes a connection after exactly {limit} answers, as {named} does by default."
    )


@pytest.mark.parametrize(
    ("entry", "version", "answers"),
    [
        ("tomcat", "9.0.1", 100),
        ("tomcat", "10.1.5", 40),
        ("url", "10.1.5", 100),
        ("url", "unknown/10.1", 100),
        ("tomcat", None, 100),
    ],
)
def test_no_default_is_named_of_another_version_or_another_number_of_answers(entry, version, answers):
    setup = Setup(server={"catalog_entry": entry, "version": version})
    [finding] = found(lambda record, *_: end_by_server(record, (answers, answers, answers)), setup).values()
    assert finding.cause.startswith(f"The server closes a connection after exactly {answers} answers.")


def test_nearly_the_same_number_of_answers_is_likely_a_limit():
    [finding] = found(lambda record, *_: end_by_server(record, (96, 99.0, 101))).values()
    assert finding.certainty == "likely"
    assert finding.cause.startswith("The server closes a connection after about 99 answers.")


def test_a_server_that_keeps_some_connections_and_closes_all_others_after_one_answer_limits_connections():
    def plant(record: Data, *_: float) -> None:
        end_by_server(record, (1, 1.0, 1), lasting=27)
        record["load"]["connections"]["replies_per_connection"] = 60.0

    [finding] = found(plant).values()
    assert finding.certainty == "shown"
    assert finding.cause.startswith("The server keeps at most 27 connections open")
    assert "use at most 27 connections" in finding.advice
    assert evidence(finding)["connections kept open throughout"] == 27


def test_a_server_that_closes_connections_only_where_there_are_many_limits_them_or_lets_none_wait():
    # 5, 10, 25, 50 and 100 connections; from 50 on it closes some, after any number of answers.
    def plant(record: Data, _trial: int, connections: float) -> None:
        if connections >= 50:
            end_by_server(record, (10, 11.6, 1041))
        else:
            keep_all(record)

    [finding] = found(plant).values()
    assert finding.certainty == "likely"
    assert "With up to 25 connections the server closed none" in finding.cause
    assert "after 10 to 1,041 answers" in finding.cause
    assert "when others wait for a worker" in finding.cause


def test_any_number_of_answers_before_a_close_is_no_limit_on_requests():
    [finding] = found(lambda record, *_: end_by_server(record, (1, 4.7, 53))).values()
    assert finding.certainty == "likely"
    assert "not after a fixed number" in finding.cause


def test_the_number_of_answers_holds_for_all_points_of_the_finding():
    # The most reconnections for each answer are at 5 connections, and the most answers before a close at 100.
    def plant(record: Data, _trial: int, connections: float) -> None:
        end_by_server(record, (10, 20.0, 30) if connections < 100 else (10, 40.0, 1041))

    [finding] = found(plant).values()
    assert "after 10 to 1,041 answers" in finding.cause
    assert evidence(finding)["fewest answers before a close"] == 10
    assert (
        max(one.high or one.value for one in finding.evidence if one.name.startswith("most answers")) == 1041
    )
