"""`loadcurve load` stopped by a signal: what was measured is printed, and what was not is said."""

import json
import signal
import time

import psutil
import pytest

from loadcurve.result.machine import LONG_PAUSE_S
from support.recording_server import full_listener, recording_server
from support.sandbox import finish, wait_until


def connecting(command):
    """Count the connections of a command that nobody has accepted yet."""
    return sum(one.status == psutil.CONN_SYN_SENT for one in psutil.Process(command.pid).net_connections())


def reasons(result):
    return {reason["code"]: reason["text"] for reason in result["verdict"]["reasons"]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_load_prints_what_was_measured(number, sandbox):
    with recording_server() as server:
        arguments = ["load", f"http://{server.authority}/", "-c", 1, "-d", "60s", "--json"]
        command = sandbox.start(*arguments, anew=number == signal.SIGINT)
        wait_until(lambda: len(server.seen) >= 20, "requests arrive")
        command.send_signal(number)
        finished = finish(command)
    assert finished.returncode == 130
    result = json.loads(finished.stdout)
    assert result["interrupted"] is True
    assert 19 <= result["requests"]["answered"] <= len(server.seen)
    assert result["duration_s"] < 60
    assert "was to last 60 s" in reasons(result)["interrupted"]


def test_a_load_whose_process_was_stopped_for_a_while_is_invalid_and_says_so(sandbox):
    with recording_server() as server:
        command = sandbox.start("load", f"http://{server.authority}/", "-c", 1, "-d", "60s", "--json")
        wait_until(lambda: len(server.seen) >= 20, "requests arrive")
        command.send_signal(signal.SIGSTOP)
        stopped = psutil.Process(command.pid)
        wait_until(lambda: stopped.status() == psutil.STATUS_STOPPED, "the command stops")
        time.sleep(2 * LONG_PAUSE_S)
        command.send_signal(signal.SIGCONT)
        command.send_signal(signal.SIGINT)
        finished = finish(command)
    result = json.loads(finished.stdout)
    assert result["verdict"]["status"] == "invalid", "a pause is most of the window"
    assert "did not run for " in reasons(result)["generator_paused"]


def test_an_interrupt_in_the_warm_up_says_that_nothing_was_measured_yet(sandbox):
    with recording_server() as server:
        options = ["-c", 1, "-d", "60s", "--warmup", "60s", "--json"]
        command = sandbox.start("load", f"http://{server.authority}/", *options)
        wait_until(lambda: len(server.seen) >= 20, "requests arrive")
        command.send_signal(signal.SIGINT)
        finished = finish(command)
    assert finished.returncode == 130
    result = json.loads(finished.stdout)
    assert (result["interrupted"], result["requests"]["due"], result["duration_s"]) == (True, 0, 0)
    assert result["latency_ms"]["mean"] is None
    assert "in its warm-up" in reasons(result)["interrupted"]


def test_an_interrupt_while_the_connections_are_opened_says_that_nothing_was_sent_yet(sandbox):
    # One place for the question whether anybody answers there, none for the load.
    with full_listener(places=1) as address:
        command = sandbox.start("load", f"http://{address}/", "-c", 3, "--timeout", "60s", "--json")
        wait_until(lambda: connecting(command) == 3, "the load connects")
        command.send_signal(signal.SIGINT)
        finished = finish(command)
    assert finished.returncode == 130
    result = json.loads(finished.stdout)
    assert (result["interrupted"], result["requests"]["due"]) == (True, 0)
    assert (result["connections"]["opened"], result["requests"]["sent"]) == (0, 0)
    assert "before its first request" in reasons(result)["interrupted"]


def test_an_interrupt_before_anybody_answered_says_that_nothing_was_measured(sandbox):
    with full_listener(places=0) as address:
        command = sandbox.start("load", f"http://{address}/", "--timeout", "60s")
        wait_until(lambda: connecting(command) == 1, "the command connects")
        command.send_signal(signal.SIGINT)
        finished = finish(command)
    assert (finished.returncode, finished.stdout) == (130, "")
    assert finished.stderr == "interrupted before anything was measured\n"
