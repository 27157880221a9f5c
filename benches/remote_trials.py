"""What a trial on another machine costs beyond one on this machine: `python -m benches.remote_trials`.

As root. The other machine is a network namespace with a real sshd (tests/support/far_machine.py). Runs of
both kinds have trials of the same short load, in turn; the time of a trial is that between the begins of its
load and the next one's. What this hides: a round trip takes some tens of microseconds here, and on a link of
1 ms a trial needs some 120 of them more, of which 100 compare clocks.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from tests.support.far_machine import FarMachine, far_machine

LOADCURVE = Path(sys.executable).with_name("loadcurve")
STUDY = """
title = "x"
content."1k.txt" = "1KiB"
load = {{ model = "closed", requests = ["/1k.txt"], warmup = "0s", duration = "0.2s" }}
sweep.connections = [1]
trials = {{ count = {trials}, repeat_disturbed = 0 }}
servers.nginx.workers = 1
"""
ELSEWHERE = """
host.server_machine = "web"
machines.web.ssh = "far"
"""


def trial_times_s(machine: FarMachine, more: str, trials: int) -> list[float]:
    """Return the time from each trial's first load to the next one's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY.format(trials=trials) + more)
        command = [*machine.near_words, str(LOADCURVE), "run", "study.toml", "--out", "out"]
        environment = {**os.environ, **machine.environment}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        lines = (folder / "out" / "trials.jsonl").read_text().splitlines()
    begins = [datetime.fromisoformat(json.loads(line)["started_at"]).timestamp() for line in lines]
    return [later - earlier for earlier, later in itertools.pairwise(begins)]


def main() -> None:
    """Print the medians of both, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    here: list[float] = []
    elsewhere: list[float] = []
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name:
        Path(name).chmod(0o755)
        with far_machine(Path(name)) as machine:
            for _ in range(options.runs):
                here += trial_times_s(machine, "", options.trials)
                elsewhere += trial_times_s(machine, ELSEWHERE, options.trials)
    for place, times_s in (("here", here), ("elsewhere", elsewhere)):
        middle_s, low_s, high_s = statistics.median(times_s), min(times_s), max(times_s)
        print(f"{place:>9}: median {middle_s:.3f} s of {len(times_s)}, {low_s:.3f} to {high_s:.3f}")
    print(f"difference of medians: {statistics.median(elsewhere) - statistics.median(here):+.3f} s a trial")


if __name__ == "__main__":
    main()
