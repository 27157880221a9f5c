"""Several loads that begin at one moment."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.generate.engine import ENGINE
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.loads.http import OpenLoad
from loadcurve.runs.plan import plan_at_point
from support.limit_server import limit_server

RATE_RPS = 200.0


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("content")
    (folder / "a").write_bytes(b"x" * 100)
    with limit_server(folder) as served:
        yield served


def plan(address, *, connections=1, duration_s=0.3, cpus=(0,)):
    load = OpenLoad(
        model="open",
        requests=["/a"],
        rate=RATE_RPS,
        connections=connections,
        duration=duration_s,
        warmup=0.0,
    )
    return plan_at_point(load, address, {}, cpus, seed=0)


def threads():
    return len(list(Path("/proc/self/task").iterdir()))


def test_loads_begin_at_one_moment_however_long_their_connections_take(address):
    apart_s = []

    def observe(progress):
        few, many = (one.elapsed_s for one in progress)
        # The second is read a moment after the first.
        if few is not None and many is not None:
            apart_s.append(many - few)

    results = ENGINE.run_together([plan(address), plan(address, connections=300)], observe)
    # Both began together, or the first would be ahead by the opening of 300 connections.
    assert 0 <= min(apart_s) < 0.001
    assert [result.requests.due for result in results] == [RATE_RPS * 0.3] * 2


def test_a_load_that_cannot_start_ends_those_that_did(address):
    before = threads()
    with pytest.raises(BadInput):
        ENGINE.run_together([plan(address), plan(address, cpus=(4000,))], lambda _: None)
    assert threads() == before


def test_an_interrupt_keeps_what_all_of_them_have_measured(address):
    def interrupted(progress):
        if all(one.answered for one in progress):
            raise KeyboardInterrupt

    with pytest.raises(LoadInterrupted) as raised:
        ENGINE.run_together([plan(address, duration_s=60), plan(address, duration_s=60)], interrupted)
    assert len(raised.value.results) == 2
    assert all(result.interrupted and result.requests.answered for result in raised.value.results)
