"""A load goes to another tool exactly as it is asked for, or not at all."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError

from loadcurve.cli.load_study import Options, http_load
from loadcurve.errors import BadInput
from loadcurve.loads.http import ClosedLoad, HttpLoad, OpenLoad, RecordedLoad, SessionsLoad
from loadcurve.loads.kinds import WEB
from loadcurve.loads.option import OtherTools, said_of
from loadcurve.tools.catalog import driven_tools, tool_named, tools
from loadcurve.tools.driver import Refused, WebToolRequest
from loadcurve.tools.exact import require_exact, threads_of

CLOSED: dict[str, Any] = {"model": "closed", "requests": ["/a"], "connections": 12, "duration": "10s"}
OF_TOOL: dict[str, dict[str, Any]] = {
    "wrk": CLOSED,
    "ab": {**CLOSED, "http": "1.0"},
    "h2load": {**CLOSED, "warmup": "1s"},
    "hey": CLOSED,
    "wrk2": {**CLOSED, "model": "open", "rate": 500},
    "vegeta": {**CLOSED, "model": "open", "rate": 500},
    "oha": CLOSED,
    "fortio": CLOSED,
    "k6": CLOSED,
    "zrk": {**CLOSED, "model": "open", "rate": 500},
    "httperf": {
        "model": "sessions",
        "requests": ["/a"],
        "connection_rate": 50,
        "num_connections": 100,
        "calls": 4,
    },
}
"""A load that each tool can send."""


def load_of(table: dict[str, Any]) -> HttpLoad:
    models: dict[str, type[HttpLoad]] = {"closed": ClosedLoad, "open": OpenLoad, "sessions": SessionsLoad}
    model = RecordedLoad if table.get("arrivals") == "recorded" else models[table["model"]]
    return model.model_validate(table)


FILES = Path("/files")


def wanted_of(name: str, *, files: Path = FILES, **changes: Any) -> WebToolRequest:
    load = load_of(OF_TOOL[name] | changes)
    tool = tool_named(name)
    require_exact(tool, load, "http")
    return WebToolRequest(
        load=load,
        address="127.0.0.1:8080",
        authority="127.0.0.1:8080",
        threads=threads_of(tool, load, available=4),
        files=files,
    )


def words(name: str, **changes: Any) -> str:
    """Return the words behind the program, as one text."""
    return " ".join(tool_named(name).driver.arguments(wanted_of(name, **changes)))


def test_every_driven_tool_has_a_load_here():
    assert set(driven_tools(WEB)) == set(OF_TOOL)
    assert all(tool.table.title and tool.table.documentation for tool in tools().values())


def test_connections_duration_and_path_stand_in_the_command():
    wrk = words("wrk")
    assert wrk.startswith("--threads 4 --connections 12 --duration 10s --timeout 5s --script ")
    assert wrk.endswith(" http://127.0.0.1:8080/a")
    assert words("ab") == (
        "-q -r -k -c 12 -t 10 -n 2000000 -s 5 -e /files/percentiles.csv http://127.0.0.1:8080/a"
    )
    assert words("hey") == (
        "-c 12 -z 10000ms -t 5 -cpus 4 -disable-compression -disable-redirects http://127.0.0.1:8080/a"
    )
    assert words("wrk2").startswith("--rate 500 --threads 4 --connections 12 --duration 10s --timeout 5s ")
    assert words("h2load") == (
        "-c 12 -t 4 -m 1 --duration=10000ms --warm-up-time=1000ms --h1 http://127.0.0.1:8080/a"
    )
    assert words("httperf") == (
        "--hog --server 127.0.0.1 --port 8080 --uri /a --http-version 1.1 --rate 50 --num-conns 100 "
        "--num-calls 4 --burst-length 1 --timeout 5"
    )


def test_a_rate_is_one_of_all_connections_and_stands_in_the_command(tmp_path):
    rate = {"model": "open", "rate": 500}
    assert words("oha") == (
        "--no-tui --output-format json --output /files/result.json -c 12 -z 10000ms -t 5000ms "
        "--connect-timeout 5000ms --worker-threads 4 --http-version 1.1 --disable-compression --redirect 0 "
        "http://127.0.0.1:8080/a"
    )
    assert " -q 500 --latency-correction " in words("oha", **rate)
    assert words("fortio") == (
        "load -quiet -allow-initial-errors -c 12 -t 10000ms -qps 0 -timeout 5000ms -r 0.00001 "
        "-p 50,75,90,95,99,99.9,99.99 -json /files/result.json http://127.0.0.1:8080/a"
    )
    assert " -qps 500 -uniform " in words("fortio", **rate)
    assert words("zrk", headers={"Accept": "a"}) == (
        "--threads 4 --connections 12 --rate 500 --duration 10000ms --timeout 5000ms --no-record-timeouts "
        "--format json --output /files/result.json --header Accept: a http://127.0.0.1:8080/a"
    )
    attack = words("vegeta", files=tmp_path, calls=1)
    assert attack.startswith("-cpus 4 attack -rate 500/1s -duration 10000ms -timeout 5000ms -workers 12 ")
    assert " -max-connections 12 -http2=false -redirects -1 -max-body 0 -keepalive=false " in attack
    assert (tmp_path / "targets").read_text() == "GET http://127.0.0.1:8080/a\n"


def load_of_k6(**changes: Any) -> dict[str, Any]:
    """Return the settings of a load that the script of k6 receives."""
    [settings] = re.findall(
        r" --env LOADCURVE=(\{.*\}) \S+script\.js$", words("k6", **{"warmup": "0s", **changes})
    )
    return json.loads(settings)


def test_k6_has_a_user_for_each_connection_in_a_closed_loop():
    settings = load_of_k6(warmup="2s", headers={"Accept": "a"})
    assert settings["url"] == "http://127.0.0.1:8080/a"
    assert settings["params"] == {
        "headers": {"Accept": "a"}, "timeout": "5000ms", "redirects": 0, "responseType": "none"
    }  # fmt: skip
    # The warm-up is part of its scenario.
    assert settings["options"]["scenarios"]["load"] == {
        "executor": "constant-vus", "vus": 12, "duration": "12000ms", "gracefulStop": "0s"
    }  # fmt: skip
    assert settings["aborts_after_ms"] is None
    assert not settings["options"]["noConnectionReuse"]
    assert load_of_k6(calls=1)["options"]["noConnectionReuse"]


def test_a_load_of_k6_that_is_shorter_than_a_scenario_can_be_is_ended_by_its_script():
    settings = load_of_k6(warmup="200ms", duration="400ms")
    assert settings["options"]["scenarios"]["load"]["duration"] == "1000ms"
    assert settings["aborts_after_ms"] == 600


@pytest.mark.parametrize(
    ("rate", "arrivals", "time_unit"), [(500, 500, "1s"), (10.5, 21, "2s"), (0.1, 1, "10s")]
)
def test_k6_takes_any_rate_as_whole_arrivals_per_unit_of_time(rate, arrivals, time_unit):
    settings = load_of_k6(model="open", rate=rate)
    assert settings["options"]["scenarios"]["load"] == {
        "executor": "constant-arrival-rate", "rate": arrivals, "timeUnit": time_unit,
        "preAllocatedVUs": 12, "maxVUs": 12, "duration": "10000ms", "gracefulStop": "0s",
    }  # fmt: skip


def test_threads_of_a_tool_without_an_option_for_them_are_in_its_environment(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/bin/{name}")
    command = tool_named("k6").command(wanted_of("k6", threads=2))
    assert command[:4] == ["env", "GOMAXPROCS=2", "/bin/k6", "run"]
    assert tool_named("hey").command(wanted_of("hey"))[:2] == ["/bin/hey", "-c"]


def test_what_differs_from_the_defaults_does_too():
    assert "-k" not in words("ab", calls=1).split()
    assert " -n 500 -s" in words("ab", duration=None, requests_total=500)
    assert "-m 8 " in words("h2load", http="2", streams=8)
    assert "--h1" not in words("h2load", http="2")
    assert "--period e0.02 " in words("httperf", arrivals="poisson")
    assert "--header Accept-Encoding: gzip" in words("wrk", headers={"Accept-Encoding": "gzip"})


CHANGES: dict[str, list[dict[str, Any]]] = {
    "requests": [{"requests": ["/b"]}],
    "connections": [{"connections": 24}],
    "duration_s": [{"duration": "20s"}],
    "requests_total": [{"duration": None, "requests_total": 5000}],
    "connections_total": [{"num_connections": 77}],
    "timeout_s": [{"timeout": "7s"}],
    "headers": [{"headers": {"Accept": "text/html"}}],
    "http": [{"http": version} for version in ("1.0", "1.1", "2")],
    "threads": [{"threads": 2}],
    "calls": [{"calls": 1}, {"calls": 7}],
    "pipeline": [{"pipeline": 3}],
    "streams": [{"http": "2", "streams": 3}],
    "think_s": [{"think": "10ms"}],
    "rate_rps": [{"rate": 700}],
    "arrivals": [{"arrivals": "poisson"}],
    "connection_rate_cps": [{"connection_rate": 70}],
}
"""By options of which other tools take more than the default: loads that differ in that option."""
NOT_IN_COMMANDS = {
    "model": "each tool has another command for each model",
    "warmup_s": "a load of its own, where the tool has no warm-up",
    "pick": "there is one path",
    "weights": "there is one path",
    "verify": "answers are verified before the load, by our own client",
    "tls": "connections are in clear text",
    "full_handshakes": "connections are in clear text",
    "generator": "the tool itself",
    "speed": "no tool replays a recording",
}


LEAST_SHOWN = 4
"""Each tool can at least be given another path, other connections, another length and other header fields."""


def test_it_is_known_of_each_option_that_tools_take_where_it_shows():
    taken = {
        name
        for model in (ClosedLoad, OpenLoad, SessionsLoad)
        for name in model.model_fields
        if any(said.takes_any for said in said_of(model, name, OtherTools))
    }
    assert taken == CHANGES.keys() | NOT_IN_COMMANDS.keys()


def asked_of(name: str, files: Path, **changes: Any) -> list[object]:
    """Return all that a tool is given for a load: words, variables and files."""
    files.mkdir()
    wanted, tool = wanted_of(name, files=files, **changes), tool_named(name)
    given = [word.replace(str(files), "") for word in tool.driver.arguments(wanted)]
    variables = [value.replace("{threads}", str(wanted.threads)) for value in tool.table.environment.values()]
    return [given, variables, *(file.read_text() for file in sorted(files.iterdir()))]


@pytest.mark.parametrize("name", OF_TOOL)
def test_what_a_tool_is_let_through_with_shows_in_what_it_is_given(name, tmp_path):
    usual, plain = load_of(OF_TOOL[name]), asked_of(name, tmp_path / "plain")
    changes = [one for several in CHANGES.values() for one in several]
    shown = 0
    for number, change in enumerate(changes):
        try:
            changed = load_of(OF_TOOL[name] | change)
            given = asked_of(name, tmp_path / str(number), **change)
        except (ValidationError, Refused):
            # The tool's model has no such option, or its abilities do not reach so far.
            continue
        assert (given == plain) == (changed == usual), change
        shown += given != plain
    assert shown >= LEAST_SHOWN


@pytest.mark.parametrize(
    ("name", "changes", "key", "reason"),
    [
        ("httperf", {"connections": 24}, "connections", "however many are open"),
        ("ab", {"model": "open", "rate": 100}, "model", "ab has no requests at a fixed rate"),
        ("ab", {"http": "1.1"}, "http", 'expected http = "1.0"'),
        ("ab", {"calls": 3}, "calls", "after one request, or keeps it open"),
        ("ab", {"threads": 2}, "threads", "one thread"),
        ("wrk", {"timeout": "1500ms"}, "timeout", "whole seconds; found 1.5 s"),
        ("wrk", {"calls": 5}, "calls", "keeps its connections open"),
        ("wrk", {"threads": 5}, "threads", "12 connections cannot be divided equally"),
        ("wrk", {"pipeline": 2}, "pipeline", "one request at a time"),
        ("wrk", {"think": "5ms"}, "think", "no pause between"),
        ("wrk", {"requests": ["/a", "/b"]}, "requests", "one path"),
        ("wrk", {"method": "POST"}, "method", "only driven with GET"),
        ("wrk", {"duration": None, "requests_total": 100}, "requests_total", "expected duration"),
        ("wrk", {"headers": {"Authorization": "x"}}, "headers", "other users can read"),
        ("wrk2", {"arrivals": "poisson"}, "arrivals", "no random arrivals"),
        ("wrk2", {"rate": "10-20:5s"}, "rate", "one constant rate"),
        ("wrk2", {"rate": 10.5}, "rate", "whole requests per second; found 10.5"),
        ("vegeta", {"model": "closed"}, "model", "vegeta has no closed loop; expected a rate"),
        ("fortio", {"requests": ["/a", "/b"]}, "requests", "one path"),
        ("k6", {"rate": "10-20:5s", "model": "open"}, "rate", "one constant rate"),
        ("k6", {"think": "5ms"}, "think", "no pause between"),
        ("zrk", {"headers": {"host": "a"}}, "headers", "zrk sets Host itself"),
        ("zrk", {"rate": 0.5}, "rate", "whole requests per second; found 0.5"),
        ("zrk", {"calls": 1}, "calls", "keeps its connections open"),
        ("hey", {"calls": 2}, "calls", "after one request, or keeps it open"),
        ("h2load", {"model": "open", "rate": 100}, "model", "expected a closed loop, without a rate"),
        ("h2load", {"http": "2", "hpack": "literal"}, "hpack", "own settings"),
        ("h2load", {"http": "2", "stream_window": "1MiB"}, "stream_window", "own settings"),
        ("h2load", {"timeout": "2s"}, "timeout", "has no timeout"),
        ("wrk", {"body": "x", "method": "GET"}, "body", "without a body"),
        ("ab", {"source_addresses": ["127.0.0.2"], "http": "1.0"}, "source_addresses", "one source address"),
        ("httperf", {"headers": {"Accept": "a"}}, "headers", "not driven with header fields"),
        ("wrk", {"headers": {"Accept": ["a", "b"]}}, "headers", "one accept field"),
    ],
)  # fmt: skip
def test_what_a_tool_cannot_do_is_refused_with_its_key_and_the_reason(name, changes, key, reason):
    table = OF_TOOL[name] | changes
    if table["model"] == "closed":
        table.pop("rate", None)
    load = load_of(table)
    with pytest.raises(Refused, match=reason) as refused:
        require_exact(tool_named(name), load, "http")
    assert refused.value.key == key


def test_a_host_of_another_name_is_refused_where_a_tool_cannot_name_one():
    zrk = tool_named("zrk")
    for authority in (None, "127.0.0.1:8080", "127.0.0.1", "[::1]:8080"):
        require_exact(zrk, load_of(OF_TOOL["zrk"]), "http", authority)
    with pytest.raises(Refused, match="no other Host than the address") as refused:
        require_exact(zrk, load_of(OF_TOOL["zrk"]), "http", "example.org")
    assert refused.value.key == "generator"
    require_exact(tool_named("vegeta"), load_of(OF_TOOL["vegeta"]), "http", "example.org")


@pytest.mark.parametrize("name", driven_tools(WEB))
def test_no_tool_replays_a_recording(name, tmp_path):
    (tmp_path / "recording.txt").write_text("/a @0\n/a @1\n")
    recorded = {
        "model": "open",
        "arrivals": "recorded",
        "requests": str(tmp_path / "recording.txt"),
        "connections": 12,
    }
    with pytest.raises(Refused, match=f"{name} cannot send requests at the times") as refused:
        require_exact(tool_named(name), load_of(recorded), "http")
    assert refused.value.key == "arrivals"


def test_what_is_decided_of_fields_is_decided_once():
    for model in (ClosedLoad, OpenLoad, RecordedLoad, SessionsLoad):
        assert all(len(said_of(model, name, OtherTools)) <= 1 for name in model.model_fields)


class LaterLoad(ClosedLoad):
    """A load with an option about which nothing was decided for other tools."""

    later_s: float = Field(0.0, alias="later")


def test_an_option_of_which_nothing_was_decided_is_refused_unless_it_is_as_by_default():
    require_exact(tool_named("wrk"), LaterLoad.model_validate(CLOSED), "http")
    with pytest.raises(Refused, match="wrk is only driven with the default of later") as refused:
        require_exact(tool_named("wrk"), LaterLoad.model_validate({**CLOSED, "later": 1.0}), "http")
    assert refused.value.key == "later"


def test_a_load_from_the_command_line_has_no_timeout_for_a_tool_without_one():
    """The command's own default differs from that of a study, which tools without timeouts are held to."""

    def load(*given: str, **values: str) -> HttpLoad:
        options = Options(
            WEB, {"generator": "h2load", **values}, ["generator", *given], {"timeout": "--timeout"}
        )
        return http_load(options, "http://127.0.0.1/", "/", None, None, lambda _: b"")

    require_exact(tool_named("h2load"), load(), "http")
    with pytest.raises(Refused, match="has no timeout"):
        require_exact(tool_named("h2load"), load("timeout", timeout="10s"), "http")


def test_connections_in_tls_are_refused():
    with pytest.raises(Refused, match="clear text"):
        require_exact(tool_named("wrk"), load_of(CLOSED), "https")


@pytest.mark.parametrize(("name", "reason"), [("wrkk", "wrk"), ("bombardier", "not driven")])
def test_a_name_of_no_driven_tool_is_refused_with_those_that_there_are(name, reason):
    with pytest.raises(BadInput, match=reason) as refused:
        tool_named(name)
    assert "engine, ab" in str(refused.value)


def test_each_thread_of_wrk_has_equally_many_connections():
    tool = tool_named("wrk")
    assert [threads_of(tool, load_of({**CLOSED, "connections": n}), 4) for n in (1, 2, 7, 12, 50)] == [
        1, 2, 1, 4, 2,
    ]  # fmt: skip
