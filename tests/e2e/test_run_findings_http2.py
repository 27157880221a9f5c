"""Findings of HTTP/2 and TLS in real runs: a cause is planted in nginx or not, and they tell which."""

import shutil

import pytest

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.result.folder import Run
from loadcurve.result.load import LoadResult
from support.planted_run import run_study, value
from support.tiny_study import STAYS_OURS, study_text

pytestmark = [pytest.mark.alone, pytest.mark.needs("nginx")]

PLANTED = {
    "streams_limited",
    "streams_refused",
    "connections_recycled",
    "server_windows",
    "client_windows",
    "blocked_by_loss",
    "blocked_by_long_answers",
    "slow_cipher",
    "handshakes",
    "not_resumed",
    "reconnects",
}
CHACHA = "TLS_CHACHA20_POLY1305_SHA256"


def nginx(name: str, directive: str = "", settings: str = "") -> str:
    """Give a server that is nginx with one more directive."""
    edit = f"sed -i 's|server_name localhost;|{directive}|' {{private}}/nginx.conf"
    start = f"{edit} && exec {{binary}} -p {{private}} -c {{private}}/nginx.conf -g 'daemon off;'"
    changed = f'start = ["/bin/sh", "-c", "{start}"]' if directive else ""
    return f"""\
[servers.{name}]
use = "nginx"
workers = 1
tls = true
http2 = true
{STAYS_OURS}
{changed}
{settings}
"""


def study(servers: str, load: str, content: str = '"1k.txt" = "1KiB"') -> str:
    load = f'http = "2"\n{load}'
    # A machine that is disturbed may hide what is planted.
    return study_text(
        servers,
        load=load,
        content=content,
        connections="[2]",
        trials=1,
        warmup="100ms",
        repeat_disturbed=3,
    )


def on_one_connection(text: str) -> str:
    return text.replace("connections = [2]", "connections = [1]")


def reported(run: Run, server: str) -> dict[str, Finding]:
    return {one.code: one for one in findings(run) if one.server == server and one.code in PLANTED}


@pytest.fixture(scope="module")
def limits(shared_sandbox) -> Run:
    servers = [
        nginx("few-streams", "http2_max_concurrent_streams 8;", "keepalive_requests = 1000000"),
        nginx("recycles", settings="keepalive_requests = 100"),
        nginx("plain", settings="keepalive_requests = 1000000"),
        nginx(
            "shakes-hands",
            # OpenSSL takes far longer for this curve than the generator does, and signs with RSA besides. On
            # a quick curve what the generator takes of each handshake hides half of what they cost.
            "ssl_ecdh_curve secp384r1;",
            'certificate = "rsa"\nload = { streams = 1, calls = 1 }',
        ),
        nginx(
            "without-tickets",
            "ssl_session_tickets off;",
            "load = { streams = 1, calls = 1, full_handshakes = 0 }",
        ),
        nginx("resumes", settings="load = { streams = 1, calls = 1, full_handshakes = 0 }"),
    ]
    return run_study(shared_sandbox, "limits", study("".join(servers), 'streams = 100\nduration = "300ms"'))


def test_fewer_streams_than_the_load_has_are_reported_with_the_wait_for_them(limits):
    found = reported(limits, "few-streams")
    assert found.keys() == {"streams_limited"}
    finding = found["streams_limited"]
    assert value(finding, "streams allowed per connection") == 8
    assert value(finding, "streams requested") == 100
    # Of 100 requests that are due together 92 wait.
    assert value(finding, "requests that waited for a stream") > 0.5


def test_connections_that_end_after_a_hundred_requests_are_explained_by_the_setting(limits):
    finding = reported(limits, "recycles")["connections_recycled"]
    assert finding.certainty == "shown"
    assert "after 100 requests" in finding.cause
    assert value(finding, "replies per connection") == pytest.approx(100, rel=0.2)


def test_nginx_that_keeps_its_connections_and_allows_the_streams_has_none_of_these(limits):
    assert reported(limits, "plain") == {}


def test_full_handshakes_for_each_answer_are_recognised_by_the_cpu_time_that_they_take(limits):
    found = reported(limits, "shakes-hands")
    assert found.keys() == {"handshakes"}
    assert found["handshakes"].certainty == "likely"
    # To exchange keys and to sign takes as long as tens of small answers, and one follows each of them.
    assert 0.25 <= value(found["handshakes"], "share of the CPU time, by rate and shortest time") <= 1
    assert value(found["handshakes"], "rate of full handshakes") > 10


def test_sessions_that_nginx_gives_no_tickets_for_are_reported_and_those_that_it_resumes_are_none(limits):
    assert value(reported(limits, "without-tickets")["not_resumed"], "resumed handshakes") == 0
    assert "not_resumed" not in reported(limits, "resumes")
    [resuming] = [point.load.tls for point in limits.points if point.server == "resumes"]
    assert resuming.measured.resumed_ms.count > resuming.measured.full_ms.count


@pytest.fixture(scope="module")
def windows(shared_sandbox) -> Run:
    """Servers, each under a separate load, in which long bodies or answers fill something up."""
    # Fifteen windows of nginx, of which also a slow machine has to wait for one.
    shared_sandbox.write("body.bin", "x" * 1_000_000)
    arms = {
        # What nginx sends as one frame: no load is so quick that it enlarges a window before it is used up.
        "small-windows": (
            "",
            (
                'streams = 4, stream_window = "8KiB", '
                f'tls = {{ suites = ["{CHACHA}"] }}, requests = ["/1m.bin"]'
            ),
        ),
        # What nginx gives for a file is no answer to POST, but for this line. It is sent before the body
        # is read, so a short one may be complete before a slow client has filled the window.
        "takes-bodies": (
            "error_page 405 =200 $uri;",
            'streams = 4, method = "POST", body = "@body.bin", requests = ["/1m.bin"]',
        ),
        "fills": ("", f"streams = 5, requests = {['/1k.txt'] * 4 + ['/8m.bin']}"),
    }
    servers = [
        nginx(name, directive, f"keepalive_requests = 1000000\nload = {{ {load} }}")
        for name, (directive, load) in arms.items()
    ]
    content = '"1k.txt" = "1KiB"\n"1m.bin" = "1MiB"\n"8m.bin" = "8MiB"'
    text = study("".join(servers), 'duration = "2s"', content)
    return run_study(shared_sandbox, "windows", on_one_connection(text))


def load_of(run: Run, server: str) -> LoadResult:
    [load] = [point.load for point in run.points if point.server == server]
    return load


def test_small_windows_of_the_load_are_reported_where_answers_wait_for_them(windows):
    found, load = reported(windows, "small-windows"), load_of(windows, "small-windows")
    assert "client_windows" in found, (load.http2, load.connections, load.verdict)
    # An answer of 1 MiB is 128 windows long, and what ends it waits for no other.
    assert value(found["client_windows"], "windows used up per answer") == pytest.approx(127, abs=2)


def test_a_cipher_that_makes_no_use_of_the_processors_instructions_is_reported(windows):
    if not windows.run.host["cpu_has_aes"]:
        pytest.skip("this processor has no instructions for AES")
    load = load_of(windows, "small-windows")
    if (load.bytes.sent + load.bytes.received) / load.duration_s < 20e6:
        pytest.skip("this machine is too busy to encrypt 20 MB/s")
    finding = reported(windows, "small-windows")["slow_cipher"]
    assert "CHACHA20" in finding.seen
    assert value(finding, "handshakes that negotiated it") == 1


def test_bodies_that_are_longer_than_the_servers_windows_are_reported(windows):
    found, load = reported(windows, "takes-bodies"), load_of(windows, "takes-bodies")
    assert "server_windows" in found, (load.http2, load.connections, load.verdict)
    assert value(found["server_windows"], "share of all requests") > 0.5


def test_short_answers_that_wait_behind_long_ones_are_reported(windows):
    assert value(reported(windows, "fills")["blocked_by_long_answers"], "share of all answers") >= 0.1


@pytest.mark.long
def test_answers_that_wait_for_a_lost_segment_on_their_connection_are_reported(sandbox, new_network):
    if shutil.which("iptables") is None:
        pytest.skip("needs iptables; on Debian: apt-get install iptables")
    # Every 0.6 s all segments of more than a kilobyte are lost for 0.1 s, what is sent again at once
    # included; the server then waits for its timeout, 200 ms or more.
    rule = "INPUT -p tcp -m length --length 1000:65535 -j DROP"
    loses = f"while [ -e losing ]; do sleep 0.5; iptables -A {rule}; sleep 0.1; iptables -D {rule}; done"
    sandbox.write("losing", "")
    script = f'ip link set lo up && {{ {loses} & }} && "$@"; code=$?; rm losing; wait; exit $code'
    within = [*new_network, "sh", "-c", script, "sh"]
    servers = nginx("loses", settings="keepalive_requests = 1000000")
    text = study(servers, 'streams = 20\nduration = "3s"')
    run = run_study(sandbox, "loss", on_one_connection(text), within)
    finding = reported(run, "loses")["blocked_by_loss"]
    assert value(finding, "slow requests that were answered together") >= 5
    assert value(finding, "longest latency of these") > 100
    assert value(finding, "segments retransmitted meanwhile") >= 1
