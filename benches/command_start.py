"""What starting the command costs where it runs nothing: help, the version, a refusal, and a shell's Tab.

Given are medians of the processor time, which other work on the machine changes less than the time that
passes, and the ratio to a Python that imports nothing. The commands take turns; modules are compiled before.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
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
    """Print the median processor time of each case, and its ratio to Python alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="how often each is started (20)")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for command, variables in CASES.values():
            processor_time_ms(command, environment | variables)
        times_ms: dict[str, list[float]] = {name: [] for name in CASES}
        for _ in range(rounds):
            for name, (command, variables) in CASES.items():
                times_ms[name].append(processor_time_ms(command, environment | variables))
    medians_ms = {name: statistics.median(times) for name, times in times_ms.items()}
    least_ms = medians_ms["Python alone"]
    print(f"{machine()}; {rounds} starts of each; the goal is {GOAL_MS} ms")
    for name, median_ms in medians_ms.items():
        print(f"{name:18} {median_ms:5.0f} ms  {median_ms / least_ms:5.1f} times Python alone")


def processor_time_ms(command: list[str], environment: dict[str, str]) -> float:
    """Return the processor time of a process until its end, in user and kernel mode, in ms."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


if __name__ == "__main__":
    main()
