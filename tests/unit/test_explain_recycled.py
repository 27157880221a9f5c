"""A server that ends connections of HTTP/2 by GOAWAY."""

from support.explained_run import Data, Setup, evidence, found, speak_http2


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
