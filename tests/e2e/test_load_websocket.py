"""`loadcurve load ws://…`: messages that `limit` echoes, and a server that refuses the upgrade."""

import json

import pytest

from support.limit_server import limit_server
from support.recording_server import recording_server


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with limit_server(tmp_path_factory.mktemp("content")) as address:
        yield address


def test_each_message_that_is_echoed_is_one_answer(sandbox, address):
    load = ("load", f"ws://{address}/echo", "--body", "hello", "-c", 2, "--pipeline", 3, "-n", 100, "--json")
    result = json.loads(sandbox.run(*load).stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (100, 0)
    assert result["bytes"]["body"] == 100 * len("hello")
    assert (result["load"]["messages"], result["load"]["http"]) == ("websocket", "1.1")


def test_a_refused_upgrade_is_named_and_nothing_is_measured(sandbox):
    with recording_server() as server:
        finished = sandbox.run("load", f"ws://{server.authority}/chat", "--body", "x", "-n", 1)
    assert finished.returncode == 4
    assert "the server refused the upgrade to WebSocket with status 204" in finished.stderr
