"""Loads whose messages many others receive: options, records, and a server that waits for one of them."""

import json

import pytest
from pydantic import ValidationError

from loadcurve.result.messages import DeliveriesResult
from loadcurve.runs.plan import plan_at_point
from support.explained_run import evidence, found
from support.http_load_study import CLOSED, load_of, problems_in, study_file
from support.measured_messages import deliveries
from support.read_study import read_study

WEBSOCKET = CLOSED + 'messages = "websocket"\n'


def with_deliveries(**figures):
    return lambda record, *_: record["load"].update(deliveries=deliveries(**figures))


def test_subscribers_are_a_part_of_the_messages_of_a_plan_with_one_thread(tmp_path):
    load = load_of(tmp_path, WEBSOCKET + "subscribers = 5000\n")
    plan = plan_at_point(load, "127.0.0.1:1", {}, (0, 1), 0)
    assert plan.threads == 1
    assert json.loads(plan.to_json())["http"]["work"]["messages"] == {"websocket": {"subscribers": 5000}}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('messages = "events"\nsubscribers = 5\n', 'only used with messages = "websocket"'),
        ('messages = "websocket"\nsubscribers = 0\n', "subscribers"),
        ('messages = "websocket"\nsubscribers = 5\nthreads = 2\n', "with subscribers there is 1 thread"),
        ('messages = "websocket"\nsubscribers = 5\ncalls = 2\n', "connections of publishers are kept"),
    ],
)
def test_subscribers_that_nothing_can_be_published_for_are_refused(tmp_path, keys, said):
    [problem] = problems_in(tmp_path, CLOSED + keys)
    assert said in problem


def test_no_more_is_delivered_than_was_expected():
    with pytest.raises(ValidationError, match="400 of 399 expected deliveries"):
        DeliveriesResult.model_validate(deliveries(expected=399))


def test_a_server_that_waits_between_two_subscribers_is_a_finding():
    [finding] = found(with_deliveries(step_ms=50.0, spread_ms=53.0)).values()
    assert finding.code == "fan_out_stalls"
    assert finding.seen.startswith("90 of 100 subscribers")
    assert "50" in finding.seen
    assert evidence(finding)["step between the two groups"] == 50


@pytest.mark.parametrize(
    ("step_ms", "spread_ms"),
    [
        # One after the other, each a little later.
        (0.5, 50.0),
        # A step, and as much beside it.
        (25.0, 50.0),
        # A short one.
        (9.9, 10.0),
    ],
)
def test_subscribers_that_receive_one_after_the_other_are_none(step_ms, spread_ms):
    assert found(with_deliveries(step_ms=step_ms, spread_ms=spread_ms)) == {}


def test_a_server_is_verified_with_a_subscriber_also_where_subscribers_are_swept(tmp_path):
    (arm,) = read_study(study_file(tmp_path, WEBSOCKET, "subscribers = [20, 60]")).arms.values()
    assert (arm.load.subscribers, arm.load_to_verify.subscribers) == (None, 20)
