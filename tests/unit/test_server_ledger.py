"""Ending what is left of a start."""

import os
import subprocess

from loadcurve.server import ledger
from loadcurve.server.ledger import MARK_VARIABLE, LedgerEntry, kill_all
from loadcurve.server.processes import carries_variable, identify
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
