"""What listing a thousand runs takes by ``loadcurve runs``: at first, and again.

    python -m benches.many_runs [--runs N] [--rounds N]

The runs are written first, with numbers and without, into a folder that is removed. At first nothing of them
is kept in the user's state, and, as root, no page of any file in memory: a person waits that long once.
Given are the medians. Modules are compiled before.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benches.rig import LOADCURVE, machine
from benches.sample_run import write_sample
from loadcurve.report.run_summary import make_summary

RUNS = 1_000
COLD_GOAL_S, WARM_GOAL_S = 2.0, 0.3
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
EVERYTHING = "3"


def main() -> int:
    """Print the times; return 1 where one is above its goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{machine()}; {asked.runs:,} runs")
    missed = False
    for name, finish in KINDS.items():
        with tempfile.TemporaryDirectory(prefix="loadcurve-runs-") as place:
            runs = Path(place, "loadcurve-runs")
            for number in range(asked.runs):
                finish(write_sample(runs / f"study-{number:05}").folder)
            missed |= _measured(name, runs, asked.rounds)
    return missed


def _without_numbers(folder: Path) -> None:
    """Leave a run without a report of this machine."""


KINDS: dict[str, Callable[[Path], object]] = {
    "whose numbers were kept": make_summary,
    "without numbers": _without_numbers,
}


def _measured(name: str, runs: Path, rounds: int) -> bool:
    """Print the times for some runs; return whether one is above its goal."""
    _listed(runs, Path(runs.parent, "state-compiled"))
    cold, warm = [], []
    for number in range(rounds):
        state = Path(runs.parent, f"state-{number}")
        _forget_pages()
        cold.append(_listed(runs, state))
        warm.append(_listed(runs, state))
    cold_s, warm_s = statistics.median(cold), statistics.median(warm)
    print(f"{name}: at first {cold_s:.2f} s, again {warm_s:.2f} s", flush=True)
    return cold_s > COLD_GOAL_S or warm_s > WARM_GOAL_S


def _forget_pages() -> None:
    os.sync()
    with contextlib.suppress(PermissionError):
        DROP_CACHES.write_text(EVERYTHING)


def _listed(runs: Path, state: Path) -> float:
    """List the runs with what is kept in this state; return the seconds until the list was there."""
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["XDG_STATE_HOME"] = str(state)
    begin = time.perf_counter()
    subprocess.run([LOADCURVE, "runs", str(runs)], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
