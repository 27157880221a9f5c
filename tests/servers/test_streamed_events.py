"""Streams of server-sent events over each version of HTTP, by Caddy, before a server that counts them."""

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from server_support import wait_until

from loadcurve.loads.http import ClosedLoad
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.here import free_port
from loadcurve.server.quic_port import speaks_quic
from loadcurve.server.spawn import ends_with_parent
from loadcurve.server.transport import Transport
from support.certificates import NAME, make_authority
from support.event_server import event_server

pytestmark = pytest.mark.needs("caddy")
CONNECTIONS = 3


def configuration(port: int, backend: str, issued) -> dict[str, object]:
    """Return what Caddy reads: it hands on what comes, in every version of HTTP, as it comes."""
    proxy = {"handler": "reverse_proxy", "upstreams": [{"dial": backend}], "flush_interval": -1}
    files = {"certificate": str(issued.certificate), "key": str(issued.key)}
    server = {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": ["h1", "h2", "h3"],
        "tls_connection_policies": [{}],
        "automatic_https": {"disable": True},
        "routes": [{"handle": [proxy]}],
    }
    return {
        "admin": {"disabled": True, "config": {"persist": False}},
        "apps": {
            "tls": {"certificates": {"load_files": [files]}, "disable_ocsp_stapling": True},
            "http": {"servers": {"proxy": server}},
        },
    }


@contextlib.contextmanager
def caddy(folder: Path, backend: str, issued) -> Iterator[int]:
    """Yield the port at which Caddy hands requests on to another server."""
    port = free_port()
    (folder / "caddy.json").write_text(json.dumps(configuration(port, backend, issued)))
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    command = [*ends_with_parent(), "caddy", "run", "--config", str(folder / "caddy.json")]
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    try:
        wait_until(
            lambda: running.poll() is not None or (is_open(port) and speaks_quic("127.0.0.1", port, 1.0))
        )
        assert running.poll() is None, (folder / "log").read_text()
        yield port
    finally:
        running.terminate()
        running.wait()


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(params=["1.1", "2", "3"])
def load(request, tmp_path):
    """Give what streams events over one version of HTTP and returns the server with the result."""
    authority = make_authority(tmp_path, "authority")

    def run(events_each: int, retry_ms: int | None = None, **options: object):
        table = {
            "model": "closed",
            "http": request.param,
            "connections": CONNECTIONS,
            "requests_total": 30,
            "warmup": 0,
            "messages": "events",
            "requests": ["/events"],
            "tls": {"verify": str(authority.certificate), "server_name": NAME},
        }
        loaded = ClosedLoad.model_validate({**table, **options})
        with (
            event_server(events_each, every_s=0.002, retry_ms=retry_ms) as server,
            caddy(tmp_path, server.authority, authority.issue(NAME)) as port,
        ):
            plan = plan_at_point(
                loaded, f"127.0.0.1:{port}", {}, [0], seed=0, transport=Transport(scheme="https")
            )
            return server, CHOSEN.run(plan, lambda _: None)

    return run


def test_each_event_that_the_server_has_sent_is_counted_whatever_carries_it(load):
    server, result = load(events_each=5, events_expected=5)
    assert (result.requests.answered, result.requests.failed) == (30, 0)
    messages = result.messages
    sent = sum(len(stream.ids) for stream in server.streams)
    assert (len(server.streams), sent) == (30, 150)
    assert (messages.received, messages.delivered, messages.expected) == (sent, sent, sent)
    assert messages.data_bytes == sent * len("one\ntwo")
    assert (messages.first_event_ms.count, messages.gap_ms.count) == (30, 30 * 4)
    # A stream lasts for the five pauses of the server at least, the first one before its first event.
    assert result.latency_ms.min >= 5 * 2.0
    assert messages.first_event_from_sent_ms.min >= 2.0


def test_a_stream_that_has_ended_is_opened_again_with_its_last_id_whatever_carries_it(load):
    server, result = load(events_each=3, retry_ms=10, reconnect_after="1h")
    assert (result.requests.answered, result.requests.failed) == (30, 0)
    messages = result.messages
    assert (messages.reconnects, messages.reconnects_with_id) == (30 - CONNECTIONS, 30 - CONNECTIONS)
    said = [stream.last_id for stream in server.streams]
    assert said.count(None) == CONNECTIONS
    # Each client continues behind the last event of one stream, and no two behind the same.
    ended = {stream.ids[-1] for stream in server.streams}
    said_ids = {one for one in said if one is not None}
    assert len(said_ids) == 30 - CONNECTIONS
    assert said_ids < ended
