"""Which children of this process are a server's that lost their parents."""

import os

import pytest

from loadcurve.server import adoption
from loadcurve.server.adoption import adopted_since
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
