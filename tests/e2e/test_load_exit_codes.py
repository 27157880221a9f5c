"""`loadcurve load`: how it ends, and what it says of it."""

import json

import pytest

from support.recording_server import deaf_port, full_listener, recording_server, silent_listener


@pytest.mark.parametrize("option", ["--no-such-option", "--rate=-5"])
def test_an_option_that_cannot_be_used_is_named_and_nothing_is_sent(option, sandbox):
    with recording_server() as server:
        finished = sandbox.run("load", f"http://{server.authority}/", option)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert option.partition("=")[0] in finished.stderr
    assert "Traceback" not in finished.stderr
    assert server.seen == []


def test_a_bad_url_is_bad_input_and_what_was_expected_is_said(sandbox):
    finished = sandbox.run("load", "no-url")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("loadcurve: no-url: ")
    expected = "expected a URL such as http://no-url, with one of the schemes http, https, "
    assert f"the scheme is missing; {expected}" in finished.stderr


def test_answers_that_are_errors_make_the_numbers_invalid(sandbox, limit_url):
    finished = sandbox.run("load", f"{limit_url}.missing", "-n", 50, "--json")
    assert finished.returncode == 3
    result = json.loads(finished.stdout)
    assert result["status"]["4xx"] == 50
    assert result["verdict"]["status"] == "invalid"
    assert [reason["code"] for reason in result["verdict"]["reasons"]] == ["error_status"]


def test_where_nobody_listens_nothing_can_be_measured(sandbox):
    with deaf_port() as address:
        finished = sandbox.run("load", f"http://{address}/")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"{address}: no connection (127.0.0.1: Connection refused)" in finished.stderr
    assert "check that the server is running" in finished.stderr


def test_where_connections_are_dropped_nothing_can_be_measured(sandbox):
    with full_listener(places=0) as address:
        finished = sandbox.run("load", f"http://{address}/", "--timeout", "200ms")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"{address}: no connection (127.0.0.1: no connection within 0.2 s)" in finished.stderr


def test_a_server_that_does_not_speak_http_2_in_clear_text_is_not_put_under_load(sandbox):
    with recording_server() as server:
        finished = sandbox.run("load", f"http://{server.authority}/", "--http", "2")
    assert (finished.returncode, finished.stdout) == (4, "")
    sentence = f"loadcurve: HTTP/2 in clear text failed with {server.authority}: the server"
    [line] = [line for line in finished.stderr.splitlines() if "HTTP/2" in line]
    assert line.startswith(sentence)


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
