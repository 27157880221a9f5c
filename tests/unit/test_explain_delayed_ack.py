"""Answers whose end waits for a delayed acknowledgement: where that is a finding, and where it is none."""

import pytest

from support.explained_run import Data, evidence, found
from support.synthetic_run import distribution


def delay(record: Data, transfer_ms: float, *, acknowledgements: int | None, body_bytes: int = 1024) -> None:
    """Give a record transfers of one length, and delayed acknowledgements for all answers together."""
    load = record["load"]
    answered = load["requests"]["answered"]
    load["transfer_ms"] = distribution([transfer_ms] * answered)
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


@pytest.mark.parametrize("transfer_ms", [35.0, 50.0, 200.0])
def test_other_systems_delay_by_two_hundred_milliseconds(transfer_ms: float):
    assert list(found(lambda record, *_: delay(record, transfer_ms, acknowledgements=1))) == ["delayed_acks"]


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
