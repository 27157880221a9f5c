"""Findings of messages in real runs: a wait between two subscribers is planted or not, and they tell."""

import sys
from pathlib import Path

import pytest

from loadcurve.explain.all import findings
from loadcurve.result.folder import Run
from support.planted_run import run_study
from support.sandbox import Sandbox
from support.tiny_study import STAYS_OURS

SERVER = Path(__file__).parents[1] / "support/broadcasting_server.py"
SUBSCRIBERS = 20
AHEAD = 12
WAIT_S = 0.05
STUDY = f"""\
title = "Fan-out"

[load]
model = "closed"
messages = "websocket"
requests = ["/"]
body = "hello"
subscribers = {SUBSCRIBERS}
warmup = "100ms"
duration = "1s"

[sweep]
connections = [1]

[trials]
count = 1
"""
STARTS = {"steady": "", "waiting": f" {AHEAD} {WAIT_S}"}


@pytest.fixture(scope="module")
def run(shared_sandbox: Sandbox) -> Run:
    """Both servers, measured in one run."""
    started = {name: f"{sys.executable} {SERVER} {{port}}{planted}" for name, planted in STARTS.items()}
    servers = "".join(
        f'[servers.{name}]\nversion = "1"\nstart = "{start}"\n{STAYS_OURS}\n'
        for name, start in started.items()
    )
    return run_study(shared_sandbox, "fan-out", STUDY + servers)


def test_a_wait_between_two_subscribers_is_reported_with_its_length_and_whom_it_holds_up(run: Run):
    [stall] = [one for one in findings(run) if one.code == "fan_out_stalls"]
    assert stall.server == "waiting"
    assert stall.seen.startswith(f"{SUBSCRIBERS - AHEAD} of {SUBSCRIBERS} subscribers")
    [step] = [one.value for one in stall.evidence if one.name == "step between the two groups"]
    # It can be longer where the server is not woken in time; clocks of 1 ms may make it shorter.
    assert step >= 1000 * WAIT_S - 1


def test_each_subscriber_has_each_message_all_the_same(run: Run):
    for record in run.points:
        deliveries = record.load.deliveries
        assert deliveries is not None
        assert (deliveries.reach, deliveries.subscribers.opened) == (1.0, SUBSCRIBERS)
