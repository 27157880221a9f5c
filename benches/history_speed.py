"""How soon a history of many runs opens, shows its changes, and takes another run.

The entries are written first, of one server at one point with six measures, into a folder that is removed.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benches.rig import machine
from loadcurve.analysis.history import HISTORY_MEASURES, studies_of
from loadcurve.result.checksum import sealed
from loadcurve.result.history import (
    HISTORY_FORMAT,
    HistoryEntry,
    HistoryFigure,
    HistoryMachine,
    add_entry,
    read_history,
)

GOALS_S = {"opens": 1.0, "shows its changes": 5.0, "takes another run": 0.2}
LOG_SD = 0.03
MACHINE = HistoryMachine(fingerprint="a" * 64, name="a processor, 2 CPUs, 8 GiB", kernel="6.1")


def main() -> None:
    """Print the medians beside the goals."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as name:
        folder = Path(name)
        for number in range(arguments.runs):
            entry = drawn(number)
            (folder / f"{entry.run}.json").write_bytes(sealed(entry.model_dump_json()) + b"\n")
        entries = read_history(folder).entries
        more = iter(range(arguments.runs, 2 * arguments.runs))
        measured: dict[str, Callable[[], object]] = {
            "opens": lambda: read_history(folder),
            "shows its changes": lambda: studies_of(entries),
            "takes another run": lambda: add_entry(folder, drawn(next(more))),
        }
        print(f"{arguments.runs:,} runs")
        for what, measure in measured.items():
            taken_s = statistics.median(seconds(measure) for _ in range(arguments.rounds))
            print(f"{what:<20}{taken_s:>8.3f} s, goal {GOALS_S[what]:g} s")


def seconds(measure: Callable[[], object]) -> float:
    """Return how long something takes."""
    began_s = time.perf_counter()
    measure()
    return time.perf_counter() - began_s


def drawn(number: int) -> HistoryEntry:
    """Return the entry of a run by its number, with figures that scatter around a level."""
    generator = np.random.default_rng(number)
    values = 100 * np.exp(generator.normal(0, LOG_SD, len(HISTORY_MEASURES)))
    return HistoryEntry(
        format=HISTORY_FORMAT,
        run=f"{number:064x}",
        folder=f"../loadcurve-runs/{number}",
        loadcurve_version="1",
        started_at=f"2026-01-01T00:00:00.{number:06}Z",
        commit=f"{number:040x}",
        title="a study",
        study_sha256=None,
        conditions="c" * 64,
        machine=MACHINE,
        servers={"nginx": "1.26"},
        figures=[
            HistoryFigure(
                arm="nginx",
                point={"connections": 100.0},
                measure=measure,
                value=float(value),
                low=float(value) * (1 - LOG_SD),
                high=float(value) * (1 + LOG_SD),
                n=5,
            )
            for measure, value in zip(HISTORY_MEASURES, values, strict=True)
        ],
    )


if __name__ == "__main__":
    main()
