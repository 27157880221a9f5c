"""No server holds up a run, whatever it does: the short form of `benches.hostile_servers`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FEWEST_BEHAVIOURS = 25


def test_whatever_a_server_does_each_phase_of_a_run_ends_in_time_and_says_what_was_wrong():
    script = [sys.executable, "-m", "benches.hostile_servers", "--timeout", "0.3", "--at-once", "16"]
    finished = subprocess.run(
        [*script, "--schemes", "http", "https"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    behaviours = int(finished.stdout.splitlines()[-2].split()[0])
    assert behaviours >= FEWEST_BEHAVIOURS
