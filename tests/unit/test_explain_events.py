"""Events that arrive together: where that is a finding, and where it is none."""

from types import SimpleNamespace

import pytest

from loadcurve.explain.events_missing import missing_in
from support.explained_run import Data, evidence, found, slow_request
from support.synthetic_run import distribution


def stream(record: Data, *, gaps_ms: list[float], first_ms: float, together: int | None = None) -> None:
    """Give a record the events of streams: gaps of these lengths, and two first ones after so long."""
    record["load"]["messages"] = {
        "kind": "events",
        "first_event_ms": distribution([first_ms + 1] * 2),
        "first_event_from_sent_ms": distribution([first_ms] * 2),
        "gap_ms": distribution(gaps_ms),
        "received": len(gaps_ms) + 2,
        "received_per_s": float(len(gaps_ms) + 2),
        "data_bytes": 10 * (len(gaps_ms) + 2),
        "together": gaps_ms.count(0.0) if together is None else together,
        "delivered": 0,
        "expected": None,
        "ended_by_client": 0,
    }


def test_events_that_come_all_at_once_after_a_while_are_likely_to_have_been_buffered():
    [finding] = found(lambda record, *_: stream(record, gaps_ms=[0.0] * 38, first_ms=400)).values()
    assert (finding.code, finding.certainty) == ("events_together", "likely")
    assert "At least 100 % of the events" in finding.seen
    assert "after up to 400 ms without any" in finding.seen
    assert "proxy_buffering off" in finding.advice
    assert evidence(finding)["events together with the one before"] == 1


def test_a_buffer_that_is_emptied_when_it_is_full_shows_long_gaps_among_many_of_none():
    gaps_ms = [*[0.0] * 90, *[500.0] * 10]
    [finding] = found(lambda record, *_: stream(record, gaps_ms=gaps_ms, first_ms=1)).values()
    assert evidence(finding)["longest gap"] == 500
    assert evidence(finding)["events together with the one before"] == 0.9


@pytest.mark.parametrize(
    ("gaps_ms", "first_ms"),
    [
        # They come as they are sent.
        ([20.0] * 38, 400),
        # One of five waits with the one before, as on a busy machine.
        ([*[0.0] * 8, *[25.0] * 32], 20),
        # All at once, and at once: a short answer.
        ([0.0] * 38, 5),
        # Too few to say.
        ([0.0] * 17, 400),
    ],
)
def test_events_that_come_one_by_one_or_at_once_or_hardly_any_are_no_finding(gaps_ms, first_ms):
    assert found(lambda record, *_: stream(record, gaps_ms=gaps_ms, first_ms=first_ms)) == {}


def test_answers_that_lack_events_are_named_with_how_many():
    def plant(record: Data, trial: int, connections: float) -> None:
        stream(record, gaps_ms=[20.0] * 38, first_ms=5)
        requests = record["load"]["requests"]
        requests |= {"answered": requests["due"], "failed": 0, "unanswered": 0, "never_sent": 0}
        record["load"]["messages"] |= {
            "delivered": 10 * requests["answered"],
            "expected": 12 * requests["due"],
        }

    [finding] = found(plant).values()
    assert (finding.code, finding.weight) == ("events_missing", "distorts")
    assert "each answer had 10 events of 12 expected, so 17 % are missing" in finding.seen


def load_of_ten(delivered: int, *, failed: int = 0, unanswered: int = 0, ended_by_client: int = 0):
    """Ten requests, whose answers were to have twelve events each."""
    answered = 10 - failed - unanswered
    return SimpleNamespace(
        messages=SimpleNamespace(
            delivered=delivered, expected=120, kind="events", ended_by_client=ended_by_client
        ),
        requests=SimpleNamespace(due=10, answered=answered, failed=failed, unanswered=unanswered),
    )


@pytest.mark.parametrize(("delivered", "share"), [(120, None), (119, None), (105, 1 / 8)])
def test_events_that_answers_lack_are_missing_from_one_percent_on(delivered, share):
    missing = missing_in(load_of_ten(delivered))
    assert (missing and missing.share) == (share and pytest.approx(share))


@pytest.mark.parametrize("other", ["failed", "unanswered", "ended_by_client"])
def test_where_streams_may_end_early_for_another_reason_nobody_knows_what_answers_lack(other):
    """The count has the events of such requests, too, as far as they came."""
    assert missing_in(load_of_ten(60, **{other: 1})) is None


@pytest.mark.parametrize(("ended_by_client", "is_found"), [(0, True), (10, False)])
def test_connections_that_end_with_the_streams_that_the_client_ends_are_not_closed_by_the_server(
    ended_by_client, is_found
):
    def plant(record: Data, trial: int, connections: float) -> None:
        stream(record, gaps_ms=[20.0] * 38, first_ms=5)
        record["load"]["messages"]["ended_by_client"] = ended_by_client
        opened = record["load"]["load"]["connections"] + 50
        record["load"]["connections"] |= {"opened": opened, "replies_per_connection": 1.0}

    assert ("reconnects" in found(plant)) == is_found


@pytest.mark.parametrize("are_streams", [False, True])
def test_the_time_between_the_ends_of_streams_is_no_stall(are_streams):
    def plant(record: Data, trial: int, connections: float) -> None:
        record["load"]["silences"] = [{"start_s": 0.9, "length_ms": 600}]
        record["load"]["slowest"] = [slow_request(0.895 + 0.001 * n, 605 - n, n) for n in range(10)]
        if are_streams:
            stream(record, gaps_ms=[20.0] * 38, first_ms=5)

    assert ("stall" in found(plant)) == (not are_streams)
