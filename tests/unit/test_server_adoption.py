"""Which children of this process are a server's that lost their parents."""

import os
import subprocess

import pytest

from loadcurve.server import adoption
from loadcurve.server.adoption import adopted_since, start_own
from loadcurve.server.processes import ProcessIdentity, ProcessStatus

LEADER = ProcessIdentity(pid=1000, start_ticks=500)


def adopted(child: ProcessIdentity, monkeypatch: pytest.MonkeyPatch) -> list[ProcessIdentity]:
    status = ProcessStatus(child, parent=os.getpid(), session=child.pid, ended=False, has_terminal=False)
    monkeypatch.setattr(adoption, "_children", lambda: [child.pid])
    monkeypatch.setattr(adoption, "read_status", lambda _: status)
    return adopted_since(LEADER)


@pytest.mark.parametrize(("pid", "ticks"), [(1001, 500), (900, 501)])
def test_a_child_that_began_after_the_server_is_the_servers(pid, ticks, monkeypatch):
    child = ProcessIdentity(pid, ticks)
    assert adopted(child, monkeypatch) == [child]


@pytest.mark.parametrize(("pid", "ticks"), [(1001, 499), (999, 500)])
def test_a_child_that_began_before_the_server_is_not_even_within_one_tick_of_the_clock(
    pid, ticks, monkeypatch
):
    assert adopted(ProcessIdentity(pid, ticks), monkeypatch) == []


FIRST = ProcessIdentity(pid=0, start_ticks=0)
"""A server that began before everything else."""


def ended_with_3() -> subprocess.Popen[bytes]:
    """Start what ends at once, and wait until it has, without taking its status."""
    child = subprocess.Popen(["/bin/sh", "-c", "exit 3"], start_new_session=True)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return child


def test_a_child_of_ours_that_runs_is_not_the_servers():
    child = start_own(lambda: subprocess.Popen(["/bin/sleep", "60"], start_new_session=True))
    try:
        assert child.pid not in [one.pid for one in adopted_since(FIRST)]
    finally:
        child.kill()
        child.wait()


def test_the_status_of_a_child_of_ours_that_has_ended_is_left_to_whoever_waits_for_it():
    child = start_own(ended_with_3)
    adopted_since(FIRST)
    assert child.wait() == 3


def test_a_child_that_came_from_a_server_and_has_ended_is_reaped():
    child = ended_with_3()
    adopted_since(FIRST)
    with pytest.raises(ChildProcessError):
        os.waitpid(child.pid, os.WNOHANG)
