"""A server that ends connections of HTTP/2 by GOAWAY."""

from support.explained_run import Data, Setup, distribution_of, evidence, found, speak_http2


def recycle(record: Data, *, ended: int = 50, by_error: int = 0, replies: float = 100.0) -> None:
    speak_http2(
        record,
        opened=ended + record["load"]["load"]["connections"],
        replies=replies,
        connections_ended=ended,
        connections_ended_by_error=by_error,
    )
    record["load"]["requests"]["moved"] = 700


def test_a_limit_on_requests_explains_why_connections_end():
    setup = Setup(settings={"keepalive_requests": 100})
    [finding] = found(lambda record, *_: recycle(record), setup).values()
    assert (finding.code, finding.certainty) == ("connections_recycled", "shown")
    assert "after 100 requests" in finding.cause
    assert evidence(finding)["requests sent again"] == 700
    assert "ended with an error" not in evidence(finding)


def test_an_end_without_a_known_limit_is_likely_a_rule_of_the_server():
    [finding] = found(lambda record, *_: recycle(record)).values()
    assert finding.certainty == "likely"
    # At 5 connections 55 with 100 replies each, of which 50 were ended.
    assert "one per 110 answers" in finding.seen


def test_connections_that_end_while_their_clients_think_are_ended_for_being_idle():
    def plant(record: Data, *_: float) -> None:
        recycle(record, replies=1.0)
        record["load"]["load"]["think_s"] = 1.5
        record["load"]["latency_ms"] |= {"p50": 5.0}
        record["load"]["connections"]["lifetime_ms"] = distribution_of([1005.0] * 20)

    finding = found(plant)["connections_recycled"]
    assert finding.cause.startswith(
        "The server ends connections that are idle for about 1 s, and the clients"
    )


def test_errors_are_reported_as_the_cause():
    [finding] = found(lambda record, *_: recycle(record, by_error=50)).values()
    assert finding.certainty == "shown"
    assert "because of an error" in finding.cause


def test_connections_that_end_after_a_thousand_requests_are_no_finding():
    assert found(lambda record, *_: recycle(record, replies=1000.0)) == {}


def test_a_few_connections_that_end_are_none():
    assert found(lambda record, *_: recycle(record, ended=4, replies=10.0)) == {}


def test_connections_that_close_unannounced_are_still_those_of_another_finding():
    def plant(record: Data, *_: float) -> None:
        recycle(record)
        record["load"]["load"] |= {"calls": None}
        record["load"]["connections"] |= {"opened": 400, "replies_per_connection": 100.0}

    assert set(found(plant)) == {"reconnects"}


def test_a_server_that_ends_each_connection_after_the_same_number_of_answers_has_a_limit():
    def plant(record: Data, *_: float) -> None:
        recycle(record)
        by_code = [{"code": "NO_ERROR", "count": 50}]
        record["load"]["http2"] |= {"connections_ended_by": by_code, "streams_abandoned": 0}
        each = {"min": 101, "mean": 101.0, "max": 101}
        record["load"]["connections"]["ended_by_server"] = {"count": 50, "answers": each}

    [finding] = found(plant).values()
    assert finding.certainty == "shown"
    assert finding.cause.startswith("The server ends a connection after exactly 101 answers.")
    assert "requests left unanswered" not in evidence(finding)


def test_the_error_of_the_announcements_is_named_with_what_it_says():
    def plant(record: Data, *_: float) -> None:
        recycle(record, by_error=49)
        codes = {"NO_ERROR": 1, "ENHANCE_YOUR_CALM": 49}
        by_code = [{"code": code, "count": count} for code, count in codes.items()]
        record["load"]["http2"]["connections_ended_by"] = by_code

    [finding] = found(plant).values()
    assert "because of an error (ENHANCE_YOUR_CALM: it found the load excessive)" in finding.cause


def test_requests_that_the_server_was_to_answer_and_has_not_are_counted():
    def plant(record: Data, *_: float) -> None:
        recycle(record)
        record["load"]["http2"]["streams_abandoned"] = 545

    [finding] = found(plant).values()
    assert "Up to 545 requests that it was to answer by its announcement failed" in finding.seen
    assert evidence(finding)["requests left unanswered"] == 545
