"""Other programs on the CPUs that something is measured on: what is said before, and of each point."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from loadcurve.result.run_files import TRIALS_FILE
from support.tiny_study import study_text

pytestmark = pytest.mark.alone

NAME = "planted-loop"
BUSY = f"""\
import os, sys, time
os.sched_setaffinity(0, {{int(sys.argv[1])}})
open("/proc/self/comm", "w").write("{NAME}")
end = time.monotonic() + 60
print("busy", flush=True)
while time.monotonic() < end: pass
"""
"""It ends by itself, should nobody end it."""


@contextmanager
def busy_on(cpu: int) -> Iterator[int]:
    """Keep a CPU busy for the length of a block; yields the id of the process that does."""
    with subprocess.Popen([sys.executable, "-c", BUSY, str(cpu)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process.pid
        finally:
            process.kill()


def measured(sandbox, name: str, server_cpu: int):
    """Return the only point of a study, and what the run has said."""
    load = 'duration = "2s"'
    host = f"server_cpus = [{server_cpu}]"
    sandbox.write(f"{name}.toml", study_text(load=load, connections="[4]", trials=1, host=host))
    finished = sandbox.run("run", f"{name}.toml", "--out", name)
    assert finished.returncode in {0, 3}, finished.stderr
    [point] = map(json.loads, (sandbox.work / name / TRIALS_FILE).read_text().splitlines())
    return point, finished


def taken_in(verdict) -> list[str]:
    return [reason["text"] for reason in verdict["reasons"] if reason["code"] == "cpu_taken"]


def require_named(text: str, pid: int) -> None:
    """Require the planted program among the three that are named, unless three others took more."""
    if NAME not in text and text.count(" of a CPU") == 3:
        pytest.skip(f"other programs run on this machine: {text}")
    assert f"{NAME} (process {pid})" in text


def test_a_busy_program_on_the_servers_cpu_is_named_before_a_run_and_makes_its_points_invalid(sandbox):
    cpu = min(os.sched_getaffinity(0))
    with busy_on(cpu) as pid:
        point, finished = measured(sandbox, "disturbed", cpu)
    # Which ones it names is a question of how many there are.
    assert "this machine is not quiet: " in finished.stderr
    verdict = point["measurements"]["load"]["verdict"]
    assert verdict["status"] == "invalid", verdict
    [text, *_] = taken_in(verdict)
    assert "of the server's CPUs" in text
    require_named(text, pid)
    time = point["probe"]["cpu_time"]
    # Two that can always run share a CPU in halves; whatever else runs on this machine takes from both.
    assert time["others"] > 0.3, time
    parts = ("server", "generator", "kernel", "host", "others", "idle")
    assert sum(time[part] or 0 for part in parts) == pytest.approx(1.0)


def test_a_busy_program_beside_a_server_that_runs_already_makes_a_load_suspect(sandbox, limit_url):
    with busy_on(min(os.sched_getaffinity(0))) as pid:
        finished = sandbox.run("load", limit_url, "-c", "4", "-d", "1s", "--json")
    result = json.loads(finished.stdout)
    [text] = taken_in(result["verdict"])
    assert result["verdict"]["status"] in {"suspect", "invalid"}
    require_named(text, pid)
    assert "unless they work for the server" in text
    assert "this machine is not quiet: " in finished.stderr


def test_a_run_on_a_machine_that_is_left_alone_has_no_doubt_of_it(sandbox):
    point, finished = measured(sandbox, "quiet", min(os.sched_getaffinity(0)))
    if "this machine is not quiet" in finished.stderr:
        pytest.skip("other programs run on this machine")
    assert taken_in(point["measurements"]["load"]["verdict"]) == []
    for time in (point["probe"]["cpu_time"], point["measurements"]["load"]["generator"]["cpu_time"]):
        assert time["others"] <= 0.05 + time["uncertain"], time
