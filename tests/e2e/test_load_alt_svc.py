"""`loadcurve load --http 3-by-alt-svc`: over HTTP/3 where the server says so, and nowhere else."""

import json
import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.certificates import NAME, make_authority
from support.limit_server import limit_server
from support.tiny_study import study_text


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return make_authority(tmp_path_factory.mktemp("certificates"), "authority")


@pytest.fixture(scope="module")
def issued(authority):
    return authority.issue(NAME)


@pytest.fixture(scope="module")
def of_http3(tmp_path_factory, issued):
    """Give where `limit` answers HTTP/3."""
    content = tmp_path_factory.mktemp("content")
    (content / "1k.txt").write_bytes(b"x" * 1024)
    with limit_server(content, issued.certificate, issued.key, http3=True) as address:
        yield address


@contextmanager
def announcing(issued, *said):
    """Yield the port of a server that says these things of Alt-Svc, by HTTP/1.1 over TLS."""

    class Announcement(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            for one in said:
                self.send_header("Alt-Svc", one)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Announcement)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.fixture
def load(sandbox, authority, issued):
    """Give what loads a server that announces something, and returns what the command did."""

    def run(*said, options=("--json",)):
        with announcing(issued, *said) as port:
            trusted = ("--cacert", authority.certificate, "--server-name", NAME)
            url = f"https://127.0.0.1:{port}/1k.txt?token=hunter2"
            finished = sandbox.run(
                "load", url, *trusted, "--http", "3-by-alt-svc", "-n", 10, "--timeout", "5s", *options
            )
        return finished, " ".join(finished.stderr.split())

    return run


def test_the_load_goes_where_the_server_says_and_the_record_has_what_it_said(load, of_http3):
    port = of_http3.rpartition(":")[2]
    first, second = 'h2=":1"', f'h3="other.example:1", h3=":{port}"; ma=60'
    finished, _ = load(first, second)
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert (result["load"]["http"], result["load"]["address"]) == ("3", of_http3)
    announced = result["load"]["announced"]
    assert announced.pop("took_ms") > 0
    assert announced == {
        "request": "GET /1k.txt",
        "said": f"{first}, {second}",
        "address": of_http3,
        "max_age_s": 60,
        "age_s": 0,
        "times_asked": 1,
    }
    assert result["requests"]["answered"] == 10
    assert result["tls"]["protocol"] == "h3"


def test_the_summary_says_what_was_announced(load, of_http3):
    port = of_http3.rpartition(":")[2]
    finished, _ = load(f'h3="127.0.0.1:{port}"', options=())
    assert finished.returncode == 0, finished.stderr
    said = " ".join(finished.stdout.split())
    assert f"at {of_http3} HTTP/3 there was announced to GET /1k.txt in " in said
    assert f'by Alt-Svc: h3="127.0.0.1:{port}"' in said


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ((), "the answer to GET /1k.txt has no Alt-Svc, so that it announces no HTTP/3."),
        (("clear",), "says Alt-Svc: clear, which announces no HTTP/3 (h3)."),
        (('h2=":443"; ma=60',), 'says Alt-Svc: h2=":443"; ma=60, which announces no HTTP/3 (h3).'),
        # A draft of HTTP/3 is another protocol, and 0 seconds are over.
        (('h3-29=":443", h3=":443"; ma=0',), "which announces no HTTP/3 (h3)."),
        (('h3="example.org:443"',), "which leads to another host, example.org:443, and a load goes only"),
        (("h3=443",), "which is not written as RFC 7838 has it"),
    ],
)
def test_a_server_that_announces_no_http3_here_is_not_loaded(load, said, expected):
    finished, told = load(*said)
    assert (finished.returncode, finished.stdout) == (4, "")
    assert expected.lower() in told.lower()
    assert "hunter2" not in told


def test_a_port_on_which_nothing_speaks_quic_is_named(load):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        finished, said = load(f'h3=":{port}"')
    assert (finished.returncode, finished.stdout) == (4, "")
    assert f"but nothing speaks QUIC on UDP port {port} of 127.0.0.1." in said


def test_clear_text_is_refused(sandbox):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finished = sandbox.run("load", url, "--http", "3-by-alt-svc", "-n", 1)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "HTTP/3 has no clear text" in finished.stderr


STUDY = """
[servers.limit]
tls = true
http2 = true
http3 = true
announce_http3 = 3600
"""


def test_limit_announces_itself_and_all_points_of_a_start_follow_what_it_was_asked_once(sandbox):
    load = 'http = "3-by-alt-svc"\nrequests_total = 40'
    sandbox.write("tiny.toml", study_text(STUDY, load=load, connections="[1, 2, 4]", trials=2))
    finished = sandbox.run("run", "tiny.toml", "--out", "run")
    assert finished.returncode == 0, finished.stderr
    records = [*map(json.loads, (sandbox.work / "run" / "trials.jsonl").read_text().splitlines())]
    loads = [one["measurements"]["load"]["load"] for one in records]
    assert len(loads) == 6
    for followed in loads:
        port = followed["address"].rpartition(":")[2]
        assert followed["http"] == "3"
        assert followed["announced"]["said"] == f'h3=":{port}"; ma=3600'
        assert (followed["announced"]["times_asked"], followed["announced"]["max_age_s"]) == (1, 3600)
    # A warm-up is not in the records, so that no load is known to be the one that was asked for.
    ages_s = [followed["announced"]["age_s"] for followed in loads]
    assert [ages_s[:3], ages_s[3:]] == [sorted(ages_s[:3]), sorted(ages_s[3:])]
    page = (sandbox.work / "run" / "report.html").read_text()
    assert "Where HTTP/3 was announced (Alt-Svc)" in page
    assert "2 times for 6 loads: GET /1k.txt" in page
