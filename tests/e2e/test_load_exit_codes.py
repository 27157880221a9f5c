"""`loadcurve load`: how it ends, and what it says of it."""

import json

import pytest

from support.recording_server import deaf_port, full_listener, recording_server, silent_listener


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--no-such-option"], "--no-such-option"),
        (["-n", 10, "-d", "1s"], "-n/--requests/--operations: given beside a duration; keep one of the two"),
        (["--cpus", 4096], "CPU 4096 is not there"),
        (["--cpus=-1"], "CPU -1 is not there"),
        (["-R", -5], '--rate: "-5" is not a rate above 0'),
        (["-R", 0], '--rate: "0" is not a rate above 0'),
        (["-R", "inf"], '--rate: "inf" is not a rate above 0'),
        (["-R", "NaN"], '--rate: "NaN" is not a rate above 0'),
        (["-R", "1e12"], '--rate: "1e12" is not a rate above 0'),
        (["-R", "100-"], '--rate: "100-" is not a rate above 0'),
        (["-R", 2_000_000_000], "--rate: a rate of 2000000000 cannot be scheduled; expected at most 1,000,"),
        (["-R", "100-200:0s"], '--rate: "100-200:0s" lasts 0 s; expected above 0'),
        (["-R", "5:1s, 0:1s"], "ends with a rate of 0, which would go on for ever; end above 0"),
        (["--connection-rate", "0"], '--connection-rate: "0" is not a rate above 0'),
        (["-d", 0], '-d/--duration: found "0"; expected a duration above 0'),
        (["-d", "1x"], '-d/--duration: found "1x"; expected a duration above 0'),
        (
            ["--rate", 5, "--think", "1s"],
            "--think: no option of an open loop, which --rate asks for; leave it out",
        ),
        (
            ["-R", 5, "--connection-rate", 5],
            "-R/--rate: no option of sessions, which --connection-rate asks for",
        ),
        (
            ["--num-connections", 5],
            "--num-connections: no option of a closed loop; --rate asks for an open one",
        ),
        (["--pick", "weighted"], "--pick: missing; expected one for each request"),
        (["-n", 0], "--requests"),
        (["-c", 0], "--connections"),
        (["-c", 2, "-t", 3], "-t/--threads: found 3; expected no more threads than connections"),
        (["--timeout", "0s"], '--timeout: found "0s"; expected a duration above 0'),
        (["-H", "no colon"], "--header: there is no colon; expected 'NAME: VALUE'"),
        (["--urls", "nowhere"], "loadcurve: --urls: nowhere: there is no such file"),
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


def test_a_list_of_urls_without_a_request_is_bad_input(sandbox, limit_url):
    sandbox.write("urls.txt", "# only a comment\n")
    finished = sandbox.run("load", limit_url, "--urls", "urls.txt")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("loadcurve: --urls: urls.txt: ")


def test_a_line_of_a_list_that_cannot_be_used_is_named_and_nothing_is_sent(sandbox):
    sandbox.write("urls.txt", "/a\n" * 1000 + "a\n")
    with recording_server() as server:
        finished = sandbox.run("load", f"http://{server.authority}/", "--urls", "urls.txt")
    assert (finished.returncode, finished.stdout, server.seen) == (2, "", [])
    assert finished.stderr.startswith('loadcurve: --urls: urls.txt:1001: found "a"; expected a path')


BAD_URLS = ["no-url", "https://127.0.0.1/", "http:///path", *(f"http://127.0.0.1:{port}/" for port in "0a")]


@pytest.mark.parametrize("url", [*BAD_URLS, "http://127.0.0.1:99999/", "http://[::1/"])
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
    with deaf_port() as address:
        finished = sandbox.run("load", f"http://{address}/")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"{address}: nobody answers there (127.0.0.1: Connection refused)" in finished.stderr
    assert "is the server running" in finished.stderr


def test_where_connections_are_dropped_nothing_can_be_measured(sandbox):
    with full_listener(places=0) as address:
        finished = sandbox.run("load", f"http://{address}/", "--timeout", "200ms")
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"{address}: nobody answers there (127.0.0.1: no connection within 0.2 s)" in finished.stderr


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
