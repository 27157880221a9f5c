"""Servers of messages that are fetched from their registries: they count what they are sent."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from server_support import CATALOG, own_place

from loadcurve.loads.http import ClosedLoad
from loadcurve.result.load import LoadResult
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.installed.installation import install
from loadcurve.server.installed.place import FOLDER_VARIABLE

pytestmark = [pytest.mark.long, pytest.mark.needs("npm")]
MESSAGES = 300
STREAMS = 20
EVENTS = 7
BEHIND = [
    pytest.param("nginx-node-ws", marks=pytest.mark.needs("nginx")),
    pytest.param("caddy-node-ws", marks=pytest.mark.needs("caddy")),
]


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory) -> Iterator[Path]:
    """Install the libraries once."""
    with own_place(tmp_path_factory) as place, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv(FOLDER_VARIABLE, str(place / "servers"))
        for name in ("node-ws", "bun", "starlette"):
            install(CATALOG[name].description.recipe, place / "servers")
        yield place


@contextmanager
def started(name: str, **settings: object) -> Iterator[Server]:
    found = find_server(CATALOG[name], settings)
    assert isinstance(found, FoundServer), found
    with Server(found, None, {}) as server:
        yield server


def result_of(server: Server, path: str, **options: object) -> LoadResult:
    table = {"model": "closed", "connections": 4, "warmup": 0, "requests": [{"path": path, "body": "hello"}]}
    load = ClosedLoad.model_validate(table | options)
    plan = plan_at_point(load, server.address, {}, [0], seed=0, transport=server.transport)
    return CHOSEN.run(plan, lambda _: None)


def counts(server: Server) -> dict[str, int]:
    with urllib.request.urlopen(f"http://{server.address}/", timeout=10) as response:
        return json.load(response)


@pytest.mark.parametrize("name", ["node-ws", "bun", "starlette", *BEHIND])
def test_as_many_messages_come_back_as_the_server_has_counted(name):
    with started(name) as server:
        result = result_of(server, "/echo", messages="websocket", requests_total=MESSAGES)
        counted = counts(server)
    assert (result.requests.answered, result.requests.failed) == (MESSAGES, 0)
    # One more is opened to see whether the server upgrades.
    assert (counted["opened"], counted["received"], counted["sent"]) == (4 + 1, MESSAGES, MESSAGES)
    assert result.bytes.body == MESSAGES * len("hello")


@pytest.mark.parametrize("name", ["node-ws", "bun", "starlette", *BEHIND])
def test_what_is_published_reaches_each_subscriber(name):
    load = {"messages": "websocket", "connections": 1, "requests_total": 20, "subscribers": 10}
    with started(name) as server:
        result = result_of(server, "/broadcast", **load)
        counted = counts(server)
    assert (result.deliveries.expected, result.deliveries.delivered) == (200, 200)
    assert counted["received"] == 20


@pytest.mark.parametrize("name", ["bun", "starlette"])
def test_as_many_events_come_as_the_server_has_counted(name):
    load = {"messages": "events", "requests_total": STREAMS, "events_expected": EVENTS}
    with started(name, events=EVENTS, event_bytes=100, event_every_ms=1) as server:
        result = result_of(server, "/events", **load)
        counted = counts(server)
    assert (result.requests.answered, result.requests.failed) == (STREAMS, 0)
    assert (result.messages.delivered, counted["events"]) == (STREAMS * EVENTS, STREAMS * EVENTS)
    assert result.messages.data_bytes == STREAMS * EVENTS * 100
    # Each event is at least a millisecond behind the one before.
    assert result.latency_ms.min >= EVENTS
