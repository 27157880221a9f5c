"""`loadcurve load ws://…`: messages that `limit` echoes, and a server that refuses the upgrade."""

import json

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server
from support.recording_server import recording_server
from support.tls_proxy import tls_proxy
from support.upgrading_server import upgrading_server


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


def test_a_refused_upgrade_is_named_with_the_first_line_of_its_body(sandbox):
    with upgrading_server(refusal="This room is full.\nCome again tomorrow.\n") as server:
        finished = sandbox.run("load", f"ws://{server.authority}/chat", "--body", "x", "-n", 1)
        asked = server.seen
    assert (finished.returncode, finished.stdout, asked) == (4, "", 1)
    said = " ".join(finished.stderr.split())
    assert "the server refused the upgrade to WebSocket with status 403" in said
    assert "This room is full." in said
    assert "Come again" not in said


@pytest.mark.parametrize("offered", [[], ["-H", "Sec-WebSocket-Protocol: soap, wamp"]])
def test_a_subprotocol_that_was_not_offered_is_named_and_nothing_is_measured(sandbox, offered):
    with upgrading_server(subprotocol="mqtt") as server:
        load = ("load", f"ws://{server.authority}/chat", *offered, "--body", "x", "-n", 1)
        finished = sandbox.run(*load)
        asked = server.seen
    assert (finished.returncode, finished.stdout, asked) == (4, "", 1)
    said = " ".join(finished.stderr.split())
    assert "the server chose a subprotocol of WebSocket that was not offered; give it in the header" in said


def test_the_same_is_so_over_tls(sandbox, tmp_path):
    issued = make_authority(tmp_path, "authority").issue(NAME)
    with recording_server() as server, tls_proxy(int(server.authority.rpartition(":")[2]), issued) as port:
        load = ("load", f"wss://127.0.0.1:{port}/chat", "--insecure", "--body", "x", "-n", 1)
        finished = sandbox.run(*load)
    assert (finished.returncode, finished.stdout) == (4, "")
    said = (
        f"WebSocket over TLS failed with 127.0.0.1:{port}: the server refused the upgrade to WebSocket with"
    )
    assert said in " ".join(finished.stderr.split())


def test_each_message_that_is_published_reaches_each_subscriber(sandbox, address):
    load = ("load", f"ws://{address}/broadcast", "--body", "hello", "-c", 2, "--subscribers", 20)
    result = json.loads(sandbox.run(*load, "-n", 100, "--json").stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (100, 0)
    deliveries = result["deliveries"]
    assert (deliveries["expected"], deliveries["delivered"], deliveries["reach"]) == (2000, 2000, 1.0)
    assert deliveries["latency_ms"]["count"] == 2000
    assert deliveries["subscribers"]["opened"] == 20
    assert result["load"]["subscribers"] == 20
    reasons = {one["code"] for one in result["verdict"]["reasons"]}
    assert not reasons & {"reach", "subscribers_missing", "errors"}


def test_each_message_that_is_published_reaches_each_subscriber_over_tls_too(sandbox, address, tmp_path):
    issued = make_authority(tmp_path, "authority").issue(NAME)
    with tls_proxy(int(address.rpartition(":")[2]), issued) as port:
        url = f"wss://127.0.0.1:{port}/broadcast"
        load = ("load", url, "--insecure", "--body", "hello", "-c", 2, "--subscribers", 5, "-n", 20, "--json")
        result = json.loads(sandbox.run(*load).stdout)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (20, 0)
    deliveries = result["deliveries"]
    assert (deliveries["expected"], deliveries["delivered"], deliveries["reach"]) == (100, 100, 1.0)
    assert deliveries["subscribers"]["opened"] == 5


def test_the_terminal_says_reach_and_subscribers(sandbox, address):
    load = ("load", f"ws://{address}/broadcast", "--body", "x", "--subscribers", 3, "-c", 1, "-n", 10)
    shown = sandbox.run(*load).stdout
    assert "reach 100 %: 30 of 30 came" in shown
    assert "3 of 3 opened" in shown


def test_messages_that_nobody_receives_are_named_and_nothing_is_measured(sandbox, address):
    load = ("load", f"ws://{address}/echo", "--body", "x", "--subscribers", 3, "--timeout", "300ms", "-n", 10)
    finished = sandbox.run(*load)
    assert finished.returncode == 4
    assert "nobody receives it" in finished.stderr
    assert "the server sends nothing on that is published" in finished.stderr


def test_more_subscribers_than_descriptors_are_refused_before_the_load(sandbox, address):
    load = ("load", f"ws://{address}/broadcast", "--body", "x", "--subscribers", 100_000_000, "-n", 10)
    finished = sandbox.run(*load)
    assert finished.returncode in {2, 4}
    assert "open files" in finished.stderr
