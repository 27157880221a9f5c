"""`loadcurve load --from`: agents that share a load, begin together, and are named where they fail."""

import json
import os
import subprocess

import psutil
import pytest
from benches.namespaces import namespaces
from benches.several_machines import NS_PER_S, measured_apart, spread, true_starts_ms

from support.far_machine import NEAR_ADDRESS, far_machine
from support.limit_server import limit_server
from support.sandbox import wait_until
from support.schemas import validate
from support.tiny_study import study_text

AHEAD_S = (0, 7, -1000)
"""How far ahead the clocks of three machines are."""
LOADS = 3


def agents(process):
    """Return the first process of each agent that a command has started."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "loadcurve.machines.agent" in child.cmdline()]


def test_agents_of_this_machine_share_a_load_exactly_and_each_has_its_row(sandbox, limit_url):
    finished = sandbox.run("load", limit_url, "--from", "here,here,here", "-c", 6, "-n", 1000, "--json")
    result = json.loads(finished.stdout)
    validate(result, "load")
    assert finished.returncode in (0, 3), finished.stderr
    requests = result["requests"]
    assert (requests["due"], requests["answered"], result["bytes"]["body"]) == (1000, 1000, 1_024_000)
    parts = result["machines"]["parts"]
    assert [part["machine"] for part in parts] == ["here-1", "here-2", "here-3"]
    # 1000 requests among three: interleaved, the first has one more.
    assert [part["requests"]["answered"] for part in parts] == [334, 333, 333]
    assert [part["connections_opened"] for part in parts] == [2, 2, 2]
    # They have one clock in truth, and what is stated holds it.
    assert all(abs(part["clock"]["offset_s"]) * 1e3 <= part["clock"]["error_ms"] for part in parts)
    assert sandbox.leftovers() == []


def test_a_killed_agent_makes_the_load_invalid_by_name_and_the_others_go_on(sandbox, limit_url):
    process = sandbox.start(
        "load", limit_url, "--from", "here,here", "-c", 2, "-R", 200, "-d", "1500ms", "--json"
    )
    port = limit_url.split(":")[2].partition("/")[0]

    def connections_in_use():
        # Bytes are listed of a connection that has sent any.
        listed = subprocess.run(
            ["ss", "-tinH", f"dport = :{port}"], capture_output=True, text=True, check=True
        )
        return listed.stdout.count("bytes_sent:")

    wait_until(lambda: connections_in_use() == 2, "both have begun")
    agents(process)[0].children()[0].kill()
    stdout, stderr = process.communicate(timeout=60)
    result = json.loads(stdout)
    assert process.returncode == 3, stderr
    [reason] = [one for one in result["verdict"]["reasons"] if one["code"] == "machine_lost"]
    [lost] = [part for part in result["machines"]["parts"] if part["lost"]]
    assert f"machine {lost['machine']} was lost" in reason["text"]
    # Half of 200 requests/s, for 1.5 s.
    assert result["requests"]["due"] == 150
    assert sandbox.leftovers() == []


def test_a_machine_that_nobody_knows_is_refused_in_words(sandbox, limit_url):
    finished = sandbox.run("load", limit_url, "--from", "here,-oProxyCommand=true")
    assert finished.returncode == 2
    assert "--from here,-oProxyCommand=true: " in finished.stderr
    assert "expected an ssh destination" in finished.stderr


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Give what was measured by machines whose clocks are seconds apart, where such machines can be made."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to make network and time namespaces")
    try:
        with namespaces([0]) as (hub, _):
            subprocess.run([*hub.command("unshare", "-T", "--monotonic", "1", "true")], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"network and time namespaces cannot be made here: {error}")
    folder = tmp_path_factory.mktemp("served")
    (folder / "a").write_bytes(b"x" * 100)
    return measured_apart(folder, AHEAD_S, LOADS, comparisons=20)


@pytest.mark.alone
def test_the_clocks_of_other_machines_are_as_far_ahead_as_stated(apart):
    for comparisons, ahead_s in zip(apart["comparisons"], AHEAD_S, strict=True):
        assert {over for _, _, over in comparisons} == {"echo"}
        # Causality bounds each of them: it is no matter of chance.
        assert all(abs(offset - ahead_s * NS_PER_S) <= error for offset, error, _ in comparisons)


@pytest.mark.alone
def test_machines_whose_clocks_are_apart_begin_within_a_millisecond(apart):
    spreads_ms = []
    for result in apart["results"]:
        if any(part["lost"] for part in result["machines"]["parts"]):
            # It learned the start too late, which the verdict says.
            assert result["verdict"]["status"] == "invalid"
            continue
        true_ms = spread(true_starts_ms(result, AHEAD_S))
        assert abs(result["machines"]["start_spread_ms"] - true_ms) <= result["machines"]["start_error_ms"]
        late = any(reason["code"] == "machine_late" for reason in result["verdict"]["reasons"])
        # Where the host did not run a machine in time, that is said; it does not befall every load.
        assert true_ms <= 1.0 or late
        spreads_ms.append(true_ms)
        # 400 requests/s for 0.3 s, whether or not a busy host let all of them be sent.
        assert result["requests"]["due"] == 120
    assert min(spreads_ms) <= 1.0


@pytest.mark.long
def test_a_machine_that_ssh_leads_to_shares_the_load(sandbox, tmp_path):
    (tmp_path / "1k.txt").write_bytes(b"x" * 1024)
    with (
        far_machine(tmp_path / "far") as far,
        limit_server(tmp_path, within=far.near_words, host=NEAR_ADDRESS) as address,
    ):
        (tmp_path / "listed").write_text("/1k.txt\n" * 200)
        words = ("--from", "here,far", "-c", 4, "-R", 400, "-d", "500ms", "--json")
        listed = ("--urls", tmp_path / "listed")
        finished = sandbox.run(
            "load", f"http://{address}", *listed, *words, within=far.near_words, **far.environment
        )
        result = json.loads(finished.stdout)
        here, there = result["machines"]["parts"]
        assert (here["machine"], there["machine"]) == ("here", "far")
        assert (here["requests"]["answered"], there["requests"]["answered"]) == (100, 100)
        # Both are namespaces of one machine, whose clocks are one.
        assert there["clock"]["over"] == "echo"
        assert abs(there["clock"]["offset_s"]) * 1e3 <= there["clock"]["error_ms"]
        far.wait_until_empty(10.0)


def test_a_study_sends_its_load_from_machines(sandbox):
    servers = '[servers.limit]\n[servers.alone]\nuse = "limit"\nload_machines = ["here"]\n'
    # On busy CPUs two agents and a server may all wait for longer than a tenth of a second.
    host = 'load_machines = ["here", "here"]'
    text = study_text(servers, load='duration = "500ms"', connections="[4]", trials=1, host=host)
    finished = sandbox.run("run", sandbox.write("study.toml", text), "--out", sandbox.work / "run")
    assert finished.returncode in (0, 3), finished.stderr
    lines = (sandbox.work / "run" / "trials.jsonl").read_text().splitlines()
    points = {one["server"]: one for one in map(json.loads, lines) if one["kind"] == "point"}
    # The agent that is one of two for the others.
    [part] = points["alone"]["measurements"]["load"]["machines"]["parts"]
    assert part["machine"] == "here-1"
    record = json.loads((sandbox.work / "run" / "run.json").read_text())
    named = {name: server["load_machines"] for name, server in record["servers"].items()}
    assert named == {"limit": ["here", "here"], "alone": ["here"]}
    measured = points["limit"]["measurements"]["load"]
    parts = measured["machines"]["parts"]
    assert [part["machine"] for part in parts] == ["here-1", "here-2"]
    answered = [part["requests"]["answered"] for part in parts]
    assert min(answered) > 0
    assert sum(answered) == measured["requests"]["answered"]


def study_of_one_that_runs(address, table):
    """A study of a server that runs already, with its load from the machine that `ssh far` leads to."""
    return f"""
        title = "x"
        load = {{ model = "closed", requests = ["/1k.txt"], warmup = "0s", duration = "300ms", threads = 1 }}
        sweep.connections = [2]
        trials.count = 1
        host.load_machines = ["left"]
        machines.left = {{ ssh = "far", {table} }}
        servers.one = {{ use = "url", version = "1", url = "http://{address}/" }}
    """


@pytest.mark.long
def test_the_load_of_a_machine_has_the_cpus_that_the_study_names(sandbox, tmp_path):
    (tmp_path / "1k.txt").write_bytes(b"x" * 1024)
    cpu = max(os.sched_getaffinity(0))
    with (
        far_machine(tmp_path / "far") as far,
        limit_server(tmp_path, within=far.near_words, host=NEAR_ADDRESS) as address,
    ):
        surroundings = {"within": far.near_words, **far.environment}
        file = sandbox.write(
            "study.toml", study_of_one_that_runs(address, f'cpus = [{cpu}], link_speed = "1Gbit"')
        )
        out = sandbox.work / "run"
        finished = sandbox.run("run", file, "--out", out, **surroundings)
        assert finished.returncode in (0, 3), finished.stderr
        [line] = (out / "trials.jsonl").read_text().splitlines()
        [part] = json.loads(line)["measurements"]["load"]["machines"]["parts"]
        assert (part["machine"], part["cpus"]) == ("left", [cpu])
        interface, use = part["link"]["interface"], part["link"]["use"]
        assert (interface["name"], interface["speed_from"]) == ("far", "study")
        assert interface["speed_bits_per_s"] == 10**9
        # Every answer came this way, with its headers.
        assert use["received_bytes_per_s"] > 1024 * part["answered_rps"] * 0.8
        file = sandbox.write("none.toml", study_of_one_that_runs(address, "cpus = [1023]"))
        finished = sandbox.run("run", file, "--out", sandbox.work / "none", **surroundings)
        assert "machine left: thread cannot be bound to CPU 1023" in finished.stderr
        far.wait_until_empty(10.0)
