"""Ending what is left of a start."""

import itertools
import os
import subprocess

from loadcurve.server import ledger
from loadcurve.server.ledger import (
    MARK_VARIABLE,
    LedgerEntry,
    RecordedProcess,
    clean_up_after_killed_runs,
    kill_all,
    ledger_folder,
    processes_of,
)
from loadcurve.server.processes import carries_variable, identify, read_status
from support.sandbox import wait_until


def test_a_process_that_shows_no_environment_at_one_look_is_ended_all_the_same(tmp_path, monkeypatch):
    """In the middle of exec the environment of a process is empty for a moment."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    start = LedgerEntry("sleeper", tmp_path).start
    environment = {**os.environ, MARK_VARIABLE: start.mark}
    process = subprocess.Popen(["sleep", "3600"], env=environment, start_new_session=True)
    wait_until(lambda: carries_variable(identify(process.pid), start.mark_variable), "it sleeps")
    looks = []

    def carries_variable_later(identity, variable):
        if identity.pid == process.pid:
            looks.append(variable)
        return len(looks) > 1 and carries_variable(identity, variable)

    monkeypatch.setattr(ledger, "carries_variable", carries_variable_later)
    try:
        assert kill_all(start) == ({process.pid}, set())
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_killed_while_the_machine_stands_still_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    start = LedgerEntry("sleeper", tmp_path).start
    environment = {**os.environ, MARK_VARIABLE: start.mark}
    process = subprocess.Popen(["sleep", "3600"], env=environment, start_new_session=True)
    wait_until(lambda: carries_variable(identify(process.pid), start.mark_variable), "it sleeps")
    # An hour passes between any two readings of the clock.
    monkeypatch.setattr(ledger.time, "monotonic", itertools.count(0, 3600).__next__)
    try:
        assert kill_all(start) == ({process.pid}, set())
    finally:
        process.kill()
        process.wait()


def test_a_session_that_got_the_number_of_a_dead_servers_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    start = LedgerEntry("sleeper", tmp_path).start
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as stranger:
        wait_until(lambda: read_status(stranger.pid).session == stranger.pid, "it has a session")
        began = identify(stranger.pid).start_ticks
        found = {}
        for name, start_ticks in (("the server", began), ("a dead server", began - 1)):
            leader = RecordedProcess(pid=stranger.pid, start_ticks=start_ticks)
            of_leader = processes_of(start.model_copy(update={"session_leader": leader}))
            found[name] = [one.identity.pid for one in of_leader]
        stranger.kill()
    assert found == {"the server": [stranger.pid], "a dead server": []}


def test_what_a_run_was_writing_when_it_was_killed_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    LedgerEntry("limit", tmp_path)
    (own,) = (file.name for file in ledger_folder().glob("*.json"))
    _, place, mark = own.split("-")
    with subprocess.Popen(["sleep", "60"]) as owner:
        owner.kill()
    of_the_dead, elsewhere = f".{owner.pid}-{place}-{mark}.0f", f".{owner.pid}-00000000-{mark}.1e"
    for name in (of_the_dead, elsewhere, f".{own}.2d"):
        # It was killed before it had written anything.
        (ledger_folder() / name).touch()
    assert clean_up_after_killed_runs() == []
    left = {file.name for file in ledger_folder().iterdir() if file.name.startswith(".")}
    assert left == {elsewhere, f".{own}.2d"}
