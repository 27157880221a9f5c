"""`loadcurve load`: how it ends, and what it says of it."""

import json
import signal
import socket

import pytest

from support.recording_server import recording_server, silent_listener
from support.sandbox import finish, wait_until


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--no-such-option"], "--no-such-option"),
        (["-n", 10, "-d", "1s"], "--duration and --requests"),
        (["--cpus", 4096], "CPU 4096 is not there"),
        (["--cpus=-1"], "CPU -1 is not there"),
        (["-R", -5], '--rate: "-5" is not a rate above 0'),
        (["-R", "inf"], '--rate: "inf" is not a rate above 0'),
        (["-c", 0], "--connections"),
        (["--timeout", "0s"], "--timeout 0s: expected a duration above 0"),
        (["-H", "no colon"], "'no colon': there is no colon"),
        (["--urls", "nowhere"], "loadcurve: nowhere: there is no such file"),
        (["--body", "@nowhere"], "--body: nowhere: there is no such file"),
        (["--body", "@."], "--body: .: this is a folder; expected a file with the body of the requests"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_and_nothing_is_sent(options, named, sandbox):
    with recording_server() as server:
        finished = sandbox.run("load", f"http://{server.authority}/", *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert named in finished.stderr
    assert "Traceback" not in finished.stderr
    assert server.seen == []


def test_a_line_of_a_list_that_cannot_be_used_is_named_and_nothing_is_sent(sandbox):
    sandbox.write("urls.txt", "/a\n" * 1000 + "a\n")
    with recording_server() as server:
        finished = sandbox.run("load", f"http://{server.authority}/", "--urls", "urls.txt")
    assert (finished.returncode, finished.stdout, server.seen) == (2, "", [])
    assert finished.stderr.startswith('loadcurve: urls.txt:1001: found "a"; expected a path')


@pytest.mark.parametrize("url", ["no-url", "https://127.0.0.1/", "http://127.0.0.1:99999/", "http:///path"])
def test_a_bad_url_is_bad_input_and_what_was_expected_is_said(url, sandbox):
    finished = sandbox.run("load", url)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith(f"loadcurve: {url}: ")
    assert "expected http://host:port/path" in finished.stderr


def test_answers_that_are_errors_make_the_numbers_invalid(sandbox, limit_url):
    finished = sandbox.run("load", f"{limit_url}.missing", "-n", 50, "--json")
    assert finished.returncode == 3
    result = json.loads(finished.stdout)
    assert result["status"]["4xx"] == 50
    assert result["verdict"]["status"] == "invalid"
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["error_status"]


def test_where_nobody_listens_nothing_can_be_measured(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    finished = sandbox.run("load", f"http://127.0.0.1:{port}/")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"127.0.0.1:{port}: nobody answers there" in finished.stderr


def test_an_unknown_host_is_named(sandbox):
    finished = sandbox.run("load", "http://no.such.host.invalid/")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert "no.such.host.invalid:80: the host is not found" in finished.stderr


def test_a_listener_that_never_answers_costs_a_timeout_for_each_request(sandbox):
    with silent_listener() as address:
        finished = sandbox.run("load", f"http://{address}/", "-c", 2, "-n", 4, "--timeout", "200ms", "--json")
    assert finished.returncode == 4
    result = json.loads(finished.stdout)
    assert (result["requests"]["answered"], result["errors"]["timeout"]) == (0, 4)
    assert "no request was answered: 4 timeout" in finished.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_load_prints_what_was_measured(number, sandbox):
    with recording_server() as server:
        command = sandbox.start("load", f"http://{server.authority}/", "-c", 1, "-d", "60s", "--json")
        wait_until(lambda: len(server.seen) >= 20, "requests arrive")
        command.send_signal(number)
        finished = finish(command)
    assert finished.returncode == 130
    result = json.loads(finished.stdout)
    assert result["interrupted"] is True
    assert 19 <= result["requests"]["answered"] <= len(server.seen)
    assert result["duration_s"] < 60
    assert "interrupted" in [reason["code"] for reason in result["verdict"]["reasons"]]
