"""How soon a copy of a large run opens: from the numbers that it carries, and by reading and analysing it.

A folder of 200 points and five trials is written and copied, with numbers and without; both copies are opened
in turn, each in a separate process, as a comparison or a history opens them.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benches.large_run import large_run, parser_of_size
from benches.rig import machine
from loadcurve.report.run_summary import make_summary
from loadcurve.result.checksum import sealed
from loadcurve.result.run_files import NUMBERS_FILE, RUN_FILE, STUDY_FILE, TRIALS_FILE

GOAL = 0.3
OPEN = """\
import sys, time
from pathlib import Path
from loadcurve.analysis.numbers import analysis_of
began_s = time.perf_counter()
analysis_of(Path(sys.argv[1]))
print(time.perf_counter() - began_s)
"""


def main() -> int:
    """Print the medians and their ratio; return 1 where it is above the goal."""
    parser = parser_of_size(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.set_defaults(servers=1, points=200, trials=5, duration=5)
    arguments = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="loadcurve-bench-") as name:
        with_numbers, without = Path(name, "with"), Path(name, "without")
        written(arguments, Path(name, "run"))
        for copy in (with_numbers, without):
            shutil.copytree(Path(name, "run"), copy)
        (without / NUMBERS_FILE).unlink()
        pairs = [(opened_s(with_numbers), opened_s(without)) for _ in range(arguments.rounds)]
    kept_s, anew_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(kept / anew for kept, anew in pairs)
    print(f"with its numbers {kept_s:.3f} s, without {anew_s:.3f} s; ratio {ratio:.2f}, goal {GOAL:g}")
    return int(ratio > GOAL)


def written(size: argparse.Namespace, folder: Path) -> None:
    """Write a run and its numbers into a folder."""
    run = large_run(size)
    folder.mkdir()
    (folder / RUN_FILE).write_bytes(sealed(run.run.model_dump_json()) + b"\n")
    (folder / STUDY_FILE).write_text("")
    lines = [sealed(one.model_dump_json()) + b"\n" for one in run.records]
    (folder / TRIALS_FILE).write_bytes(b"".join(lines))
    make_summary(folder)


def opened_s(folder: Path) -> float:
    """Return how long a fresh process takes to open a run folder, without its own start."""
    done = subprocess.run([sys.executable, "-c", OPEN, str(folder)], capture_output=True, check=True)
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
