"""The probe beside a server: its group, what it sees of it, and what happens when there is no probe."""

import os
import signal
import time
from pathlib import Path

import pytest
from server_support import results_of_each, server_of, wait_until

from loadcurve.server import probing
from loadcurve.server.catalog import load_catalog
from loadcurve.server.group import group_parent
from loadcurve.server.processes import read_status
from support.probed_load import load_of

pytestmark = pytest.mark.alone

INTERVAL_S = 0.02
ALL_CPUS = os.sched_getaffinity(0)
makes_groups = pytest.mark.skipif(
    group_parent() is None, reason="needs to make a control group of version 2, as root may"
)


@pytest.fixture
def server(content_folder):
    with server_of(load_catalog()["limit"], content_folder) as server:
        yield server


def test_a_server_is_seen_as_long_as_the_block_lasts(server):
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        time.sleep(20 * INTERVAL_S)
        record = probe.observed(load_of(18 * INTERVAL_S))
        assert len(_probes()) == 1
    assert record.caveats == []
    assert record.server.processes.model_dump() == {"min": 1, "max": 1}
    assert record.server.memory_peak_bytes > 0
    assert record.cost.interval_s == INTERVAL_S
    assert _probes() == []


def test_windows_that_follow_each_other_are_each_seen(server):
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        for _ in range(3):
            time.sleep(6 * INTERVAL_S)
            record = probe.observed(load_of(4 * INTERVAL_S))
            assert record.caveats == []
            assert record.server.cpu_share is not None


def test_the_end_of_a_window_is_looked_at_however_far_off_the_next_sample_is(server):
    with server.probe(ALL_CPUS, 10.0) as probe:
        time.sleep(0.1)
        record = probe.observed(load_of(0.05))
    assert record.caveats == []
    assert record.server.cpu_share is not None
    assert record.tcp.listen_overflows is not None
    assert [use.cpu for use in record.cpus] == list(range(os.cpu_count()))


def test_the_probe_runs_on_the_cpus_that_it_is_given(server):
    cpu = max(ALL_CPUS)
    with server.probe([cpu], INTERVAL_S):
        (pid,) = _probes()
        assert os.sched_getaffinity(pid) == {cpu}
    assert os.sched_getaffinity(0) == ALL_CPUS


def test_a_probe_that_is_missing_is_a_caveat(server, monkeypatch):
    monkeypatch.setattr(probing, "PROGRAM", Path("/no/such/program"))
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["probe_not_started"]
    assert "/no/such/program" in record.caveats[0].text
    assert (record.server, record.series) == (None, None)


def test_a_probe_that_ends_at_once_says_why(server, monkeypatch):
    monkeypatch.setattr(probing, "PROGRAM", _script(server.marks.folder, "echo no process found >&2; exit 1"))
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["probe_died"]
    assert record.caveats[0].text == "the probe ended with status 1: no process found"


def test_a_probe_that_dies_leaves_what_it_saw_until_then(server):
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        time.sleep(20 * INTERVAL_S)
        (pid,) = _probes()
        os.kill(pid, signal.SIGKILL)
        record = probe.observed(load_of(18 * INTERVAL_S))
    assert [caveat.code for caveat in record.caveats] == ["probe_died"]
    # Its samples do not reach across the window, so nothing can be said of what grew.
    assert record.server.cpu_share is None
    assert record.server.memory_peak_bytes > 0


def test_a_probe_that_falls_silent_is_waited_for_only_so_long(server, monkeypatch):
    monkeypatch.setattr(probing, "START_TIMEOUT_S", 0.05)
    monkeypatch.setattr(probing, "PATIENCE_S", 0.05)
    monkeypatch.setattr(probing, "PROGRAM", _script(server.marks.folder, "cat >/dev/null"))
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["probe_silent"]


def test_what_the_probe_should_not_write_is_a_caveat(server, monkeypatch):
    monkeypatch.setattr(probing, "PROGRAM", _script(server.marks.folder, "echo nonsense; cat"))
    with server.probe(ALL_CPUS, INTERVAL_S) as probe:
        record = probe.observed(load_of(0.01))
    assert [caveat.code for caveat in record.caveats] == ["probe_unreadable"]


@makes_groups
@pytest.mark.needs("nginx")
def test_every_process_of_a_server_is_born_in_its_group_which_goes_with_it(content_folder):
    with server_of(load_catalog()["nginx"], content_folder, workers=2) as server:
        group = server.marks.group

        def members() -> set[int]:
            return {int(pid) for pid in (group / "cgroup.procs").read_text().split()}

        wait_until(lambda: len(members()) == 3)
        assert server.pid in members()
        assert os.getpid() not in members()
    assert not group.exists()


def _script(folder: Path, text: str) -> Path:
    file = folder / "stand-in"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def _probes() -> list[int]:
    """Return the running probes that this process has started."""
    return [pid for pid in _children() if results_of_each(_name, {pid}) == ["loadcurve-probe"]]


def _children() -> list[int]:
    """Return the running processes that this one has started."""
    folders = [folder for folder in Path("/proc").iterdir() if folder.name.isdecimal()]
    return [int(folder.name) for folder in folders if _parent(folder) == os.getpid()]


def _parent(folder: Path) -> int | None:
    status = read_status(int(folder.name))
    if status is None or status.ended:
        return None
    try:
        return int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
