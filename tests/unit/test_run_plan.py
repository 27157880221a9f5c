"""The plan of a study's load: what the engine gets, and that it does what the study says."""

import json
from dataclasses import replace

import pytest

from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad
from loadcurve.result.records import ContentRecord
from loadcurve.runs.plan import plan_at_point
from loadcurve.study.model import Study
from support.limit_server import limit_server

BODY = b"x" * 100
CONTENT = {name: ContentRecord(bytes=len(BODY), sha256="0" * 64) for name in ("a", "b")}
CLOSED = {"model": "closed", "connections": 5, "requests_total": 50}
OPEN = {"model": "open", "connections": 5, "requests_total": 50, "rate": 1000}
SESSIONS = {"model": "sessions", "connection_rate": 100, "num_connections": 5, "calls": 4}


def plan(load, address="127.0.0.1:1", cpus=(), seed=0):
    study = Study.model_validate(
        {
            "title": "x",
            "content": {"a": 100, "b": 100},
            "load": {"requests": ["/a", "/b"], "warmup": 0, **load},
            "sweep": {"timeout": [5]},
            "servers": {"limit": {}},
        }
    )
    return plan_at_point(study.arms["limit"].load_at({"timeout": 5}), address, CONTENT, cpus or (0,), seed)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("content")
    for name in CONTENT:
        (folder / name).write_bytes(BODY)
    with limit_server(folder) as served:
        yield served


def measured(address, load):
    # Without CPUs, as other tests may run beside this one.
    return ENGINE.run(replace(plan(load, address), cpus=()), lambda _: None)


def written(load, **more):
    """Return the plan as the engine reads it."""
    return json.loads(plan(load, **more).to_json())["http"]


def test_a_closed_loop_is_the_engines_by_its_own_names():
    closed = written(CLOSED | {"pipeline": 4, "calls": 3, "think": 0, "http": "1.0"})
    assert closed["model"] == {"closed": {"connections": 5}}
    assert closed["work"]["conversation"] == {"pipeline": 4, "calls": 3, "think_s": 0.0}
    assert (closed["stop"], closed["work"]["http"]) == ({"requests_total": 50}, "1.0")


def test_an_open_loop_has_its_rate_and_arrivals():
    opened = written(OPEN | {"rate": "10-20:3s", "arrivals": "poisson"})
    stretches = [{"length_s": 3.0, "from_rps": 10.0, "to_rps": 20.0}]
    assert opened["model"] == {"open": {"connections": 5, "rate_rps": stretches, "arrivals": "poisson"}}


def test_sessions_have_theirs_and_a_burst_is_written_together():
    sessions = written(SESSIONS | {"burst": 2, "think": "1s"})
    model = {"connections": 5, "connection_rate_cps": 100, "arrivals": "constant"}
    assert sessions["model"] == {"sessions": model}
    assert sessions["work"]["conversation"] == {"pipeline": 2, "calls": 4, "think_s": 1.0}
    assert sessions["stop"] == {"connections_total": 5}


def test_http_2_has_streams_and_windows_and_a_burst_is_its_streams_together():
    settings = {"http": "2", "hpack": "literal", "stream_window": "64KiB", "connection_window": "1MiB"}
    closed = written(CLOSED | settings | {"streams": 4})
    assert closed["work"]["conversation"] == {"streams": 4, "think_s": 0.0}
    windows = {"stream_window_bytes": 65_536, "connection_window_bytes": 1_048_576}
    assert closed["work"]["h2"] == {"hpack": "literal"} | windows
    sessions = written(SESSIONS | {"http": "2", "burst": 2})
    assert sessions["work"]["conversation"] == {"streams": 2, "calls": 4, "think_s": 0.0}
    assert "h2" not in sessions["work"]


def test_connections_share_sockets_only_where_a_load_says_so():
    assert "sockets" not in written(CLOSED | {"http": "3"})["work"]
    assert written(CLOSED | {"http": "3", "sockets": "thread"})["work"]["sockets"] == "thread"


def test_events_have_their_settings_and_a_plain_load_has_none():
    events = {"messages": "events", "event_format": "lines", "events_expected": 5, "stream_for": "2s"}
    settings = {"event_format": "lines", "events_expected": 5, "stream_for_s": 2.0}
    assert written(CLOSED | events)["work"]["messages"] == {"events": settings}
    assert "messages" not in written(CLOSED)["work"]
    reopened = written(CLOSED | {"messages": "events", "reconnect_after": "3s"})
    assert reopened["work"]["messages"] == {"events": {"reconnect_after_s": 3.0}}


def test_requests_carry_their_weights_and_the_lengths_of_their_answers():
    work = written(CLOSED | {"pick": "weighted", "weights": [1, 3]})["work"]
    given = work["requests"]["given"]
    assert work["pick"] == "weighted"
    assert [(one["target"], one["weight"], one["expected_body_bytes"]) for one in given] == [
        ("/a", 1.0, 100),
        ("/b", 3.0, 100),
    ]


def test_a_long_list_stays_a_file_which_the_engine_reads(address, tmp_path):
    file = tmp_path / "paths.txt"
    file.write_text("/a?x=1\n" * 101)
    listed = written(CLOSED | {"requests": str(file)})["work"]["requests"]["listed"]
    assert listed["file"] == str(file)
    result = measured(address, CLOSED | {"requests": str(file)})
    assert (result.requests.due, result.requests.ok) == (50, 50)
    assert [operation.operation for operation in result.operations] == ["paths.txt"]
    assert result.load.requests == ["paths.txt"]
    assert {slow.operation for slow in result.slowest} == {"GET /a?x=1"}


def test_method_headers_and_body_are_those_of_every_request(tmp_path):
    posted = {"method": "POST", "headers": {"Accept": "*/*"}, "body": "text"}
    for request in written(CLOSED | posted)["work"]["requests"]["given"]:
        assert (request["method"], request["headers"]) == ("POST", [["Accept", "*/*"]])
        assert request["body"] == {"text": "text"}
    several = {"headers": {"Cookie": ["a=1", "b=2"], "Accept": "*/*"}}
    for request in written(CLOSED | several)["work"]["requests"]["given"]:
        assert request["headers"] == [["Cookie", "a=1"], ["Cookie", "b=2"], ["Accept", "*/*"]]
    file = tmp_path / "body.bin"
    file.write_bytes(b"x" * 100)
    given = written(CLOSED | {"body": f"@{file}"})["work"]["requests"]["given"]
    assert given[0]["body"] == {"file": str(file)}


MIX = [
    "/a",
    {"path": "/b", "method": "POST", "body": "{}", "weight": 3, "name": "write"},
    {"path": "/none", "expect": {"status": [404, "2xx"]}},
]


def test_each_request_of_a_mix_is_sent_as_it_says_and_only_plain_ones_have_the_length_of_the_content():
    work = written(CLOSED | {"requests": MIX, "headers": {"Accept": "*/*"}})["work"]
    plain, post, missing = work["requests"]["given"]
    assert work["pick"] == "weighted"
    assert (plain["target"], plain["weight"], plain["name"], plain["expected"]) == ("/a", 1.0, None, None)
    assert (post["method"], post["body"], post["weight"], post["name"]) == (
        "POST",
        {"text": "{}"},
        3.0,
        "write",
    )
    assert missing["expected"] == {"within": [[200, 299], [404, 404]]}
    lengths = written(CLOSED | {"requests": MIX})["work"]["requests"]["given"]
    assert [one["expected_body_bytes"] for one in lengths] == [100, None, None]


def test_the_engine_counts_each_name_of_a_mix_for_itself_and_requests_of_one_name_together(address):
    named = [
        "/a",
        {"path": "/b", "name": "both"},
        {"path": "/a", "name": "both"},
        {"path": "/none", "expect": {"status": 404}},
    ]
    result = measured(address, CLOSED | {"requests": named, "requests_total": 80})
    counts = {one.operation: (one.answered, one.failed) for one in result.operations}
    # In order: a quarter of 80 requests for each, two of them under one name.
    assert counts == {"GET /a": (20, 0), "both": (40, 0), "GET /none": (20, 0)}
    assert (result.requests.ok, result.status["4xx"]) == (80, 20)
    assert result.verdict.status != "invalid"


def test_requests_take_the_lines_of_a_body_in_turn(tmp_path, address):
    file = tmp_path / "lines.txt"
    file.write_text("1\n22\n333\n")
    posts = {"path": "/a", "method": "POST", "body": {"lines": str(file)}, "expect": {"status": "2xx"}}
    load = CLOSED | {"requests": ["/a", posts], "requests_total": 12, "connections": 1}
    work = written(load)["work"]["requests"]["given"]
    assert work[1]["body"] == {"lines": {"file": str(file)}}
    alone, twice = (measured(address, load | {"requests_total": count}).bytes.sent for count in (12, 24))
    # Twice the rounds of 2 requests and 3 lines are twice the bytes, whatever the heads are.
    assert twice == 2 * alone
    # 12 requests are 6 of each, so each line was sent twice: 2 · (1 + 2 + 3) bytes of bodies.
    empty = {"path": "/a", "method": "POST", "expect": {"status": "2xx"}}
    without = measured(address, load | {"requests": ["/a", empty]}).bytes.sent
    assert alone - without == 12


def test_a_status_that_one_request_of_a_mix_does_not_expect_is_wrong(address):
    result = measured(address, CLOSED | {"requests": ["/a", {"path": "/b", "expect": {"status": 201}}]})
    assert (result.requests.answered, result.requests.ok) == (50, 25)
    assert result.unexpected_status["2xx"] == 25
    assert [reason.code for reason in result.verdict.reasons] == ["error_status"]


@pytest.mark.parametrize(
    "sent",
    [
        {"method": "HEAD"},
        {"headers": {"Range": "bytes=0-1"}},
        {"verify": "status"},
        {"verify": {"pattern": "x"}},
    ],
)
def test_the_length_of_an_answer_is_that_of_a_plain_get_that_is_compared_with_the_content(sent):
    given = written(CLOSED | sent)["work"]["requests"]["given"]
    assert [request["expected_body_bytes"] for request in given] == [None, None]


def test_the_seed_reaches_the_engine():
    assert written(CLOSED, seed=7)["seed"] == 7


def test_the_record_of_a_load_names_its_options_and_how_it_was_run_but_no_secret(address):
    secret = {"headers": {"Authorization": "Bearer secret"}, "think": "1ms", "verify": {"pattern": "x"}}
    load = measured(address, CLOSED | secret).load
    assert load.model_extra["verify"] == {"pattern": "x"}
    assert (load.model, load.connections, load.requests_total, load.think_s) == ("closed", 5, 50, 0.001)
    assert (load.address, load.requests) == (address, ["GET /a", "GET /b"])
    assert load.io in ("uring", "epoll")
    assert "secret" not in load.model_dump_json()


def test_an_option_that_the_plan_does_not_know_is_part_of_the_work_and_of_the_record():
    class Later(ClosedLoad):
        compression: str = "gzip"

    later = replace(plan(CLOSED), load=Later.model_validate({"requests": ["/a"], **CLOSED, "warmup": 0}))
    assert json.loads(later.to_json())["http"]["work"]["compression"] == "gzip"
    assert (
        later.as_run({"generator": {"io": "epoll"}, "operations": []}).model_dump()["compression"] == "gzip"
    )


@pytest.mark.parametrize(
    ("load", "cpus", "threads"),
    [
        (CLOSED, (0, 1, 2), 3),
        (CLOSED | {"connections": 2}, (0, 1, 2), 2),
        (SESSIONS | {"num_connections": 2}, (0, 1, 2), 2),
        (SESSIONS | {"connections": 1}, (0, 1, 2), 1),
        (CLOSED | {"threads": 2}, (0,), 2),
    ],
)
def test_there_is_a_thread_for_each_cpu_but_none_without_a_connection(load, cpus, threads):
    assert plan(load, cpus=cpus).threads == threads


@pytest.mark.parametrize(
    ("load", "requests", "connections"),
    [
        (CLOSED | {"pipeline": 10}, 50, 5),
        (OPEN | {"rate": "500:20ms, 500-2000:20ms", "arrivals": "poisson"}, 50, 5),
        (SESSIONS | {"burst": 2, "think": "2ms"}, 20, 5),
    ],
)
def test_every_model_is_run_by_the_engine_to_its_end(address, load, requests, connections):
    result = measured(address, load)
    assert (result.requests.due, result.requests.ok) == (requests, requests)
    assert result.connections.opened == connections
    assert result.bytes.body == requests * len(BODY)
