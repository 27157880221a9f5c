"""Databases, containers and limits on a machine that a real ssh leads to."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.containers import Containers
from support.databases import require_postgresql
from support.far_machine import FAR_ADDRESS, FarMachine, far_machine
from support.sandbox import Sandbox

LEFT_AFTER_S = 10.0
MIB = 1 << 20

# The locks of podman are the same for all of its stores.
pytestmark = [pytest.mark.alone, pytest.mark.long]


@pytest.fixture(scope="module")
def machine() -> Iterator[FarMachine]:
    # Not below the folders of pytest, through which the user that root's servers become cannot pass.
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name:
        Path(name).chmod(0o755)
        with far_machine(Path(name)) as machine:
            yield machine


COMMON = """
title = "x"
trials = { count = 1, repeat_disturbed = 0 }
host.server_machine = "web"
machines.web.ssh = "far"
"""
WEB = """
content."1k.txt" = "1KiB"
load = { model = "closed", requests = ["/1k.txt"], warmup = "0s", duration = "500ms" }
sweep.connections = [4]
"""


def measured(sandbox: Sandbox, machine: FarMachine, text: str) -> tuple[dict, dict]:
    """Return the record of a run with one server and one point, and that of the point."""
    file, out = sandbox.write("study.toml", COMMON + text), sandbox.work / "out"
    run = sandbox.run("run", file, "--out", out, within=machine.near_words, **machine.environment)
    # A busy machine may make the point suspect.
    assert run.returncode in (0, 3), run.stderr
    [point] = [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert point["kind"] == "point", point
    assert machine.wait_until_empty(LEFT_AFTER_S) < LEFT_AFTER_S
    return json.loads((out / "run.json").read_text()), point


def test_a_database_there_is_filled_verified_and_measured_from_here(sandbox: Sandbox, machine: FarMachine):
    require_postgresql()
    text = """
        load = { model = "ycsb", workload = "a", records = 50, operations = 100, warmup = "0s" }
        sweep.threads = [2]
        servers.postgresql = {}
    """
    record, point = measured(sandbox, machine, text)
    load, loading = point["measurements"]["load"], point["measurements"]["loading"]
    assert (load["requests"]["ok"], loading["requests"]["ok"]) == (100, 50)
    assert FAR_ADDRESS in load["load"]["address"]
    assert point["probe"]["server"]["processes"]["max"] > 1
    assert record["servers"]["postgresql"]["server_machine"] == "web"
    # The password was drawn there, and travels in a message alone.
    assert "@" not in load["load"]["address"]


def test_a_server_there_is_held_to_limits_that_its_kernel_counts(sandbox: Sandbox, machine: FarMachine):
    limits = 'servers.limit.limits = { cpus = 0.05, memory = "64MiB" }'
    record, point = measured(sandbox, machine, WEB + limits)
    assert record["servers"]["limit"]["limits"]["cpus"] == 0.05
    assert point["probe"]["throttling"]["throttled_periods"] > 0
    assert 0 < point["limit_use"]["memory_peak_bytes"] <= 64 * MIB


def test_a_server_there_runs_in_a_container(sandbox: Sandbox, machine: FarMachine, containers: Containers):
    record, point = measured(sandbox, machine, f"{WEB}\n[servers.limit]\n{containers.keys}")
    container = record["servers"]["limit"]["container"]
    assert (container["engine"], container["network"]) == (containers.engine.name, "host")
    assert point["measurements"]["load"]["requests"]["ok"] > 0
    assert point["probe"]["server"]["processes"]["max"] == 1
    assert containers.names() == []
