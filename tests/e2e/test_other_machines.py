"""A server on a machine that a real ssh leads to: in a network namespace, with another as the load's side."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.far_machine import FAR_ADDRESS, FarMachine, far_machine
from support.sandbox import Sandbox, wait_until

PATIENCE_S = 60.0
LEFT_AFTER_S = 10.0
"""Within this time nothing may be left on the other side, whatever happened on this one."""

pytestmark = pytest.mark.needs("nginx")


@pytest.fixture(scope="module")
def machine() -> Iterator[FarMachine]:
    # Not below the folders of pytest, through which the user that root's servers become cannot pass.
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name:
        Path(name).chmod(0o755)
        with far_machine(Path(name)) as machine:
            yield machine


def study(sandbox: Sandbox, duration: str, more: str = "") -> Path:
    path = sandbox.work / "study.toml"
    path.write_text(
        f"""
        title = "x"
        content."1k.txt" = "1KiB"
        load = {{ model = "closed", requests = ["/1k.txt"], warmup = "0s", duration = "{duration}" }}
        sweep.connections = [2]
        trials.count = 1
        host.server_machine = "web"
        machines.web.ssh = "far"
        servers.nginx.workers = 1
        {more}
        """
    )
    return path


NEAR = 'servers.near = { use = "nginx", server_machine = "here" }'
"""The same server on this machine, to compare the two."""


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_a_server_there_is_verified_measured_and_gone(sandbox: Sandbox, machine: FarMachine):
    out = sandbox.work / "out"
    # Long beside the time between two readings of a counter, as each end of the load may fall into one.
    run = sandbox.run(
        "run", study(sandbox, "2s", NEAR), "--out", out, within=machine.near_words, **machine.environment
    )
    assert run.returncode == 0, run.stderr
    record = json.loads((out / "run.json").read_text())
    assert record["machines"]["web"]["address"] == FAR_ADDRESS
    assert record["machines"]["web"]["facts"]["kernel"] == os.uname().release
    assert record["servers"]["nginx"]["version"] is not None
    places = {name: server["server_machine"] for name, server in record["servers"].items()}
    assert places == {"nginx": "web", "near": None}
    points = {point["server"]: point for point in records(out)}
    assert points["near"]["measurements"]["load"]["requests"]["ok"] > 0
    assert points["near"]["probe"]["clock"] is None
    point = points["nginx"]
    load, clock = point["measurements"]["load"], point["probe"]["clock"]
    assert load["requests"]["ok"] > 0
    assert load["errors"]["connect_refused"] == 0
    assert point["probe"]["server"]["cpu_share"] > 0
    assert clock["machine"] == "web"
    for reading in (clock["before"], clock["after"]):
        # Both sides are one machine, whose monotonic clock is one.
        assert abs(reading["offset_s"]) <= reading["error_s"]
    link = record["machines"]["web"]["link"]
    assert {side: link[side]["name"] for side in ("here", "there")} == {"here": "near", "there": "far"}
    for side in ("here", "there"):
        assert (link[side]["driver"], link[side]["mtu_bytes"]) == ("veth", 1500)
        # The driver says 10 Gbit/s, of no link at all.
        assert link[side]["speed_bits_per_s"] is None
        assert link[side]["offloads"]["tcp-segmentation-offload"] is True
    assert 0 < link["round_trip_ms"]["min"] <= link["round_trip_ms"]["median"] < PATIENCE_S * 1e3
    assert link["path_mtu_bytes"] == 1500
    assert points["near"]["probe"]["link"] is None
    here, there = (point["probe"]["link"][side] for side in ("here", "there"))
    assert here["received_bytes_per_s"] == pytest.approx(there["sent_bytes_per_s"], rel=0.2)
    # Every answer came this way, with its headers.
    assert here["received_bytes_per_s"] > 1024 * load["rate_rps"]["answered"] * 0.8
    assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S


@pytest.mark.alone
def test_a_link_that_is_full_is_found_by_the_speed_that_the_study_gives(
    sandbox: Sandbox, machine: FarMachine
):
    machine.limit_link(mbit_per_s=20)
    try:
        more = 'machines.web.link_speed = "20Mbit"\ncontent."100k.txt" = "100KiB"'
        # Long beside what connecting takes, and a pause of one end.
        file = study(sandbox, "2s", more)
        text = file.read_text().replace('requests = ["/1k.txt"]', 'requests = ["/100k.txt"]')
        # Enough answers under way that the link always has one, however slow both ends are.
        file.write_text(text.replace("sweep.connections = [2]", "sweep.connections = [6]"))
        out = sandbox.work / "out"
        run = sandbox.run(
            "run", file, "--out", out, within=machine.near_words, **machine.environment, COLUMNS="200"
        )
    finally:
        machine.unlimit_link()
    link = json.loads((out / "run.json").read_text())["machines"]["web"]["link"]
    assert (link["there"]["speed_bits_per_s"], link["there"]["speed_from"]) == (20_000_000, "study")
    (point,) = records(out)
    assert point["probe"]["link"]["there"]["sent_bytes_per_s"] == pytest.approx(20e6 / 8, rel=0.1)
    assert "The link between the machines was saturated" in run.stdout
    assert "of the 20 Mbit/s of its link, as set by link_speed" in " ".join(run.stdout.split())


def test_a_port_that_is_closed_between_both_is_reported_before_anything_is_measured(
    sandbox: Sandbox, machine: FarMachine
):
    words = ["OUTPUT", "-p", "tcp", "--dport", "1024:", "-j", "REJECT"]
    table = [*machine.near_words, "iptables", "--wait"]
    if subprocess.run([*table, "-A", *words], check=False, capture_output=True).returncode:
        pytest.skip("needs iptables")
    try:
        arguments = ["run", study(sandbox, "0.3s"), "--out", sandbox.work / "out"]
        run = sandbox.run(*arguments, within=machine.near_words, **machine.environment)
    finally:
        subprocess.run([*table, "-D", *words], check=True)
    assert run.returncode == 4
    assert f"of {FAR_ADDRESS}, and a connection from here failed: Connection refused" in run.stderr
    assert "firewall" in run.stderr
    assert not (sandbox.work / "out").exists()


@pytest.mark.long
def test_a_server_there_is_loaded_from_here_and_from_there(sandbox: Sandbox, machine: FarMachine):
    out = sandbox.work / "out"
    both = study(sandbox, "0.5s")
    both.write_text(both.read_text() + 'host.load_machines = ["here", "web"]\n')
    run = sandbox.run("run", both, "--out", out, within=machine.near_words, **machine.environment)
    assert run.returncode in (0, 3), run.stderr
    [point] = [one for one in records(out) if one["kind"] == "point"]
    load = point["measurements"]["load"]
    parts = load["machines"]["parts"]
    assert [part["machine"] for part in parts] == ["here", "web"]
    assert min(part["requests"]["answered"] for part in parts) > 0
    assert load["requests"]["answered"] == load["requests"]["ok"]
    assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S


@pytest.mark.long
def test_the_doctor_compares_one_load_machine_with_two(sandbox: Sandbox, machine: FarMachine):
    words = ("--study", study(sandbox, "1s"), "--machines", "here,here", "--machine", "web", "--json")
    run = sandbox.run("doctor", *words, within=machine.near_words, **machine.environment)
    assert run.returncode == 0, run.stderr
    ceiling = json.loads(run.stdout)
    assert ceiling["server_machine"] == "web"
    assert [point["machines"] for point in ceiling["points"]] == [["here-1"], ["here-1", "here-2"]]
    assert all(point["lowest_requests_per_s"] <= point["requests_per_s"] for point in ceiling["points"])
    assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S


def kill_the_run(run: subprocess.Popen, machine: FarMachine) -> None:
    run.kill()
    run.wait()


def kill_ssh(run: subprocess.Popen, machine: FarMachine) -> None:
    (ssh,) = (pid for pid, words in machine.processes_near().items() if " -F " in words)
    os.kill(ssh, signal.SIGKILL)


def cut_the_link(run: subprocess.Popen, machine: FarMachine) -> None:
    machine.set_link("down")


def stop_the_agent(run: subprocess.Popen, machine: FarMachine) -> None:
    # Of its two processes the guard is the parent, and the worker does what there is to do.
    agents = [pid for pid, words in machine.processes().items() if "machines.agent" in words]
    (worker,) = (pid for pid in agents if psutil.Process(pid).ppid() in agents)
    os.kill(worker, signal.SIGSTOP)


def stop_the_whole_agent(run: subprocess.Popen, machine: FarMachine) -> None:
    for pid in [pid for pid, words in machine.processes().items() if "machines.agent" in words]:
        os.kill(pid, signal.SIGSTOP)


# The last three are tried with the agent alone, too, in tests/unit/test_machines_channel.py.
@pytest.mark.parametrize(
    "happens",
    [
        kill_the_run,
        kill_ssh,
        pytest.param(cut_the_link, marks=pytest.mark.long),
        pytest.param(stop_the_agent, marks=pytest.mark.long),
        pytest.param(stop_the_whole_agent, marks=pytest.mark.long),
    ],
)
def test_nothing_is_left_there_within_ten_seconds_whatever(happens, sandbox: Sandbox, machine: FarMachine):
    out = sandbox.work / "out"
    with sandbox.start(
        "run", study(sandbox, "60s"), "--out", out, within=machine.near_words, **machine.environment
    ) as run:
        wait_until(machine.is_under_load, "the load reaches the server")
        try:
            happens(run, machine)
            assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S
            if happens is kill_ssh:
                assert run.wait(PATIENCE_S) == 4
                (failure,) = records(out)
                assert failure["reason"]["code"] == "machine_lost"
                assert "machine web" in failure["reason"]["text"]
        finally:
            machine.set_link("up")
            run.kill()
    wait_until(lambda: not machine.processes_near(), "ssh ends on this side")
    # What a killed run leaves on its own side is its next one's to remove.
    for folder in (sandbox.state, sandbox.temporary):
        shutil.rmtree(folder)
        folder.mkdir()


@pytest.mark.long
def test_nothing_is_left_of_a_stopped_agent_behind_a_connection_that_stays(
    sandbox: Sandbox, machine: FarMachine
):
    """The connection is a person's own, so sshd does not end with that of the run."""
    arguments = ["run", study(sandbox, "60s"), "--out", sandbox.work / "out"]
    with (
        machine.shared_connection(),
        sandbox.start(*arguments, within=machine.near_words, **machine.environment) as run,
    ):
        wait_until(machine.is_under_load, "the load reaches the server")
        stop_the_whole_agent(run, machine)
        assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S
        assert run.wait(PATIENCE_S) == 4
