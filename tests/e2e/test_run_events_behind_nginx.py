"""Events behind a real nginx: it buffers them by default, which is found, and lets them through if asked."""

import sys
from pathlib import Path

import pytest

from loadcurve.explain.all import findings
from loadcurve.result.folder import Run
from support.planted_run import run_study
from support.sandbox import Sandbox
from support.tiny_study import STAYS_OURS

pytestmark = pytest.mark.needs("nginx")

SERVER = Path(__file__).parents[1] / "support/event_server.py"
EVENTS_EACH = 10
EVERY_MS = 20
LENGTH_MS = EVENTS_EACH * EVERY_MS
"""From a request to the end of its stream, at least: the server waits before each event."""
STUDY = f"""\
title = "Events behind nginx"

[load]
model = "closed"
messages = "events"
requests = ["/"]
events_expected = {EVENTS_EACH}
warmup = "0s"
requests_total = 40

[sweep]
connections = [4]

[trials]
count = 1
"""
# `proxy_buffering` is on unless the configuration says otherwise.
NGINX = """\
daemon off; pid PRIVATE/nginx.pid; error_log stderr; events {}
http {
  access_log off; proxy_temp_path PRIVATE/proxy; client_body_temp_path PRIVATE/body;
  fastcgi_temp_path PRIVATE/f; uwsgi_temp_path PRIVATE/u; scgi_temp_path PRIVATE/s;
  server {
    listen 127.0.0.1:LISTEN;
    location / { proxy_pass http://127.0.0.1:APP; MORE }
  }
}
"""
FILLED_IN = "s|PRIVATE|{private}|g; s|LISTEN|{port}|; s|APP|{app.port}|; s|MORE|%s|"
MORE = {
    "buffered": "proxy_http_version 1.0;",
    "unbuffered": "proxy_http_version 1.0; proxy_buffering off;",
    # What comes in chunks is passed on as it comes, although buffering is on.
    "chunks": "proxy_http_version 1.1;",
}


def behind_nginx(name: str, more: str) -> str:
    """Return the tables of the event server with an nginx in front of it."""
    start = f"sed '{FILLED_IN % more}' nginx.txt > {{private}}/n.conf && exec nginx -c {{private}}/n.conf"
    return f"""
[servers.{name}]
version = "1"
{STAYS_OURS}
[[servers.{name}.programs]]
name = "app"
start = "{sys.executable} {SERVER} {{port}} {EVENTS_EACH} {EVERY_MS / 1000}"
[[servers.{name}.programs]]
name = "proxy"
start = ["sh", "-c", "{start}"]
"""


@pytest.fixture(scope="module")
def run(shared_sandbox: Sandbox) -> Run:
    """All ways to configure nginx, measured in one run."""
    shared_sandbox.write("nginx.txt", NGINX)
    servers = "".join(behind_nginx(*one) for one in MORE.items())
    return run_study(shared_sandbox, "events", STUDY + servers)


def test_only_where_nginx_buffers_do_events_arrive_together(run: Run):
    [together] = [one for one in findings(run) if one.code == "events_together"]
    assert together.server == "buffered"
    assert "in nginx `proxy_buffering off`" in together.advice


def test_each_event_comes_all_the_same_and_the_first_as_late_as_the_last(run: Run):
    first_ms = {}
    for record in run.points:
        messages = record.load.messages
        assert messages is not None
        assert messages.delivered == messages.expected == 40 * EVENTS_EACH
        first_ms[record.server] = messages.first_event_from_sent_ms.min
    # Waiting may end a tick of the clock early.
    assert {name for name, least_ms in first_ms.items() if least_ms >= LENGTH_MS - EVENTS_EACH} == {
        "buffered"
    }
