"""Answers whose end waits for a delayed acknowledgement: where that is a finding, and where it is none."""

import pytest

from support.explained_run import Data, evidence, found
from support.measured_messages import FIGURES
from support.synthetic_run import distribution


def delay(
    record: Data,
    transfer_ms: float,
    *,
    acknowledgements: int | None,
    body_bytes: int = 1024,
    fastest_ms: float = 0.1,
) -> None:
    """Give a record transfers of one length but for one, and delayed acknowledgements for all together."""
    load = record["load"]
    answered = load["requests"]["answered"]
    load["transfer_ms"] = distribution([min(fastest_ms, transfer_ms)] + [transfer_ms] * (answered - 1))
    load["bytes"] |= {"header": 100 * answered, "body": body_bytes * answered}
    load["connections"] |= {"opened": 1, "replies_per_connection": float(answered)}
    load["kernel"]["delayed_acks"] = acknowledgements and acknowledgements * answered


def test_answers_that_end_after_forty_milliseconds_and_an_acknowledgement_each_are_a_finding():
    [finding] = found(lambda record, *_: delay(record, 44.0, acknowledgements=1)).values()
    assert (finding.code, finding.certainty) == ("delayed_acks", "shown")
    assert "took 44 ms or more from their first byte to their last" in finding.seen
    assert "of 1,124 bytes" in finding.seen
    # One request after the other, each of 44 ms.
    assert "about 23 requests per second" in finding.advice
    assert evidence(finding)["delayed acknowledgements per answer"] == 1


@pytest.mark.parametrize("transfer_ms", [35.0, 50.0])
def test_linux_delays_by_forty_milliseconds(transfer_ms: float):
    assert list(found(lambda record, *_: delay(record, transfer_ms, acknowledgements=1))) == ["delayed_acks"]


def test_other_systems_which_count_nothing_delay_by_two_hundred_milliseconds():
    assert list(found(lambda record, *_: delay(record, 200.0, acknowledgements=None))) == ["delayed_acks"]
    # A server that works for so long has an acknowledgement delayed in each of its answers, too.
    assert found(lambda record, *_: delay(record, 222.0, acknowledgements=1)) == {}


def test_a_pause_in_every_answer_may_be_the_servers_own():
    [finding] = found(lambda r, *_: delay(r, 44.0, acknowledgements=1, fastest_ms=42.0)).values()
    assert (finding.certainty, finding.briefly) == ("likely", None)
    assert "the server itself takes this time between two parts of an answer" in finding.advice


def test_answers_at_once_to_other_requests_do_not_show_that_the_pause_is_no_work():
    def plant(record: Data, *_: object) -> None:
        delay(record, 44.0, acknowledgements=1)
        [one] = record["load"]["operations"]
        other = {"answered": 0, "ok": 0, "latency_ms": distribution([])}
        record["load"]["operations"] = [one, {**one, "operation": "GET /other", **other}]

    [finding] = found(plant).values()
    assert finding.certainty == "likely"


def test_streams_of_messages_take_as_long_as_the_server_has_something_to_say():
    def plant(record: Data, *_: object) -> None:
        record["load"]["messages"] = dict(FIGURES)
        delay(record, 44.0, acknowledgements=1)

    assert "delayed_acks" not in found(plant)


@pytest.mark.parametrize("transfer_ms", [0.1, 30.0, 60.0, 150.0, 300.0])
def test_transfers_of_another_length_wait_for_something_else(transfer_ms: float):
    assert found(lambda record, *_: delay(record, transfer_ms, acknowledgements=1)) == {}


def test_a_server_that_itself_takes_that_long_between_two_writes_has_no_delayed_acknowledgements():
    assert found(lambda record, *_: delay(record, 44.0, acknowledgements=0)) == {}


def test_where_acknowledgements_are_not_counted_it_is_likely_for_answers_of_two_packets_and_no_longer():
    [finding] = found(lambda record, *_: delay(record, 44.0, acknowledgements=None)).values()
    assert (finding.certainty, finding.briefly) == ("likely", None)
    assert found(lambda record, *_: delay(record, 44.0, acknowledgements=None, body_bytes=3000)) == {}


def test_long_answers_take_as_long_as_they_take():
    assert found(lambda record, *_: delay(record, 44.0, acknowledgements=1, body_bytes=200_000)) == {}
