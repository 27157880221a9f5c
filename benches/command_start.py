"""What starting the command costs where it runs nothing: help, the version, a refusal, and a shell's Tab.

Given are medians of the processor time, which other work on the machine changes less, and of the time that
passes, which is what a person waits; and the ratio of processor times to a Python that imports nothing. The
commands take turns; modules are compiled before.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.rig import machine

GOAL_MS = 200
COMMAND = [str(Path(sys.executable).parent / "loadcurve")]
COMPLETES = {"_LOADCURVE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "loadcurve re"}
CASES: dict[str, tuple[list[str], dict[str, str]]] = {
    "Python alone": ([sys.executable, "-c", "pass"], {}),
    "import typer": ([sys.executable, "-c", "import typer"], {}),
    "--help": ([*COMMAND, "--help"], {}),
    "--version": ([*COMMAND, "--version"], {}),
    "run --help": ([*COMMAND, "run", "--help"], {}),
    "a refused option": ([*COMMAND, "run", "--no-such-option"], {}),
    "a Tab in zsh": (COMMAND, COMPLETES),
}


def main() -> None:
    """Print the medians of each case, and the ratio of its processor time to that of Python alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how often each is started (20)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for command, variables in CASES.values():
            started(command, environment | variables)
        times_ms: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
        for _ in range(rounds):
            for name, (command, variables) in CASES.items():
                times_ms[name].append(started(command, environment | variables))
    medians_ms = {
        name: [statistics.median(kind) for kind in zip(*times, strict=True)]
        for name, times in times_ms.items()
    }
    least_ms, _ = medians_ms["Python alone"]
    print(f"{machine()}; {rounds} starts of each; the goal is {GOAL_MS} ms")
    for name, (processor_ms, passed_ms) in medians_ms.items():
        ratio = processor_ms / least_ms
        print(
            f"{name:18} {processor_ms:5.0f} ms of a CPU  {passed_ms:5.0f} ms passed  "
            f"{ratio:5.1f} times Python alone"
        )


def started(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the processor time of a process, user and system, and the time until its end, in ms."""
    before, begin_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=False)
    after, passed_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin_s
    processor_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return 1000 * processor_s, 1000 * passed_s


if __name__ == "__main__":
    main()
