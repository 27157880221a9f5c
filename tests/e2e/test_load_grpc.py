"""`loadcurve load grpc://…`: calls that `limit` answers, and what is said where something is wrong."""

import json

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server
from support.recording_server import recording_server

SCHEMA = """syntax = "proto3";
package h;
message Who { string name = 1; }
message Nothing {}
service Hello { rpc Say (Who) returns (Nothing); rpc Listen (Who) returns (stream Nothing);
  rpc Tell (stream Who) returns (Nothing); rpc Chat (stream Who) returns (stream Who); }
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    file = tmp_path_factory.mktemp("schema") / "hello.proto"
    file.write_text(SCHEMA)
    return file


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with limit_server(tmp_path_factory.mktemp("content"), http2=True) as address:
        yield address


def test_calls_are_counted_by_their_status_and_named_by_their_method(sandbox, call):
    finished = sandbox.run(*call, "--message", '{"name": "x"}', "-c", 2, "-n", 100, "--json")
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (100, 0)
    assert [one["operation"] for one in result["operations"]] == ["h.Hello/Say"]
    # A message without fields is five bytes.
    assert result["bytes"]["body"] == 500
    assert (result["load"]["messages"], result["load"]["http"]) == ("grpc", "2")


def test_calls_that_fail_are_failures_of_the_class_of_their_status(sandbox, tmp_path):
    faults = ("--error-share", "1", "--spared-requests", "1")
    with limit_server(tmp_path, http2=True, faults=faults) as address:
        finished = sandbox.run("load", f"grpc://{address}/h.Hello/Say", "-c", 2, "-n", 50, "--json")
    result = json.loads(finished.stdout)
    # The first one is what the server is verified by.
    assert (result["requests"]["answered"], result["errors"]["grpc_internal"]) == (0, 50)
    assert finished.returncode == 4


def test_messages_of_streamed_answers_are_counted(sandbox, tmp_path, schema):
    options = ("--proto", schema, "-c", 2, "-n", 50, "--events-expected", 4, "--json")
    with limit_server(tmp_path, http2=True, faults=("--call-messages", "4")) as address:
        finished = sandbox.run("load", f"grpc://{address}/h.Hello/Listen", *options)
    result = json.loads(finished.stdout)
    messages = result["messages"]
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (50, 0)
    assert (messages["kind"], messages["delivered"], messages["expected"]) == ("grpc", 200, 200)
    assert messages["first_event_ms"]["count"] == 50


def test_over_http_3_calls_and_their_streams_of_messages_are_counted_alike(sandbox, tmp_path, schema):
    authority = make_authority(tmp_path, "authority")
    issued = authority.issue(NAME)
    options = ("--http", "3", "--cacert", authority.certificate, "--server-name", NAME, "--proto", schema)
    options += ("-c", 2, "--streams", 5, "-n", 50, "--json")
    files = (issued.certificate, issued.key)
    with limit_server(tmp_path, *files, http3=True, faults=("--call-messages", "4")) as address:
        stream = sandbox.run("load", f"grpcs://{address}/h.Hello/Listen", *options)
    with limit_server(
        tmp_path, *files, http3=True, faults=("--error-share", "1", "--spared-requests", "1")
    ) as address:
        failing = sandbox.run("load", f"grpcs://{address}/h.Hello/Say", *options)
    result, failed = (json.loads(finished.stdout) for finished in (stream, failing))
    assert (result["requests"]["answered"], result["messages"]["delivered"]) == (50, 200)
    assert (result["load"]["messages"], result["load"]["http"]) == ("grpc", "3")
    assert (failed["requests"]["answered"], failed["errors"]["grpc_internal"]) == (0, 50)


def test_each_message_of_a_call_of_both_directions_is_answered_by_one(sandbox, tmp_path, schema):
    options = ("--proto", schema, "--message", '{"name": "x"}', "-c", 2, "--streams", 3, "-n", 60, "--json")
    with limit_server(tmp_path, http2=True, faults=("--call-messages", "echo")) as address:
        finished = sandbox.run("load", f"grpc://{address}/h.Hello/Chat", *options)
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (60, 0)
    # A message whose only field is one letter is three bytes behind five.
    assert result["bytes"]["body"] == 60 * 8
    assert result["connections"]["opened"] == 2
    # Only the schema says it, and the record is judged by the ceiling of such calls.
    assert result["load"]["grpc"]["call"] == "bidirectional"


def test_a_call_that_streams_its_requests_sends_its_message_several_times(sandbox, address, schema):
    options = ("--proto", schema, "--messages-per-call", 5, "-c", 2, "-n", 50, "--json")
    finished = sandbox.run("load", f"grpc://{address}/h.Hello/Tell", *options)
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (50, 0)


@pytest.fixture
def call(address, schema):
    return ("load", f"grpc://{address}/h.Hello/Say", "--proto", schema)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--message", '{"nam": 1}'), 2, "--message: line 1, column 6: unrecognized field name 'nam'"),
        (("--grpc-status", "NOT_FOUND"), 4, "h.Hello/Say was answered with OK; expected NOT_FOUND"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_measured(sandbox, call, options, code, said):
    finished = sandbox.run(*call, *options)
    assert (finished.returncode, finished.stdout) == (code, "")
    assert said in " ".join(finished.stderr.split())


def test_a_server_of_http_1_alone_is_named(sandbox):
    with recording_server() as server:
        finished = sandbox.run("load", f"grpc://{server.authority}/h.Hello/Say")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "HTTP/2 in clear text failed with" in finished.stderr
