"""Requests that failed or got another answer than the right one."""

import pytest

from support.explained_run import Data, Setup, evidence, found


def test_fast_errors_are_reported_with_the_rate_of_the_good_answers():
    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 100:
            load = record["load"]
            load["rate_rps"]["answered"] = 40_000
            load["requests"]["ok"] = 250
            load["status"] |= {"2xx": 250, "5xx": 250}

    [finding] = found(plant, Setup(trials=2)).values()
    assert (finding.code, finding.weight) == ("wrong_answers", "invalidates")
    shown = evidence(finding)
    # Half of 500 answers.
    assert shown["requests without a correct answer"] == 0.5
    assert (shown["answers"], shown["correct answers"]) == (40_000, 20_000)
    assert finding.briefly == (
        "up to 50 % of the requests got no correct answer: these were answered with status 5xx"
    )


def test_wrong_answers_are_told_by_their_single_status_and_what_the_server_says_where_these_are_known():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"]["ok"] = 250
        load["status"] |= {"2xx": 250, "4xx": 250}
        load["statuses"] = [
            {"status": 200, "answered": 250, "wrong": 0},
            {"status": 404, "answered": 1, "wrong": 1, "body": "no page"},
            {"status": 415, "answered": 249, "wrong": 249, "body": "wants JSON"},
        ]

    [finding] = found(plant).values()
    assert finding.briefly.endswith("most of these were answered with status 415")
    assert 'Status 415 says: "wants JSON".' in finding.seen
    assert evidence(finding)["answers of status 415"] == 249


def test_a_server_that_limits_the_requests_of_a_client_is_told_from_one_that_fails():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"]["ok"] = 100
        load["status"] |= {"2xx": 100, "4xx": 400}
        load["statuses"] = [
            {"status": 200, "answered": 100, "wrong": 0},
            {"status": 404, "answered": 10, "wrong": 10},
            {"status": 429, "answered": 390, "wrong": 390},
        ]

    [finding] = found(plant).values()
    assert "limits how many requests a client may send" in finding.cause
    assert finding.advice.startswith("Switch the limit off for the measurement")


def test_answers_that_came_too_early_are_named_as_what_they_are():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"]["ok"] = 250
        load["status"] |= {"2xx": 250, "4xx": 250}
        load["statuses"] = [
            {"status": 200, "answered": 250, "wrong": 0},
            {"status": 425, "answered": 250, "wrong": 250},
        ]

    [finding] = found(plant).values()
    assert "status 425 (Too Early: the server does not process it before" in finding.briefly


def test_answers_of_the_status_that_a_list_expects_are_no_wrong_answers():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["status"] |= {"2xx": 250, "4xx": 250}
        load["unexpected_status"] = dict.fromkeys(load["status"], 0)

    assert found(plant) == {}


def test_answers_of_another_status_than_a_list_expects_are_wrong_whatever_it_is():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"]["ok"] = 250
        load["unexpected_status"] = dict.fromkeys(load["status"], 0) | {"2xx": 250}

    [finding] = found(plant).values()
    assert finding.briefly == (
        "up to 50 % of the requests got no correct answer: these were answered with status 2xx"
    )


def test_wrong_answers_whose_status_a_generator_does_not_tell_are_in_the_answer_without_it():
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["requests"]["ok"] = 250
        record["load"]["status"] = None

    [finding] = found(plant).values()
    assert finding.briefly == (
        "up to 50 % of the requests got no correct answer: these were answered with an error status"
    )


def test_short_bodies_are_wrong_answers():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 400, "ok": 400, "failed": 100}
        load["errors"]["mismatch"] = 100

    [finding] = found(plant).values()
    assert finding.code == "wrong_answers"
    assert finding.briefly is not None
    assert finding.briefly.endswith("these got an answer whose length differs from the verified one")
    assert evidence(finding)["requests that got an answer whose length differs from the verified one"] == 100


def test_a_single_reset_among_thousands_is_no_finding():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"due": 5001, "answered": 5000, "ok": 5000, "failed": 1}
        load["errors"]["reset"] = 1

    assert found(plant) == {}


def test_failures_and_error_statuses_that_a_tool_does_not_tell_apart_are_wrong_answers_too():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["status"] = None
        load["requests"] |= {"answered": 400, "ok": 300, "failed": 100}
        load["errors"] = dict.fromkeys(load["errors"]) | {"timeout": 40}

    [finding] = found(plant).values()
    shown = evidence(finding)
    assert shown["requests without a correct answer"] == 0.4
    assert shown["answers of an error status"] == 100
    assert shown["requests that failed for a reason that is not known"] == 60


ENDINGS = ("answer_begun", "kept_connection", "new_connection")


@pytest.mark.parametrize(
    ("ending", "weight", "cause", "advice"),
    [
        ("answer_begun", "invalidates", "in the middle of answers", "error log"),
        ("kept_connection", "distorts", "no limit of what it can serve", "idle timeout"),
        ("new_connection", "invalidates", "limit on connections", "number of connections"),
    ],
)
def test_closed_connections_have_the_cause_and_advice_of_what_had_come_before(
    ending: str, weight: str, cause: str, advice: str
):
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 400, "ok": 400, "failed": 100}
        load["errors"]["closed_early"] = 100
        load["broken_off"] = dict.fromkeys(ENDINGS, 20) | {ending: 60}

    [finding] = found(plant).values()
    assert (finding.code, finding.weight) == ("wrong_answers", weight)
    assert cause in finding.cause
    assert advice in finding.advice
    assert sorted(value for name, value in evidence(finding).items() if value in (20, 60)) == [20, 20, 60]


def test_closed_connections_of_records_that_do_not_tell_them_apart_have_the_general_cause():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 400, "ok": 400, "failed": 100}
        load["errors"]["closed_early"] = 100

    [finding] = found(plant).values()
    assert "a server may merely look fast" in finding.cause


def test_the_most_frequent_reason_is_quoted_with_its_count_and_an_example():
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 400, "ok": 400, "failed": 100}
        load["errors"]["malformed"] = 100
        load["error_messages"] = [
            {
                "operation": "GET /",
                "error": "malformed",
                "text": "a header has no colon",
                "example": "X-A b",
                "count": 90,
            }
        ]

    [finding] = found(plant).values()
    assert 'Most frequent reason, of 90: a header has no colon: "X-A b".' in finding.seen


@pytest.mark.parametrize(
    ("timeouts", "malformed", "named"),
    [
        (180, 100, "most of these were not answered within the timeout"),
        (20, 260, "most of these got an answer that cannot be read (a header has no colon)"),
    ],
)
def test_the_answer_gives_the_reason_of_the_failures_that_it_names_and_of_no_others(
    timeouts, malformed, named
):
    def plant(record: Data, trial: int, connections: float) -> None:
        load = record["load"]
        load["requests"] |= {"answered": 220, "ok": 220, "failed": timeouts + malformed}
        load["errors"] |= {"timeout": timeouts, "malformed": malformed}
        load["error_messages"] = [
            {"operation": "GET /", "error": "malformed", "text": text, "count": count}
            for text, count in (("a header has no colon", malformed - 20), ("a length is no number", 20))
        ]

    assert found(plant)["wrong_answers"].briefly.partition("correct answer: ")[2] == named
