"""Findings of HTTP/3 in real runs: a cause is planted in `limit` or its load, or not, and they tell which."""

import pytest

from loadcurve.explain.all import findings
from loadcurve.explain.finding import Finding
from loadcurve.result.folder import Run
from support.planted_run import run_study, value
from support.tiny_study import STAYS_OURS, study_text

REQUESTS = 400
CONNECTIONS = 4
PLANTED = {
    "early": "mixed_handshakes",
    "no-tickets": "early_data_not_accepted",
    "small-windows": "client_quic_windows",
}
CODES = {*PLANTED.values(), "no_cold_arm"}
RESUMES = "calls = 1, full_handshakes = 0"
LARGE = 'requests = ["/128k.bin"]'


def arm(name: str, load: str = "", settings: str = "") -> str:
    """Return a server that is `limit` over HTTP/3, with its own settings and load."""
    own_load = f"load = {{ {load} }}" if load else ""
    return f"""\
[servers.{name}]
use = "limit"
tls = true
http3 = true
{STAYS_OURS}
{settings}
{own_load}
"""


SERVERS = [
    arm("early", f"{RESUMES}, early_data = 0.5", "early_data = 1"),
    arm("no-tickets", f"{RESUMES}, early_data = 1"),
    arm("small-windows", f'{LARGE}, stream_window = "16KiB"'),
    arm("plain"),
    arm("large", LARGE),
    arm("over-tcp", 'http = "2"', "http2 = true"),
]


@pytest.fixture(scope="module")
def run(shared_sandbox) -> Run:
    study = study_text(
        "".join(SERVERS),
        load=f'http = "3"\nrequests_total = {REQUESTS}',
        content='"1k.txt" = "1KiB"\n"128k.bin" = "128KiB"',
        warmup="0s",
        connections=f"[{CONNECTIONS}]",
        trials=1,
    )
    return run_study(shared_sandbox, "http3", study)


def reported(run: Run, server: str) -> dict[str, Finding]:
    return {one.code: one for one in findings(run) if one.server == server and one.code in CODES}


@pytest.mark.parametrize("server", ["early", "no-tickets", "small-windows", "plain", "large", "over-tcp"])
def test_each_cause_is_reported_for_its_server_and_for_no_other(run, server):
    assert set(reported(run, server)) == {code for name, code in PLANTED.items() if name == server}


def test_handshakes_of_which_half_carry_requests_are_counted_apart(run):
    finding = reported(run, "early")["mixed_handshakes"]
    early, others = (value(finding, name) for name in ("handshakes with 0-RTT", "other handshakes"))
    # Each request has its own connection, and the first ones have no session to resume.
    assert early + others == REQUESTS
    # Half of 400 by chance: within five standard deviations of 10.
    assert abs(early - REQUESTS / 2) <= 5 * 10


def test_a_server_without_early_data_is_named_where_the_load_asks_for_it(run):
    finding = reported(run, "no-tickets")["early_data_not_accepted"]
    assert value(finding, "handshakes with accepted early data") == 0
    # The first connections have nothing to resume.
    assert value(finding, "handshakes without early data") >= REQUESTS - 2 * CONNECTIONS


def test_answers_larger_than_the_load_s_window_say_how_often_they_waited(run):
    finding = reported(run, "small-windows")["client_quic_windows"]
    # 128 KiB through a window of 16 KiB: at least one wait in each answer.
    assert value(finding, "times that it said so") >= REQUESTS


def test_where_other_arms_of_the_run_are_cold_none_is_said_to_lack_one(run):
    names = (*PLANTED, "plain", "large", "over-tcp")
    assert [name for name in names if "no_cold_arm" in reported(run, name)] == []
