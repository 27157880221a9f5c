"""What a study says of calls of gRPC, what becomes of their messages, and what is said of misfits."""

import gzip
import json
import os

import pytest

from loadcurve import files
from loadcurve.loads.grpc import STATUSES, GrpcTable
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.redaction import HIDDEN
from loadcurve.result.outcomes import FAILURES
from loadcurve.server.asked import Answer
from loadcurve.server.calls import require_call
from loadcurve.server.failure import ServerFailure
from loadcurve.server.target import read_url
from loadcurve.server.transport import scheme_of
from support.http_load_study import CLOSED, load_of, problems_in

SCHEMA = """syntax = "proto3";
package h;
message Who { string name = 1; }
message Nothing {}
service Hello {
  rpc Say (Who) returns (Nothing);
  rpc Listen (Who) returns (stream Nothing);
  rpc Tell (stream Who) returns (Nothing);
  rpc Chat (stream Who) returns (stream Nothing);
}
"""
CALLS = CLOSED.replace('["/a", "/b"]', '["/h.Hello/Say"]') + 'messages = "grpc"\n'
DEFAULTS = {"messages_per_call": 1, "is_gzip": False}
SAID = '[load.grpc]\nproto = "hello.proto"\nmessage = \'{"name": "x"}\'\n'


@pytest.fixture(autouse=True)
def schema(tmp_path):
    (tmp_path / "hello.proto").write_text(SCHEMA)


def work(load: ClosedLoad) -> dict:
    plan = HttpPlan(load=load, address="127.0.0.1:1", authority="a", threads=1)
    return json.loads(plan.to_json())["http"]["work"]


def test_calls_are_posts_of_the_encoded_message_over_http_2_named_by_their_method(tmp_path):
    planned = work(load_of(tmp_path, CALLS + SAID).with_values({}, ClosedLoad))
    (given,) = planned["requests"]["given"]
    assert (given["method"], given["target"], given["name"]) == ("POST", "/h.Hello/Say", "h.Hello/Say")
    # Field 1 of type 2, one byte long (protobuf's encoding).
    assert given["body"] == {"bytes": [0x0A, 1, ord("x")]}
    assert planned["http"] == "2"
    assert planned["messages"] == {
        "grpc": {"right_statuses": 1, "deadline": False, "call": "unary", **DEFAULTS}
    }


def test_calls_are_made_over_http_3_where_that_is_asked_for(tmp_path):
    over_http3 = CALLS.replace('messages = "grpc"\n', 'messages = "grpc"\nhttp = "3"\n')
    planned = work(load_of(tmp_path, over_http3 + SAID).with_values({}, ClosedLoad))
    assert (planned["http"], list(planned["messages"])) == ("3", ["grpc"])


@pytest.mark.parametrize(("path", "said"), [("Listen", ""), ("Say", 'call = "server_stream"\n')])
def test_answers_are_streams_where_the_schema_says_so_or_the_load_without_one(tmp_path, path, said):
    given = SAID if not said else f"[load.grpc]\n{said}"
    text = CALLS.replace("Hello/Say", f"Hello/{path}") + 'events_expected = 3\nstream_for = "2s"\n' + given
    planned = work(load_of(tmp_path, text).with_values({}, ClosedLoad))["messages"]["grpc"]
    assert (planned["call"], planned["events_expected"]) == ("server_stream", 3)
    assert planned["stream_for_s"] == 2


def test_requests_are_streams_where_the_schema_says_so(tmp_path):
    chat = work(load_of(tmp_path, (CALLS + SAID).replace("Say", "Chat")).with_values({}, ClosedLoad))
    assert chat["messages"]["grpc"]["call"] == "bidirectional"
    several = SAID.replace("[load.grpc]", "[load.grpc]\nmessages_per_call = 3")
    tell = work(load_of(tmp_path, (CALLS + several).replace("Say", "Tell")).with_values({}, ClosedLoad))
    assert tell["messages"]["grpc"]["call"] == "client_stream"
    assert tell["messages"]["grpc"]["messages_per_call"] == 3


@pytest.mark.parametrize("message", ['{"name": "x"}', "@message.bin"])
def test_messages_are_compressed_once_before_the_load_where_that_is_asked_for(tmp_path, message):
    (tmp_path / "message.bin").write_bytes(b"\x0a\x01x")
    given = f'[load.grpc]\nproto = "hello.proto"\nmessage = \'{message}\'\ncompression = "gzip"\n'
    planned = work(load_of(tmp_path, CALLS + given).with_values({}, ClosedLoad))
    (one,) = planned["requests"]["given"]
    assert gzip.decompress(bytes(one["body"]["bytes"])) == b"\x0a\x01x"
    assert planned["messages"]["grpc"]["is_gzip"] is True


@pytest.mark.parametrize(("compression", "read"), [("identity", bytes), ("gzip", gzip.decompress)])
def test_a_message_is_that_which_its_files_have_when_the_load_begins(tmp_path, compression, read):
    """In a notebook one process makes many loads."""
    schema, table = tmp_path / "hello.proto", {"compression": compression}
    by_schema = GrpcTable(proto=str(schema), **table)
    assert read(by_schema.encoded("/h.Hello/Say", '{"name": "x"}')) == b"\x0a\x01x"
    assert by_schema.kind(["/h.Hello/Say"]) == "unary"
    other = SCHEMA.replace("name = 1", "name = 2").replace(
        "rpc Say (Who) returns (", "rpc Say (Who) returns (stream "
    )
    schema.write_text(other)
    assert read(by_schema.encoded("/h.Hello/Say", '{"name": "x"}')) == b"\x12\x01x"
    assert by_schema.kind(["/h.Hello/Say"]) == "server_stream"
    message = tmp_path / "message.bin"
    for content in (b"one", b"two"):
        message.write_bytes(content)
        encoded = GrpcTable(**table).encoded("/h.Hello/Say", f"@{message}")
        assert encoded == f"@{message}" or gzip.decompress(encoded) == content


def test_a_message_or_a_schema_that_is_a_pipe_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIPE_TIMEOUT_S", 0.01)
    for name in ("pipe", "pipe.proto"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="not a regular file"):
            GrpcTable(proto=str(tmp_path / name)).kind(["/h.Hello/Say"])
    with (tmp_path / "pipe").open("r+b", buffering=0), pytest.raises(ValueError, match="nothing came within"):
        GrpcTable(compression="gzip").encoded("/h.Hello/Say", f"@{tmp_path / 'pipe'}")


def test_a_message_that_is_too_long_to_be_compressed_is_refused(tmp_path):
    (tmp_path / "message.bin").write_bytes(bytes(4 * 1024 * 1024 + 1))
    with pytest.raises(ValueError, match="at most 4 MiB"):
        GrpcTable(compression="gzip").encoded("/h.Hello/Say", f"@{tmp_path / 'message.bin'}")


def test_calls_in_a_long_list_are_refused_for_that_alone(tmp_path):
    (tmp_path / "paths.txt").write_text("/h.Hello/Listen\n" * 101)
    text = CALLS.replace('["/h.Hello/Say"]', '"paths.txt"') + "events_expected = 3\n"
    [problem] = problems_in(
        tmp_path, text + SAID.replace("[load.grpc]", "[load.grpc]\nmessages_per_call = 2")
    )
    assert "are not read from a long list" in problem


def test_a_load_of_plain_requests_says_nothing_of_calls(tmp_path):
    assert work(load_of(tmp_path, CLOSED).with_values({}, ClosedLoad)).get("messages") is None


def test_a_message_may_be_in_a_file_as_it_is_sent(tmp_path):
    (tmp_path / "message.bin").write_bytes(b"\x0a\x01x")
    load = load_of(tmp_path, f'{CALLS}[load.grpc]\nmessage = "@message.bin"\n')
    (given,) = work(load.with_values({}, ClosedLoad))["requests"]["given"]
    assert given["body"] == {"file": str(tmp_path / "message.bin")}


def test_a_request_may_have_another_message_than_the_load(tmp_path):
    two = '[{ path = "/h.Hello/Say", body = \'{"name": "y"}\' }, "/h.Hello/Say"]'
    load = load_of(tmp_path, CALLS.replace('["/h.Hello/Say"]', two) + SAID)
    bodies = [
        one["body"]["bytes"][-1:] for one in work(load.with_values({}, ClosedLoad))["requests"]["given"]
    ]
    assert bodies == [[ord("y")], [ord("x")]]


def test_a_message_is_no_part_of_a_record_and_statuses_are(tmp_path):
    load = load_of(tmp_path, f'{CALLS}{SAID}statuses = ["not_found"]\ndeadline = true\n')
    recorded = load.model_dump(mode="json")["grpc"]
    assert recorded["message"] == HIDDEN
    assert (recorded["statuses"], recorded["deadline"]) == (["NOT_FOUND"], True)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({'"name"': '"nam"'}, ["load.grpc.message", "line 1, column 6", "'nam'", "h.Who has name"]),
        ({"Hello/Say": "Hello/Shout"}, ["load.grpc.call", 'no method "Shout"', "h.Hello/Say"]),
        ({"[load.grpc]\n": "[load.grpc]\nmessages_per_call = 2\n"}, ["messages_per_call", "found unary"]),
        (
            {"Hello/Say": "Hello/Chat", "[load.grpc]\n": "[load.grpc]\ndeadline = true\n"},
            ["grpc.deadline", "kept"],
        ),
        (
            {"Hello/Say": "Hello/Chat", "[load.grpc]\n": '[load.grpc]\nstatuses = ["NOT_FOUND"]\n'},
            ["load.grpc.statuses", "no status ends a message"],
        ),
        (
            {
                '["/h.Hello/Say"]': '["/h.Hello/Chat", "/h.Other/Chat"]',
                'proto = "hello.proto"\n': 'call = "bidirectional"\n',
            },
            ["load.requests", "one method"],
        ),
        ({"[load.grpc]\n": '[load.grpc]\ncall = "server_stream"\n'}, ["load.grpc.call", "Say is unary"]),
        ({'["/h.Hello/Say"]': '["/h.Hello/Say", "/h.Hello/Listen"]'}, ["load.grpc.call", "of one kind"]),
        ({'messages = "grpc"\n': 'messages = "grpc"\nstream_for = "1s"\n'}, ["load.stream_for", "unary"]),
        ({'"/h.Hello/Say"': '"/"'}, ["load.requests", "names no method", "expected /package.Service/Method"]),
        ({'proto = "hello.proto"\n': ""}, ["load.grpc.message", "requires the .proto file"]),
        ({"hello.proto": "other.proto"}, ["load.grpc.call", "other.proto"]),
        ({'messages = "grpc"\n': 'messages = "grpc"\nhttp = "1.1"\n'}, ["load.http", "over HTTP/2"]),
        (
            {'messages = "grpc"\n': 'messages = "grpc"\nhttp = "3"\n', "Hello/Say": "Hello/Chat"},
            ["load.http", "kept on streams of HTTP/2"],
        ),
        ({'messages = "grpc"\n': ""}, ["load.grpc", "only used with messages"]),
        ({'messages = "grpc"\n': 'messages = "grpc"\nbody = "x"\n'}, ["load.body", "not sent", "message in"]),
        ({'messages = "grpc"\n': 'messages = "grpc"\nmethod = "PUT"\n'}, ["load.method", "made by POST"]),
        ({'messages = "grpc"\n': 'messages = "grpc"\nchunked = true\n'}, ["load.chunked", "no chunks"]),
        (
            {'messages = "grpc"\n': 'messages = "grpc"\nverify = { pattern = "x" }\n'},
            ["load.verify", "right by their status"],
        ),
        (
            {'["/h.Hello/Say"]': '[{ path = "/h.Hello/Say", method = "GET" }]'},
            ["load.requests", 'found "GET"', "made by POST"],
        ),
        (
            {'["/h.Hello/Say"]': '[{ path = "/h.Hello/Say", chunked = true }]'},
            ["load.requests", "no chunks"],
        ),
        (
            {'["/h.Hello/Say"]': '[{ path = "/h.Hello/Say", expect = { pattern = "x" } }]'},
            ["load.requests", "right by their status"],
        ),
        (
            {"[load.grpc]\n": '[load.grpc]\nstatuses = ["FINE"]\n'},
            ["load.grpc.statuses", "FINE", "NOT_FOUND"],
        ),
    ],
)
def test_what_does_not_fit_is_named_by_its_key(tmp_path, changes, parts):
    text = CALLS + SAID
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    problems = problems_in(tmp_path, text)
    assert any(all(part in problem for part in parts) for problem in problems), problems


def test_urls_of_grpc_lead_where_those_of_http_do():
    clear, protected = read_url("grpc://127.0.0.1:50051/h.Hello/Say"), read_url("grpcs://localhost:50051/")
    assert (clear.scheme, clear.port, clear.path) == ("http", 50051, "/h.Hello/Say")
    assert (protected.scheme, protected.port) == ("https", 50051)
    assert scheme_of({}, {}, "GRPCS://localhost:1") == "https"


def test_every_status_has_its_class_of_failures():
    classes = {code for code in FAILURES if code.startswith("grpc_")}
    assert classes == {f"grpc_{name.lower()}" for name in STATUSES} | {"grpc_no_status"}


def test_a_stream_that_has_begun_with_a_message_is_right_before_it_has_ended():
    begun = answer(None, text="\0\0\0\0\3abc")
    require_call("h.Hello/Listen", begun, ["OK"], is_stream=True)
    for wrong in (answer(None, text="<h1>lost</h1>"), answer(("NOT_FOUND", None)), answer(None)):
        with pytest.raises(ServerFailure):
            require_call("h.Hello/Listen", wrong, ["OK"], is_stream=True)


def answer(call, status=200, text=""):
    return Answer(status, record=None, text=text, call=call)


def test_a_call_that_ends_as_expected_is_right():
    require_call("h.Hello/Say", answer(("OK", None)), GrpcTable().right)
    require_call("h.Hello/Say", answer(("NOT_FOUND", "no such user")), ["NOT_FOUND"])


@pytest.mark.parametrize(
    ("given", "right", "parts"),
    [
        (answer(("UNIMPLEMENTED", None)), ["OK"], ["UNIMPLEMENTED; expected OK.", "no such method"]),
        (answer(("NOT_FOUND", "no user")), ["OK"], ['NOT_FOUND: "no user"; expected OK.']),
        (answer(("OK", None)), ["ABORTED", "INTERNAL"], ["with OK; expected ABORTED or INTERNAL."]),
        (answer(None, 404, "<h1>lost</h1>"), ["OK"], ["status 404 of HTTP and no status of gRPC"]),
        (answer(None), ["OK"], ["status 200 of HTTP and no status of gRPC"]),
    ],
)
def test_a_call_that_ends_otherwise_is_refused_with_what_came(given, right, parts):
    with pytest.raises(ServerFailure) as refused:
        require_call("h.Hello/Say", given, right)
    assert refused.value.code == "wrong_answer"
    assert all(part in refused.value.text for part in parts), refused.value.text
