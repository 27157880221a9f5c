"""Head-of-line blocking: answers that wait for a lost segment, or for a long answer on their connection."""

from support.explained_run import Data, evidence, found, series, slow_request, speak_http2

SAMPLES = 20
"""The probe's, every 0.1 s from 0.05 s on."""


def slow(done_s: float, latency_ms: float, connection: int = 3) -> Data:
    return slow_request(done_s - latency_ms / 1000, latency_ms, connection)


def lose(
    record: Data, *, requests: list[Data], lost_at: int | None = 10, streams: int = 100, arrived: int = 0
) -> None:
    """Plant slow requests, and segments that were sent again in one sample, of which some had arrived."""
    speak_http2(record, streams=streams)
    record["load"]["slowest"] = requests
    retransmits = [3 if sample == lost_at else 0 for sample in range(SAMPLES)]
    record["probe"]["series"] = series(
        SAMPLES,
        retransmits=retransmits,
        dsacks_received=[arrived if sample == lost_at else 0 for sample in range(SAMPLES)],
    )


TOGETHER = [slow(1.1, 210.0 + place) for place in range(8)]
"""Answered at 1.1 s, when they had waited since 0.883 s or later: in the samples at 0.95 and 1.05 s."""


def test_slow_requests_that_are_answered_together_after_a_loss_on_their_connection_are_a_finding():
    [finding] = found(lambda record, *_: lose(record, requests=TOGETHER)).values()
    assert (finding.code, finding.certainty) == ("blocked_by_loss", "likely")
    assert evidence(finding)["slow requests that were answered together"] == 8
    assert evidence(finding)["longest latency of these"] == 217.0
    assert evidence(finding)["segments retransmitted that had not arrived"] == 3


def test_without_a_segment_that_was_sent_again_it_was_something_else():
    assert found(lambda record, *_: lose(record, requests=TOGETHER, lost_at=None)) == {}


def test_segments_that_had_arrived_when_they_were_sent_again_were_not_lost():
    # A probe for a loss at the end goes out when an acknowledgement is delayed, and its receiver says so.
    assert found(lambda record, *_: lose(record, requests=TOGETHER, arrived=3)) == {}
    [finding] = found(lambda record, *_: lose(record, requests=TOGETHER, arrived=2)).values()
    assert evidence(finding)["segments retransmitted that had not arrived"] == 1


def test_a_loss_at_another_time_explains_nothing():
    assert found(lambda record, *_: lose(record, requests=TOGETHER, lost_at=15)) == {}


def test_slow_requests_of_many_connections_do_not_wait_for_one():
    scattered = [slow(1.1, 210.0 + place, connection=place) for place in range(8)]
    assert found(lambda record, *_: lose(record, requests=scattered)) == {}


def test_slow_requests_that_are_answered_one_after_the_other_do_not_wait_for_the_same():
    in_turn = [slow(1.1 + 0.002 * place, 210.0) for place in range(8)]
    assert found(lambda record, *_: lose(record, requests=in_turn)) == {}


def test_one_stream_on_each_connection_has_nothing_to_hold_back():
    assert found(lambda record, *_: lose(record, requests=TOGETHER, streams=1)) == {}


def wait_behind(record: Data, answers: int, transfer_ms: float = 40.0) -> None:
    speak_http2(record, answers_behind_long=answers)
    record["load"]["transfer_ms"]["max"] = transfer_ms


def test_short_answers_that_come_behind_long_ones_are_a_finding():
    # 5,000 replies in all.
    [finding] = found(lambda record, *_: wait_behind(record, 4000)).values()
    assert (finding.code, finding.certainty) == ("blocked_by_long_answers", "likely")
    assert evidence(finding)["share of all answers"] == 0.8
    assert evidence(finding)["longest transfer"] == 40.0


def test_a_few_that_do_are_none():
    assert found(lambda record, *_: wait_behind(record, 499)) == {}


def test_long_answers_that_arrive_at_once_hold_nothing_back():
    assert found(lambda record, *_: wait_behind(record, 4000, transfer_ms=4.0)) == {}
