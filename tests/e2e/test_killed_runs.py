"""Runs beside others in other namespaces, killed at random: the short form of `benches.killed_runs`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


# Kills alone are tried by test_run_killed.py, resumption by test_run_resumed.py, and namespaces that share a
# state folder by tests/servers/test_shared_state.py.
@pytest.mark.long
@pytest.mark.needs("unshare")
@pytest.mark.needs("setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs namespaces of process ids, which root may make")
def test_runs_that_are_killed_leave_nothing_lose_nothing_and_disturb_nobody():
    script = [sys.executable, "-m", "benches.killed_runs", "--kills", "3", "--siblings", "1", "--latest", "3"]
    script += ["--resume-every", "3"]
    finished = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "3 kills, 0 with complaints" in finished.stdout
    assert "1 runs were resumed" in finished.stdout
