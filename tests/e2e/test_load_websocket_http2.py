"""`loadcurve load ws://… --http 2`: WebSockets that `limit` and Node echo, and servers that have none."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve.server.spawn import ends_with_parent
from support.certificates import make_authority
from support.limit_server import limit_server

ECHO = Path(__file__).parents[1] / "support/websocket_echo.mjs"
MESSAGES = 400


class Node:
    """The echo by Node, which counts."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self._running = running
        assert running.stdout is not None
        self.address = f"127.0.0.1:{running.stdout.readline().strip()}"

    def counts(self) -> dict[str, int]:
        """Return what it has counted, at its end."""
        said, _ = self._running.communicate()
        return json.loads(said)


@contextmanager
def node_echo(*options: str) -> Iterator[Node]:
    command = [*ends_with_parent(), "node", ECHO, *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True) as running:
        try:
            yield Node(running)
        finally:
            running.kill()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with limit_server(tmp_path_factory.mktemp("content"), http2=True) as address:
        yield address


def loading(sandbox, url, *options):
    """Return the result of a load on two connections of three WebSockets each."""
    load = ("load", url, "--http", 2, "-c", 2, "--streams", 3, "-n", MESSAGES, "--json", *options)
    return json.loads(sandbox.run(*load).stdout)


def test_each_message_that_is_echoed_is_one_answer(sandbox, address):
    result = loading(sandbox, f"ws://{address}/echo", "--body", "hello")
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (MESSAGES, 0)
    assert result["bytes"]["body"] == MESSAGES * len("hello")
    assert (result["load"]["messages"], result["load"]["http"]) == ("websocket", "2")
    assert result["connections"]["opened"] == 2


@pytest.mark.needs("node")
def test_node_counts_as_many_messages_and_every_websocket_is_closed(sandbox, tmp_path):
    # Longer than the window with which Node's streams begin.
    body = tmp_path / "body"
    body.write_bytes(b"x" * 100_000)
    with node_echo() as node:
        result = loading(sandbox, f"ws://{node.address}/", "--body", f"@{body}", "--message-type", "binary")
        counts = node.counts()
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (MESSAGES, 0)
    assert result["bytes"]["body"] == MESSAGES * 100_000
    # One more WebSocket shows before the load that there are any.
    assert counts == {"opened": 2 * 3 + 1, "messages": MESSAGES, "closed": 2 * 3 + 1, "reset": 0}


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("options", "path", "said"),
    [
        (
            ("plain",),
            "/",
            "no WebSocket over HTTP/2 (its settings lack SETTINGS_ENABLE_CONNECT_PROTOCOL, RFC",
        ),
        ((), "/refused", 'refused the upgrade to WebSocket with status 403: "not for you"'),
    ],
)
def test_a_server_without_such_websockets_is_named_and_nothing_is_measured(sandbox, options, path, said):
    with node_echo(*options) as node:
        finished = sandbox.run("load", f"ws://{node.address}{path}", "--http", 2, "--body", "x", "-n", 1)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert said in " ".join(finished.stderr.split())


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("path", "failure", "said"),
    [
        ("/two", "upgrade_refused", 'opened 2 of 3 on this connection; use fewer streams: "two are enough"'),
        ("/two-silent", "connect_timeout", "opened 2 of 3 WebSockets on this connection, and did not answer"),
    ],
)
def test_where_some_websockets_of_a_connection_are_opened_it_is_said_how_many(sandbox, path, failure, said):
    options = ("--http", 2, "-c", 1, "--streams", 3, "--body", "x", "-n", 3, "--timeout", "500ms")
    with node_echo() as node:
        finished = sandbox.run("load", f"ws://{node.address}{path}", *options)
    assert finished.returncode == 4
    assert f"3 {failure}" in finished.stdout
    assert said in " ".join(finished.stdout.split())


def test_over_tls_a_refused_websocket_is_named_as_well_and_nothing_is_measured(sandbox, tmp_path):
    issued = make_authority(tmp_path, "authority").issue("localhost")
    content = tmp_path / "content"
    content.mkdir()
    with limit_server(content, issued.certificate, issued.key, http2=True) as address:
        result = loading(sandbox, f"wss://{address}/echo", "--insecure", "--body", "x")
        load = ("load", f"wss://{address}/broadcast", "--insecure", "--http", 2, "--body", "x", "-n", 10)
        finished = sandbox.run(*load)
    assert (result["requests"]["answered"], result["requests"]["failed"]) == (MESSAGES, 0)
    assert (finished.returncode, finished.stdout) == (4, "")
    said = f"WebSocket over HTTP/2 over TLS failed with {address}: the server refused the upgrade"
    assert said in " ".join(finished.stderr.split())


def test_limit_sends_messages_to_others_over_http_1_1_alone(sandbox, address):
    load = ("load", f"ws://{address}/broadcast", "--http", 2, "--body", "x", "-n", 1)
    finished = sandbox.run(*load)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "refused the upgrade to WebSocket with status 404" in " ".join(finished.stderr.split())
