"""Runs in namespaces, containers and on machines that share one state folder: none is taken for dead."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadcurve.host.state import state_folder
from loadcurve.server.ledger import LedgerEntry, clean_up_after_killed_runs, ledger_folder
from loadcurve.server.presence import Place, announce, current_place, neighbours
from loadcurve.server.processes import carries_variable, running_processes

OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from server_support import server_of
from loadcurve.server.catalog import read_entry
with server_of(read_entry(Path(sys.argv[2])), Path(sys.argv[3])) as server:
    print("ready", flush=True)
    for line in sys.stdin:
        server.verify(["/1k.txt"])
        print("right", flush=True)
"""
ELSEWHERE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
MEASURING = """
import sys
from loadcurve.server.presence import announce
print(announce(), flush=True)
sys.stdin.read()
"""


@contextmanager
def measuring_process(*within: str) -> Iterator[str]:
    """Run a process that measures; yields the name of its lock."""
    with subprocess.Popen(
        [*within, sys.executable, "-c", MEASURING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.stdin.close()


def needs_namespaces() -> None:
    tried = subprocess.run([*ELSEWHERE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"needs namespaces of process ids: {tried.stderr.strip()}")


def left_behind(state: Path, **changes: object) -> LedgerEntry:
    """Record a start whose owner has ended, with a private folder."""
    entry = LedgerEntry("scripted", state / "tmp")
    owner = entry.start.owner.model_copy(update={"start_ticks": -1})
    entry.start = entry.start.model_copy(update={"owner": owner, **changes})
    entry._write()
    entry.start.private_folder.mkdir()
    return entry


def elsewhere() -> str:
    return str(Place(current_place().boot, "pid:[1]"))


@pytest.mark.needs("unshare")
def test_a_run_in_another_namespace_is_not_taken_for_dead(scripted, content_folder):
    needs_namespaces()
    command = [*ELSEWHERE, sys.executable, "-c", OWNER, str(Path(__file__).parent)]
    with subprocess.Popen(
        [*command, str(scripted().folder), str(content_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout.readline() == "ready\n"
        assert clean_up_after_killed_runs() == []
        (neighbour,) = neighbours()
        assert neighbour.is_elsewhere
        owner.stdin.write("is it right?\n")
        owner.stdin.flush()
        assert owner.stdout.readline() == "right\n"
        owner.stdin.close()
    assert owner.returncode == 0
    assert neighbours() == []


def test_what_a_killed_run_of_another_namespace_left_is_left_to_that(state):
    entry = left_behind(state, boot=elsewhere())
    with subprocess.Popen(
        ["sleep", "3600"], env={**os.environ, **dict([entry.start.mark_variable.split("=")])}
    ) as its:
        assert any(carries_variable(one.identity, entry.start.mark_variable) for one in running_processes())
        assert clean_up_after_killed_runs() == []
        assert its.poll() is None
        its.kill()
    assert entry.start.private_folder.is_dir()
    entry.remove()


def test_after_a_restart_of_the_machine_a_folder_is_removed_and_nothing_ended(state):
    entry = left_behind(state, boot="another boot pid:[1]", owner_lock="1-gone.lock")
    with subprocess.Popen(["sleep", "3600"], cwd=entry.start.private_folder) as stranger:
        (cleaned,) = clean_up_after_killed_runs()
        assert (cleaned.killed_pids, stranger.poll()) == ((), None)
        stranger.kill()
    assert cleaned.removed_folder == entry.start.private_folder


@pytest.mark.parametrize("host", [socket.gethostname(), "another-machine"])
def test_a_run_on_another_machine_is_not_taken_for_dead(host, state):
    with measuring_process() as lock:
        entry = left_behind(state, boot="another boot pid:[1]", host=host, owner_lock=lock)
        assert clean_up_after_killed_runs() == []
    assert entry.start.private_folder.is_dir()
    # Once its lock is free, it is believed where the machine has the same name.
    assert len(clean_up_after_killed_runs()) == (host == socket.gethostname())
    entry.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")
def test_the_ledger_of_another_user_is_not_believed(state):
    entry = left_behind(state)
    os.chown(next(ledger_folder().glob("*.json")), 65534, 65534)
    assert clean_up_after_killed_runs() == []
    entry.remove()


def test_a_link_in_the_ledger_is_not_followed(state):
    entry = left_behind(state)
    (file,) = ledger_folder().glob("*.json")
    moved = file.rename(state / "moved")
    file.symlink_to(moved)
    assert clean_up_after_killed_runs() == []
    moved.unlink()
    entry.remove()


def test_a_control_group_that_is_not_named_by_the_mark_is_not_the_servers(state):
    entry = left_behind(state, limiting_groups=(Path("/sys/fs/cgroup/somebody"),))
    assert entry.start.groups == []
    entry.remove()


class Killed(BaseException):
    """In place of a signal that ends the process at once."""


def test_a_process_that_is_killed_while_it_says_that_it_measures_leaves_no_file(state, monkeypatch):
    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("loadcurve.server.presence.fcntl.flock", die)
    with pytest.raises(Killed):
        announce()
    assert list(state_folder("at-work").iterdir()) == []


def test_a_process_is_seen_where_the_file_system_knows_no_files_without_names(state, monkeypatch):
    monkeypatch.setattr("loadcurve.server.presence.os.O_TMPFILE", os.O_DIRECTORY | os.O_CREAT)
    name = announce()
    assert name is not None
    assert [file.name for file in state_folder("at-work").iterdir()] == [name]


def test_of_two_processes_that_measure_each_sees_the_other(state):
    with measuring_process() as first:
        (neighbour,) = neighbours()
        assert (neighbour.text, neighbour.is_elsewhere) == (f"process {first.partition('-')[0]}", False)
        with measuring_process():
            assert len(neighbours()) == 2
        assert neighbours() == [neighbour]
    assert neighbours() == []
