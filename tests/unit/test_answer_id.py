"""Answers that are matched by an id: what the option takes, and what the engine is given."""

import json

import pytest

from loadcurve.runs.plan import plan_at_point
from support.http_load_study import CLOSED, load_of, problems_in

WEBSOCKET = CLOSED + 'messages = "websocket"\nbody = \'{"id": {id}}\'\n'


def asked(load):
    """How the engine is to match answers."""
    plan = json.loads(plan_at_point(load, "127.0.0.1:1", {}, (0,), 0).to_json())
    return plan["http"]["work"]["messages"]["websocket"].get("answer_id")


def test_the_name_of_the_field_reaches_the_engine_where_it_is_given(tmp_path):
    assert asked(load_of(tmp_path, WEBSOCKET + 'answer_id = "request_id"\n')) == "request_id"
    assert asked(load_of(tmp_path, WEBSOCKET)) is None


@pytest.mark.parametrize("name", ["", 'a\\"b', "a\\\\b", "x" * 101])
def test_what_json_would_write_otherwise_is_refused(tmp_path, name):
    [problem] = problems_in(tmp_path, WEBSOCKET + f'answer_id = "{name}"\n')
    assert "expected the name of a field of JSON" in problem


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (CLOSED + 'answer_id = "id"\n', 'only used with messages = "websocket"'),
        (WEBSOCKET + 'http = "2"\nanswer_id = "id"\n', "only used over HTTP/1.1"),
        (WEBSOCKET + 'subscribers = 2\nanswer_id = "id"\n', "cannot be combined with subscribers"),
    ],
)
def test_it_belongs_to_echoes_over_websocket_of_http_1_1(tmp_path, load, words):
    [problem] = problems_in(tmp_path, load)
    assert words in problem
