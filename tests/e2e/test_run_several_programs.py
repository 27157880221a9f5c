"""`loadcurve run` on a server of several programs: their order, their figures, and what is wrong with one."""

import shutil
import socket
import sys
from pathlib import Path

import pytest

from loadcurve.result.folder import read_run
from loadcurve.server.found import NATIVE_FOLDER
from support.sandbox import Sandbox
from support.tiny_study import STAYS_OURS

PROGRAM = f"{NATIVE_FOLDER}/loadcurve-server"
RELAY = Path(__file__).parents[1] / "support" / "relaying_server.py"
STUDY = """\
title = "Several"
load = {{ model = "closed", requests = ["/hello.txt"], warmup = "0s", requests_total = 600 }}
sweep = {{ connections = [2] }}
trials = {{ count = 1 }}
[servers.mine]
version = "1"
{ours}
"""
APP = f"{PROGRAM} limit --listen 127.0.0.1:{{port}} --root ."
PROXY = f"{sys.executable} {RELAY} {{port}} {{app.port}}"
WORKER = "sh -c 'echo working; exec sleep 3600'"
NOT_LISTENING = "sh -c 'echo still here; exec sleep 3600' {port}"
MISTAKES = {
    "the first ends": (
        [("app", "sh -c 'echo no module named app; exit 3' {port}"), ("proxy", PROXY)],
        "The program app ended with status 3 before it was ready. Its output:\n    no module named app",
    ),
    "the last cannot be run": (
        [("app", APP), ("proxy", "sh -c ./hello.txt {port}")],
        "The program proxy ended with status 126 (of a shell that may not run the command",
    ),
    "one that was ready ends while another starts": (
        [("worker", "sh -c 'sleep 3; echo out of work; exit 5'"), ("app", NOT_LISTENING)],
        "The program worker ended with status 5 before the program app was ready. Its output:\n    out of",
    ),
    "another port": (
        [("app", f"sh -c 'exec {PROGRAM} limit --listen 127.0.0.1:0 --root .' {{port}}"), ("proxy", PROXY)],
        "The program app listens on port ",
    ),
    "into the background": (
        [("app", "sh -c 'sleep 60 &' {port}"), ("proxy", PROXY)],
        "It still runs in the background: its start command must keep it in the foreground.",
    ),
    "a wrong answer": (
        [("app", f"{PROGRAM} limit --listen 127.0.0.1:{{port}} --root empty"), ("proxy", PROXY)],
        "The program proxy: GET /hello.txt was answered with status 404",
    ),
}


def tables(*programs):
    """Return the tables of programs, each a name, a command and other lines."""
    return "\n".join(
        "\n".join(["[[servers.mine.programs]]", f'name = "{name}"', f'start = "{start}"', *more])
        for name, start, *more in programs
    )


@pytest.fixture
def application(sandbox: Sandbox) -> Sandbox:
    """A folder with what an application serves."""
    sandbox.write("app/hello.txt", "hello")
    (sandbox.work / "app" / "empty").mkdir()
    return sandbox


def run(sandbox, programs):
    sandbox.write("app/mine.toml", STUDY.format(ours=STAYS_OURS) + tables(*programs))
    return sandbox.run("run", "app/mine.toml", "--out", "run")


def test_each_starts_when_those_before_it_are_ready_and_is_measured_apart(application: Sandbox):
    # The proxy starts before the worker does, and the load goes to it.
    finished = run(application, [("app", APP), ("proxy", PROXY, "serves = true"), ("worker", WORKER)])
    assert finished.returncode == 0, finished.stderr
    record = read_run(application.work / "run")
    (point,) = record.points
    assert point.load.requests.ok == 600
    used = {one.name: one for one in point.probe.server.programs}
    assert used.keys() == {"app", "proxy", "worker"}
    assert used["proxy"].cpu_share > used["app"].cpu_share >= 0 == used["worker"].cpu_share
    whole = sum(one.cpu_share for one in used.values())
    # Times are in ticks, and lie on lines between readings.
    assert whole == pytest.approx(point.probe.server.cpu_share, rel=0.1)
    memory = sum(one.memory_mean_bytes for one in used.values())
    assert memory == pytest.approx(point.probe.server.memory_mean_bytes, rel=0.05)
    assert all(one.memory_peak_bytes > 1 << 19 for one in used.values())
    assert "of a CPU, %: proxy" in finished.stdout
    digests = record.run.servers["mine"].start_sha256
    assert str(Path(PROGRAM).resolve()) in {str(Path(one).resolve()) for one in digests}
    assert application.processes(named="loadcurve-serve") == []
    # The run is repeated from a copy of its folder, which does not have the application.
    shutil.copytree(application.work / "run", application.work / "copy")
    again = application.run("run", "copy/study.toml", "--out", "again")
    assert again.returncode == 0, again.stderr


def test_a_program_behind_another_one_may_listen_on_a_socket(application: Sandbox):
    app = f"{sys.executable} {RELAY.with_name('socket_server.py')} {{socket}}"
    proxy = f"{sys.executable} {RELAY} {{port}} {{app.socket}}"
    finished = run(application, [("app", app), ("proxy", proxy)])
    assert finished.returncode in {0, 3}, finished.stderr  # A busy machine makes the point invalid.
    (point,) = read_run(application.work / "run").points
    assert point.load.requests.ok == 600
    assert {one.name for one in point.probe.server.programs} == {"app", "proxy"}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_once_with_its_program(application: Sandbox, mistake: str):
    programs, said = MISTAKES[mistake]
    finished = run(application, programs)
    assert finished.returncode == 4
    assert finished.stderr.count(said) == 1, finished.stderr
    (failure,) = read_run(application.work / "run").failures
    assert failure.reason.text.startswith("The program ")


def test_a_port_that_somebody_else_has_is_named_with_its_process(application: Sandbox):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        start = f"{PROGRAM} limit --listen 127.0.0.1:{port} --root ."
        finished = run(application, [("app", start, f"port = {port}")])
    assert finished.returncode == 4
    assert f"The program app cannot listen on its port {port}, on which process " in finished.stderr


def test_what_programs_cannot_be_is_refused_at_its_line(application: Sandbox):
    for programs, said in (
        (
            [("app", APP), ("proxy", "sh -c x {port} {ap.port}")],
            "servers.mine.programs.start: start names {ap.port}",
        ),
        ([("app", APP), ("app", PROXY)], 'servers.mine.programs.name: found "app" again'),
        ([("port", APP)], 'servers.mine.programs.name: found "port", which is a placeholder of its own'),
        ([("worker", WORKER)], "servers.mine.programs.start: contains no {port}; expected it as"),
        (
            [("app", APP, "serves = true"), ("b", PROXY, "serves = true")],
            "programs.serves: found true again",
        ),
    ):
        finished = run(application, programs)
        assert finished.returncode == 2, finished.stderr
        assert said in finished.stderr
    assert not (application.work / "run").exists()
