"""What driven load generators do unless told otherwise, as a server sees it, is what their tables say.

Each has options that keep it from work that nobody asked for: from following a redirect, above all, which
would put a load on another server.
"""

import os

import pytest

from loadcurve.loads.http import ClosedLoad, OpenLoad, SessionsLoad
from loadcurve.loads.kinds import WEB
from loadcurve.loads.plan import HttpPlan
from loadcurve.result.load import LoadResult
from loadcurve.runs.chosen import CHOSEN
from loadcurve.tools.catalog import driven_tools, tool_named
from loadcurve.tools.defaults import Absent, KeptOff, Stays
from support.tempting_server import Tempting, tempting_server

TOOLS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in driven_tools(WEB)]
CONNECTIONS = 4
ALWAYS = {"host", "accept-encoding", "cookie", "connection", "user-agent"}
"""Fields that every request has, or that have a default of their own."""


def put_load(name: str, server: Tempting) -> LoadResult:
    """Send a short load of the first model that a tool has."""
    can = tool_named(name).table.can
    common = {"requests": ["/"], "warmup": "0s", "http": can.usual_http, "generator": name}
    timed = common | {"connections": CONNECTIONS, "duration": "300ms"}
    match can.models[0]:
        case "closed":
            load = ClosedLoad.model_validate(timed | {"model": "closed"})
        case "open":
            # Its threads begin one after the other: a rate needs some time to be one.
            load = OpenLoad.model_validate(timed | {"model": "open", "rate": 100, "duration": "1s"})
        case "sessions":
            sessions = {"model": "sessions", "connection_rate": 50, "num_connections": 10, "calls": 4}
            load = SessionsLoad.model_validate(common | sessions)
    cpus = (min(os.sched_getaffinity(0)),)
    plan = HttpPlan(load=load, address=server.address, authority=server.address, threads=1, cpus=cpus)
    return CHOSEN.run(plan, lambda _: None)


@pytest.mark.parametrize("name", TOOLS)
def test_a_load_goes_nowhere_else_and_asks_for_nothing_that_its_table_does_not_say(name):
    with tempting_server() as server:
        result = put_load(name, server)
    defaults, requests = tool_named(name).table.defaults, server.requests
    stays = {key: row.stays for key, row in defaults.items() if isinstance(row, Stays)}
    assert requests
    assert server.led_away == 0, "connections to the server to which the answers redirect"
    assert result.requests.answered + result.requests.failed <= len(requests)
    assert {one.line for one in requests} == {f"GET / HTTP/{result.load.http}"}
    assert {one.value("accept-encoding") for one in requests} <= {None, "identity"}
    assert {one.value("cookie") for one in requests} == {None}
    assert not {key for one in requests for key, _ in one.fields} & {"upgrade", "http2-settings"}
    assert (requests[0].value("connection") is not None) == ("keep_alive_field" in stays)
    assert (requests[0].value("user-agent") is not None) == ("user_agent" in stays)
    others = {key for one in requests for key, _ in one.fields} - ALWAYS
    assert bool(others) == ("other_fields" in stays)
    assert all(key in stays["other_fields"].lower() for key in others)
    if result.load.model != "sessions":
        # Go's client may open one on which nothing is sent, because another has become free meanwhile.
        used = [connection for connection in server.connections if connection]
        counted = server.connections if "extra_connections" in stays else used
        assert (len(counted) > CONNECTIONS) == ("extra_connections" in stays)


@pytest.mark.parametrize("name", TOOLS)
def test_only_tools_whose_table_says_so_send_a_request_again(name):
    with tempting_server(drops_second=True) as server:
        result = put_load(name, server)
    told = result.requests.answered + result.requests.failed
    # Those under way at its end, and those that fortio sends before its window, are in no figure.
    unaccounted = 2 * result.load.connections if result.load.connections else 0
    sends_again = isinstance(tool_named(name).table.defaults["retries"], Stays)
    assert (len(server.requests) > told + unaccounted) == sends_again
    if sends_again:
        assert result.requests.failed < result.requests.answered, "it hides what the server did"


def test_every_default_is_absent_kept_off_or_explained():
    rows = [row for tool in driven_tools().values() for row in tool.table.defaults.values()]
    assert {type(row) for row in rows} == {Absent, KeptOff, Stays}
