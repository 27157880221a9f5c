"""Requests that were not answered within a timeout are failures of that class, as many as the tool says.

Each tool asked a server that answers every tenth request later than the timeout of 1 s.
"""

from pathlib import Path

import pytest

from loadcurve.tools.formats import read_figures
from loadcurve.tools.source import Source

DATA = Path(__file__).parents[1] / "data" / "tools"
OF_FAILURES_TOO = [
    "vegeta/12.13.0-slow-report.json",
    "vegeta/12.13.0-slow-report.txt",
    "vegeta/12.8.4-slow-report.txt",
]


@pytest.mark.parametrize(
    ("name", "answered", "failed", "timed_out"),
    [
        ("hey/0.1.5-slow.txt", 180, 20, 20),
        *((name, 135, 15, 15) for name in OF_FAILURES_TOO),
        ("autocannon/7.15.0-slow.json", 66, 4, 4),
        ("autocannon/9.0.0-slow.json", 72, 4, 4),
        ("bombardier/1.2.6-all-slow.json", 0, 8, 8),
        # A client gives up at its first one, and h2load calls what it had left to send failed, too.
        ("h2load/1.52.0-slow.txt", 34, 166, 4),
    ],
)
def test_each_is_a_timeout_and_no_answer(name: str, answered: int, failed: int, timed_out: int):
    found, _ = read_figures(Source(DATA / name), None)
    assert (found.answered, found.failed, found.errors["timeout"]) == (answered, failed, timed_out)


@pytest.mark.parametrize("name", OF_FAILURES_TOO)
def test_latencies_of_timeouts_are_not_those_of_answers(name: str):
    found, _ = read_figures(Source(DATA / name), None)
    assert found.latency is None
    assert any("vegeta summarises those of failures" in reason for reason in found.not_measured)


def test_what_a_tool_sends_again_after_a_timeout_is_an_answer_as_the_tool_says():
    """bombardier's client asks again on another connection: 200 answers, some after 1 s, and no failure."""
    found, _ = read_figures(Source(DATA / "bombardier/1.2.6-tenth-slow.json"), None)
    assert (found.answered, found.failed) == (200, 0)
    assert found.latency is not None
    assert found.latency.distribution.p90 == pytest.approx(1000.938)
