"""`loadcurve load` on a machine with too little: refused where known before, reported where it shows."""

import json
import re
import resource

import psutil
import pytest

from support.recording_server import recording_server
from support.sandbox import finish, wait_until

PORTS = 40
"""Those of the small network."""


def reasons(result):
    return {reason["code"]: reason["text"] for reason in result["verdict"]["reasons"]}


@pytest.mark.needs("prlimit")
def test_more_connections_than_open_files_are_refused_with_both_numbers_and_the_setting(sandbox, limit_url):
    finished = sandbox.run("load", limit_url, "-c", 60, within=["prlimit", "--nofile=100:100"])
    assert (finished.returncode, finished.stdout) == (4, "")
    # 64 beside those of the connections.
    for part in ("needs 124 open files", "may open 100", "ulimit -n 124"):
        assert part in finished.stderr


def test_open_files_that_run_short_during_the_load_are_reported_with_the_numbers_and_the_setting(sandbox):
    with recording_server() as server:
        options = ["-c", 4, "--calls", 1, "-R", 100, "-d", "1s", "--json"]
        command = sandbox.start("load", f"http://{server.authority}/", *options)
        wait_until(lambda: len(server.seen) >= 5, "requests arrive")
        psutil.Process(command.pid).rlimit(resource.RLIMIT_NOFILE, (3, 3))
        finished = finish(command)
    result = json.loads(finished.stdout)
    assert result["errors"]["fd_unavailable"] > 0
    text = reasons(result)["descriptors_short"]
    assert "needs 68 open files" in text
    assert "may open 3" in text
    assert "ulimit -n 68" in text


def test_more_connections_than_local_ports_are_refused_with_both_numbers_and_the_setting(
    sandbox, small_network
):
    finished = sandbox.run("load", "{url}/1k.txt", "-c", PORTS + 1, within=small_network)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "41 concurrent connections" in finished.stderr
    # The connection that asked whether anybody answers there may still hold one of the 40.
    assert re.search("; (39|40) are free", finished.stderr)
    assert "net.ipv4.ip_local_port_range" in finished.stderr


def test_local_ports_that_run_short_during_the_load_are_reported_with_the_numbers_and_the_setting(
    sandbox, small_network
):
    # Each of 500 connections a second holds one of 40 ports for a second or longer.
    options = ["-c", 2, "--calls", 1, "-R", 500, "-d", "1s", "--json"]
    finished = sandbox.run("load", "{url}/1k.txt", *options, within=small_network)
    result = json.loads(finished.stdout)
    assert 0 < result["requests"]["answered"] < 500
    assert result["errors"]["address_unavailable"] > 0
    text = reasons(result)["ports_short"]
    assert "500 new ones per second" in text
    assert re.search("; (39|40) were free", text)
    assert "net.ipv4.ip_local_port_range" in text


def test_a_network_that_cannot_be_reached_is_named(sandbox, new_network):
    finished = sandbox.run("load", "http://192.0.2.1/", within=new_network)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "192.0.2.1:80: no connection (192.0.2.1: Network is unreachable)" in finished.stderr
