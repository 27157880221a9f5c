"""Loads on databases as Python starts them: plans and targets in, results and explanations out."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from loadcurve import _engine
from loadcurve.report.load import load_summary
from loadcurve.result.load import LOAD_FORMAT, LoadResult
from support.sandbox import wait_until
from support.synthetic_database_run import database_plan

WORKLOAD = json.loads(_engine.workload("a", None, "", ["recordcount=100"]))["workload"]


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A local port on which nobody accepts: it is bound, so nobody else gets it, and does not listen."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def plan(url: str, work: Any = None, **changes: Any) -> str:
    """Return the plan of a short load on the database at this address."""
    asked = {
        "url": url,
        "namespace": "loadcurve",
        "table": "usertable",
        "workload": WORKLOAD,
        "phase": "run",
        "batch": 1,
    }
    load = {
        "model": {"closed": {"connections": 2}},
        "stop": {"requests_total": 10},
        "warmup_s": 0.0,
        "timeout_s": 20.0,
        "threads": 1,
        "work": {**asked, **(work or {})},
        **changes,
    }
    return json.dumps({"ycsb": load})


def target(url: str) -> str:
    """Return a target at this address."""
    keys = {"url": url, "namespace": "loadcurve", "table": "usertable", "timeout_s": 20.0}
    return json.dumps({**keys, "workload": WORKLOAD})


@pytest.mark.parametrize("scheme", ["mongodb", "postgresql"])
def test_a_database_that_is_not_there_gives_a_result_that_says_so(scheme, closed_port):
    text = _engine.Load.start(plan(f"{scheme}://ann:secret@127.0.0.1:{closed_port}")).finish()
    measured = json.loads(text)
    # The engine's pauses are raw: the generator sums them up over the window.
    measured["generator"]["pauses"] = None
    as_run = database_plan("ferretdb", 2)
    result = LoadResult.model_validate({**measured, "format": LOAD_FORMAT, "load": as_run})
    assert result.requests.failed == result.errors["connect_refused"] == 10
    assert result.requests.answered == result.requests.sent == 0
    assert result.status is None
    assert result.bytes is None
    assert "secret" not in text
    assert [message.error for message in result.error_messages][:1] == ["connect_refused"]
    assert [reason.code for reason in result.verdict.reasons] == ["nothing_answered", "errors"]
    assert load_summary(result)


def test_a_load_can_be_looked_at_and_stopped(closed_port):
    load = _engine.Load.start(plan(f"mongodb://127.0.0.1:{closed_port}", stop={"duration_s": 600.0}))
    wait_until(lambda: load.progress()[2], "an operation has failed")
    elapsed_s, answered, failures, *_ = load.progress()
    assert elapsed_s is not None
    assert (answered, list(failures), load.is_finished()) == (0, ["connect_refused"], False)
    load.stop()
    assert json.loads(load.finish())["interrupted"]
    with pytest.raises(RuntimeError, match="has been finished"):
        load.finish()


def at_rate(rate_rps: float) -> dict[str, Any]:
    return {"open": {"connections": 2, "rate_rps": rate_rps, "arrivals": "constant"}}


@pytest.mark.parametrize(
    ("changes", "work", "said"),
    [
        ({}, {"url": "cassandra://127.0.0.1"}, "mongodb://, mongodb\\+srv://, postgresql://"),
        ({}, {"settings": {"write_concerns": "1"}}, "did you mean"),
        ({"threads": 3}, {}, "3 threads cannot share 2 clients"),
        ({"model": {"closed": {"connections": 0}}}, {}, "at least 1 client"),
        ({"io": "uring"}, {}, "drivers use epoll"),
        ({}, {"batch": 10}, "only the load phase"),
        ({}, {"phase": "load"}, "100 records"),
        ({"stop": {"requests_total": 100}, "warmup_s": 1.0}, {"phase": "load"}, "cannot have a warm-up"),
        ({"stop": {"connections_total": 5}}, {}, "a number of operations or a duration"),
        ({}, {"workload": {**WORKLOAD, "records": 0}}, "record"),
        ({"timeout_s": 0.0}, {}, "timeout of 0 s"),
        ({"model": at_rate(-1.0)}, {}, "-1"),
        ({"thread": 2}, {}, "unknown field `thread`"),
        ({}, {"batches": 2}, "unknown field `batches`"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_its_reason(changes, work, said):
    with pytest.raises(ValueError, match=said):
        _engine.Load.start(plan("mongodb://127.0.0.1", work, **changes))


@pytest.mark.parametrize("scheme", ["mongodb", "postgresql"])
def test_a_question_without_an_answer_fails_with_its_class_and_an_explanation(scheme, closed_port):
    database = _engine.Database(target(f"{scheme}://127.0.0.1:{closed_port}"))
    for ask in (database.version, database.exists, database.is_ours, database.create, database.count):
        with pytest.raises(_engine.DatabaseError) as caught:
            ask()
        failure, text = caught.value.args
        assert failure == "connect_refused"
        assert text


def test_a_wrong_property_is_reported_with_its_file_and_line():
    with pytest.raises(ValueError, match=r"mine\.properties:2: .*recordcont.*recordcount"):
        _engine.workload(None, "# a comment\nrecordcont=5\n", "mine.properties", [])
    with pytest.raises(ValueError, match="a, b, c, d, e and f"):
        _engine.workload("g", None, "", [])
