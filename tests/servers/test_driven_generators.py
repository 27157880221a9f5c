"""Other load generators, driven against real servers: what they count is what the server has logged."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from server_support import wait_until

from loadcurve.errors import NothingMeasured
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.host.cpus import divide_cpus
from loadcurve.loads.http import ClosedLoad, OpenLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.redaction import remember
from loadcurve.result.folder import read_run
from loadcurve.result.rig import Sender
from loadcurve.runs import ceiling
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.generator_check import check_generator
from loadcurve.tools.catalog import tool_named
from loadcurve.tools.process import ToolProcess
from support.command import Command
from support.limit_server import limit_server

TOOLS = [
    pytest.param(name, marks=pytest.mark.needs(name))
    for name in ("wrk", "ab", "h2load", "httperf", "hey", "wrk2", "oha", "vegeta", "fortio", "k6", "zrk")
]


@pytest.mark.needs_server("nginx")
@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_counts_what_nginx_has_logged(name):
    checked = check_generator(tool_named(name))
    assert checked.server == "nginx"
    assert checked.result.requests.failed == 0
    assert checked.unaccounted is not None
    # Requests that were under way when the load ended are in the log, and no tool counts them.
    assert 0 <= checked.unaccounted <= checked.result.load.connections


@pytest.mark.parametrize("name", TOOLS[:3])
def test_the_ceiling_of_a_tool_is_measured_with_what_it_is_driven_with(name, monkeypatch):
    monkeypatch.setattr(ceiling, "CONNECTIONS", (4,))
    monkeypatch.setattr(ceiling, "STREAMS", (1, 2))
    monkeypatch.setattr(ceiling, "TOOL_DURATION_S", 1.0)
    tool = tool_named(name)
    measured = ceiling.measure_ceiling(divide_cpus(None, None), runs=1, tool=tool)
    assert {one.sender for one in measured.points} == {Sender(name, tool.version)}
    assert {one.http for one in measured.points} == ({"1.1", "2"} if name == "h2load" else {"1.1"})
    assert all(one.requests_per_s > 0 and one.verdict.status != "invalid" for one in measured.points)


def plan(address: str, name: str, **changes: object) -> HttpPlan:
    given = {
        "model": "closed",
        "requests": ["/1k.txt"],
        "connections": 4,
        "duration": "1s",
        "generator": name,
    }
    given |= {"warmup": "0s", "http": "1.0" if name == "ab" else "1.1"} | changes
    model = OpenLoad if given["model"] == "open" else ClosedLoad
    load = model.model_validate({key: value for key, value in given.items() if value is not None})
    return HttpPlan(
        load=load, address=address, authority=address, threads=1, cpus=(min(os.sched_getaffinity(0)),)
    )


@pytest.fixture
def address(tmp_path):
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    with limit_server(tmp_path) as where:
        yield where


@pytest.mark.needs("wrk")
def test_a_pause_of_the_side_of_the_load_is_found_while_a_tool_sends_it(address):
    # This process watches the CPUs of the tool; from within, its being stopped looks like a stopped machine.
    stopping = ["sh", "-c", f"kill -STOP {os.getpid()}; sleep 0.05; kill -CONT {os.getpid()}"]
    begun = []

    def stop_once(progress):
        if progress.elapsed_s and progress.elapsed_s > 1 and not begun:
            begun.extend((time.monotonic(), subprocess.Popen(stopping)))

    # So long that even a slow machine has stopped this process before the load is over.
    result = CHOSEN.run(plan(address, "wrk", duration="4s"), stop_once)
    planted_s, stopped = begun
    assert stopped.wait() == 0
    pauses = result.generator.pauses
    assert pauses is not None
    ended_s = [
        # When it began is known to within the time between two wakes of the watch. On a busy machine it may
        # have begun by itself before this process was stopped.
        result.began_monotonic_s + one.start_s + (one.within_ms + one.length_ms) / 1e3
        for one in pauses.listed
        if one.length_ms >= 45
    ]
    assert any(end_s >= planted_s + 0.045 for end_s in ended_s)


@pytest.mark.needs("wrk")
def test_an_interrupted_tool_gives_what_it_has_measured(address):
    def interrupt_soon(progress):
        if progress.elapsed_s and progress.elapsed_s > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(LoadInterrupted) as interrupted:
        CHOSEN.run(plan(address, "wrk", duration="60s"), interrupt_soon)
    result = interrupted.value.result
    assert result.interrupted
    assert "interrupted" in [reason.code for reason in result.verdict.reasons]
    assert result.duration_s < 50
    assert result.requests.answered > 0


@pytest.mark.needs("k6")
def test_the_warm_up_of_k6_opens_the_connections_and_does_not_count(address):
    before_s = time.monotonic()
    result = CHOSEN.run(plan(address, "k6", warmup="500ms"), lambda _: None)
    assert result.tool.warmup == "own"
    assert result.requests.failed == 0
    assert result.duration_s >= 1.0
    assert result.requests.answered == sum(period.answered for period in result.series)
    assert result.connections.opened == 0, "those of the warm-up are kept"
    # It has to start, and to warm up.
    assert result.window_start_monotonic_s > before_s + 0.5
    assert result.window_start_monotonic_s + result.duration_s < time.monotonic()


@pytest.mark.needs("k6")
def test_a_load_of_k6_can_be_shorter_than_its_scenarios(address):
    result = CHOSEN.run(plan(address, "k6", duration="200ms"), lambda _: None)
    assert (result.duration_s, result.requests.failed) == (0.2, 0)
    assert result.requests.answered > 0
    # What it sends until the script has ended it is outside of the window.
    assert result.latency_ms.max <= 200


@pytest.mark.needs("k6")
def test_an_arrival_for_which_k6_has_no_free_connection_was_due_and_never_sent(address):
    # More than one connection can take, whatever the machine.
    rate = {"model": "open", "rate": 200_000, "connections": 1}
    requests = CHOSEN.run(plan(address, "k6", **rate), lambda _: None).requests
    assert requests.never_sent > 0
    assert requests.due == requests.answered + requests.failed + requests.never_sent


@pytest.mark.needs("k6")
def test_connections_that_are_refused_are_failures_of_k6_by_their_class():
    result = CHOSEN.run(plan("127.0.0.1:1", "k6"), lambda _: None)
    assert result.requests.failed == result.errors["connect_refused"] > 0
    assert (result.requests.answered, result.verdict.status) == (0, "invalid")


@pytest.mark.needs("ab")
def test_a_server_that_refuses_every_connection_is_no_result_to_use():
    result = CHOSEN.run(plan("127.0.0.1:1", "ab"), lambda _: None)
    assert result.requests.answered == 0
    assert result.verdict.status == "invalid"


def is_running(pid: int) -> bool:
    """Say whether a process lives; of one that has ended and is not reaped yet no command is left."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text() != ""
    except OSError:
        return False


def test_whatever_ends_a_tool_nothing_of_it_is_left(tmp_path):
    child = (
        "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    )
    with ToolProcess([sys.executable, "-c", child], tmp_path, ()) as process:
        printed = tmp_path / "stdout"
        while not printed.read_text().endswith("\n"):
            time.sleep(0.01)
        grandchild = int(printed.read_text())
        assert is_running(grandchild)
    assert process.status == -signal.SIGKILL
    wait_until(lambda: not is_running(grandchild))


def test_a_program_that_a_script_starts_is_a_part_of_the_tool(tmp_path):
    # The shell stays, as another command follows.
    script = f"{sys.executable} -c 'while True: pass'; echo"
    with ToolProcess(["sh", "-c", script], tmp_path, ()) as process:
        wait_until(lambda: process.cpu_now().user_s > 0.1)
        assert process.ask_to_end(), "an interrupt reaches the program, and the shell has waited for it"
        assert process.cpu_now().user_s > 0.1


def test_a_killed_command_leaves_nothing_of_a_tool_that_is_a_script(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nsleep 600 &\necho $!\nwait\n")
    tool.chmod(0o755)
    command = (
        "import sys, time; from pathlib import Path; "
        "from loadcurve.tools.process import ToolProcess; "
        f"process = ToolProcess([{str(tool)!r}], Path({str(tmp_path)!r}), ()).__enter__(); "
        "print(flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE) as killed:
        try:
            killed.stdout.readline()
            printed = tmp_path / "stdout"
            wait_until(lambda: printed.read_text().endswith("\n"))
            started = int(printed.read_text())
            # While it takes on its program it has no command.
            wait_until(lambda: is_running(started))
        finally:
            killed.kill()
    wait_until(lambda: not is_running(started))


def test_what_a_tool_has_printed_is_quoted_without_secrets_wherever_the_quotation_begins(tmp_path):
    secret = "Xq7VtZw9KpJf4Hm"
    remember(secret)
    for behind in range(280, 300):
        with ToolProcess(["printf", f"{secret} {'.' * behind}"], tmp_path, ()) as process:
            process.wait(10, lambda: None, 0.001)
        assert secret[-3:] not in process.last_words()


JAVA_SAYS = """INFO: Exception in monitor thread
com.example.RefusedException: not allowed here
\tat com.example.Client.run(Client.java:7)
Exception in thread "main" java.lang.NullPointerException: "this.db" is null
2026-11-26 0 sec: 0 operations
"""


def test_of_what_a_tool_in_java_says_the_first_exception_is_shown(tmp_path):
    with ToolProcess(["sh", "-c", 'echo "$0" >&2', JAVA_SAYS], tmp_path, ()) as process:
        process.wait(10, lambda: None, 0.001)
    assert process.last_words() == "com.example.RefusedException: not allowed here"


def test_no_settings_but_the_plans_reach_a_tool(tmp_path, monkeypatch):
    for name in ("K6_VUS", "http_proxy", "HTTPS_PROXY", "K7"):
        monkeypatch.setenv(name, "1")
    with ToolProcess(["env"], tmp_path, (), "K6_") as process:
        process.wait(10, lambda: None, 0.001)
    given = {line.partition("=")[0] for line in (tmp_path / "stdout").read_text().splitlines()}
    assert given & {"K6_VUS", "http_proxy", "HTTPS_PROXY", "K7", "LC_ALL"} == {"K7", "LC_ALL"}


def test_a_tool_that_does_not_end_is_killed_when_its_time_is_over(tmp_path):
    process = ToolProcess(["sleep", "600"], tmp_path, ())
    with pytest.raises(NothingMeasured, match="had not ended"), process:
        process.wait(0.2, lambda: None, 0.01)
    assert process.status == -signal.SIGKILL


STUDY = """
title = "Generators"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = "100ms"
duration = "200ms"
[sweep]
connections = [4]
[trials]
count = 2
repeat_disturbed = 0
[servers.limit]
"""


@pytest.mark.needs("wrk")
@pytest.mark.needs("h2load")
def test_a_study_is_cross_checked_by_other_generators_in_the_same_blocks(tmp_path):
    command = Command(tmp_path)
    (tmp_path / "study.toml").write_text(f"{STUDY}[servers.persistent]\n")
    asked = ["--only", "limit", "--generator", "wrk", "--generator", "h2load"]
    done = command.run("crosscheck", "study.toml", *asked, "--out", "run")
    said = " ".join(done.stdout.split())
    assert "limit-wrk over limit: wrk" in said
    assert "the window of wrk starts before its connections are open" in said
    # GET /1k.txt HTTP/1.1, Host: 127.0.0.1:PORT, and nothing else, which is all that wrk sends.
    assert re.search(r"bytes of a request: 4[5-9] under wrk, .* its User-Agent is none", said)
    assert "h2load reports a mean; what it does not report is not compared" in said
    run = read_run(tmp_path / "run")
    assert {record.server for record in run.points} == {"limit", "limit-wrk", "limit-h2load"}
    of_wrk = [record.load for record in run.points if record.server == "limit-wrk"]
    assert [load.tool is not None and load.tool.interrupted_after_s for load in of_wrk] == [0.2, 0.2]
    # The command that repeats the run has its generators.
    assert run.run.options == asked
    again = command.run("crosscheck", "run", "--json")
    [wrk, h2load] = json.loads(again.stdout)["pairs"]
    p50 = {one["measure"]: one["ratio"] for one in h2load["ratios"]}["latency_p50_ms"]
    assert p50 is None, "it tells none"
    assert {one["blocks"] for one in wrk["ratios"]} == {2}


def test_a_generator_that_cannot_send_a_study_is_refused_with_the_line_of_its_key(tmp_path):
    command = Command(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY + '[servers.limit.load]\ngenerator = "bombardier"\n')
    refused = command.run("run", "study.toml", "--out", "run")
    assert refused.returncode == 2
    place = "study.toml:17: servers.limit.load.generator"
    assert f"{place}: bombardier is known, but not driven" in refused.stderr
    assert not (tmp_path / "run").exists()
