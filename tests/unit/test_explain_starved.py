"""Answers that had begun and were left behind, over HTTP/2 and HTTP/3."""

import pytest

from support.explained_run import Data, evidence, found, slow_request, speak_http2, speak_http3


def speak(record: Data, http: str, answers: int | None) -> None:
    if http == "2":
        speak_http2(record, answers_starved=answers)
    else:
        speak_http3(record, streams={"answers_starved": answers})


def starve(record: Data, http: str, answers: int | None, transfer_ms: float = 900.0) -> None:
    speak(record, http, answers)
    slow = slow_request(1.0, transfer_ms + 5.0, 3)
    slow["first_byte_ms"] = 5.0
    record["load"]["slowest"] = [slow]
    record["load"]["latency_ms"]["p50"] = 100.0


@pytest.mark.parametrize("http", ["2", "3"])
def test_answers_that_others_passed_after_their_first_byte_are_a_finding(http: str):
    [finding] = found(lambda record, *_: starve(record, http, 5)).values()
    assert (finding.code, finding.certainty) == ("answers_starved", "likely")
    assert evidence(finding)["answers left behind"] == 5
    assert evidence(finding)["longest time from the first byte to the end"] == 900.0


@pytest.mark.parametrize("answers", [4, None])
def test_a_few_answers_and_a_record_that_did_not_count_them_are_none(answers: int | None):
    assert found(lambda record, *_: starve(record, "3", answers)) == {}


def test_one_that_timed_out_is_a_finding():
    def plant(record: Data, *_: float) -> None:
        starve(record, "3", 1)
        record["load"]["slowest"][0]["error"] = "timeout"

    assert found(plant).keys() == {"answers_starved"}


def test_answers_that_were_soon_over_all_the_same_are_none():
    assert found(lambda record, *_: starve(record, "3", 5, transfer_ms=499.0)) == {}
    assert found(lambda record, *_: starve(record, "3", 5, transfer_ms=500.0)).keys() == {"answers_starved"}
