"""The verdict on a load under way is that of the engine on the same figures."""

import json

import pytest

from loadcurve import _engine as native
from loadcurve.watch.live import LiveSecond
from loadcurve.watch.so_far import verdict_so_far

AT_S = 10.0
ENDED = 100_000


# By Little's law ten connections have 10,000 answers per second of a millisecond each.
def engines(answered: int, failed: int, asked_rps: float | None) -> str:
    """What the engine says where a load ends with these figures."""
    figures = {
        "work": "http",
        "stop": {"duration_s": AT_S},
        "interrupted": False,
        "duration_s": AT_S,
        "warmup_s": 0.0,
        "answered": answered,
        "ok": answered,
        "failed": failed,
        "failures": {},
        "status": None,
        "asked_rps": asked_rps,
        "requests_at_once": 10,
        "mean_latency_ms": 1.0,
        "threads": 1,
        "cpu_share": None,
    }
    return str(json.loads(native.judge(json.dumps(figures)))["status"])


def so_far(answered: int, failed: int, asked_rps: float | None) -> str | None:
    second = LiveSecond(
        at_s=AT_S, rate_rps=1.0, p50_ms=None, p90_ms=None, p99_ms=None, failed=failed, answered=answered
    )
    found = verdict_so_far([second], None if asked_rps is None else {"rate": asked_rps})
    return found and found.status


@pytest.mark.parametrize("failed", [0, 1, 999, 1000, 1001, ENDED])
def test_a_share_of_failed_requests_is_judged_as_at_the_end(failed: int):
    assert so_far(ENDED - failed, failed, None) == engines(ENDED - failed, failed, None)


@pytest.mark.parametrize("short", [0.98, 0.989, 0.991, 1.0])
def test_a_rate_that_is_not_reached_is_judged_as_at_the_end(short: float):
    assert so_far(ENDED, 0, ENDED / AT_S / short) == engines(ENDED, 0, ENDED / AT_S / short)


def test_each_verdict_occurs():
    shares = {engines(ENDED - failed, failed, None) for failed in (0, 1, 1001)}
    assert shares == {"valid", "suspect", "invalid"}
    assert {engines(ENDED, 0, ENDED / AT_S / short) for short in (0.989, 0.991)} == {"suspect", "valid"}
