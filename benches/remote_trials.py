"""What a trial on another machine costs beyond one on this machine: `python -m benches.remote_trials`.

As root. The other machine is a network namespace with a real sshd (tests/support/far_machine.py). Runs of
both kinds have trials of the same short load, in turn; the time of a trial is that between the begins of its
load and the next one's. `--round-trip-ms 1` delays every packet between the two by half of that
(tests/support/delayed_link.py); without it a round trip takes some tens of microseconds.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tests.support.far_machine import FarMachine, far_machine

from benches.rig import LOADCURVE

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


class Trials(NamedTuple):
    """What was measured of the trials of a run."""

    times_s: list[float]
    """From each trial's first load to the next one's."""
    round_trip_ms: float | None
    """Of the link to the other machine, in the median; ``None`` where there is none."""


def tried(machine: FarMachine, more: str, trials: int) -> Trials:
    """Run a study with this number of trials."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY.format(trials=trials) + more)
        command = [*machine.near_words, LOADCURVE, "run", "study.toml", "--out", "out"]
        environment = {**os.environ, **machine.environment}
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
        lines = (folder / "out" / "trials.jsonl").read_text().splitlines()
        machines = json.loads((folder / "out" / "run.json").read_text())["machines"]
    round_trips = [other["link"]["round_trip_ms"]["median"] for other in machines.values()]
    begins = [datetime.fromisoformat(json.loads(line)["started_at"]).timestamp() for line in lines]
    times_s = [later - earlier for earlier, later in itertools.pairwise(begins)]
    return Trials(times_s, max(round_trips, default=None))


def main() -> None:
    """Print the medians of both, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--round-trip-ms", type=float, help="that of the link; as short as can be without it")
    options = parser.parse_args()
    delay_s = None if options.round_trip_ms is None else options.round_trip_ms / 2e3
    here: list[float] = []
    elsewhere: list[float] = []
    round_trips_ms: list[float] = []
    with tempfile.TemporaryDirectory(prefix="loadcurve-far-") as name:
        Path(name).chmod(0o755)
        with far_machine(Path(name), delay_s) as machine:
            for _ in range(options.runs):
                here += tried(machine, "", options.trials).times_s
                times_s, round_trip_ms = tried(machine, ELSEWHERE, options.trials)
                elsewhere += times_s
                round_trips_ms.append(round_trip_ms or 0.0)
    for place, times_s in (("here", here), ("elsewhere", elsewhere)):
        middle_s, low_s, high_s = statistics.median(times_s), min(times_s), max(times_s)
        print(f"{place:>9}: median {middle_s:.3f} s of {len(times_s)}, {low_s:.3f} to {high_s:.3f}")
    print(f"a round trip takes {statistics.median(round_trips_ms):.3f} ms")
    print(f"difference of medians: {statistics.median(elsewhere) - statistics.median(here):+.3f} s a trial")


if __name__ == "__main__":
    main()
