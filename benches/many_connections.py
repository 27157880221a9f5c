"""Many connections at a fixed rate: what fails, and how much memory the generator takes."""

import argparse
import sys
import tempfile
from pathlib import Path

from benches.lateness import EXIT_MEASURED
from benches.rig import LOADCURVE, allow_open_files, machine, own_cpus, run_or_exit, running_server
from loadcurve.result.load import LoadResult

PEAK_MEMORY = str(Path(__file__).with_name("peak_memory.py"))
OTHER_OPEN_FILES = 100
"""What server and generator hold open beside the connections, amply."""


def main() -> None:
    """Print the counts and the memory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--duration", type=int, default=10, metavar="SECONDS")
    parser.add_argument("--rate", type=int, default=20_000, help="requests per second")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--server", default="limit", help="of the catalogue")
    arguments = parser.parse_args()
    cpus = own_cpus()
    allow_open_files(arguments.connections + OTHER_OPEN_FILES)
    with running_server(arguments.server, cpus.server) as target:
        options = [
            "-R",
            str(arguments.rate),
            "-c",
            str(arguments.connections),
            "-d",
            f"{arguments.duration}s",
        ]
        command = [LOADCURVE, "load", target.url, "--json", *options]
        output, peak_memory_bytes = run_measured(command, cpus.generator)
    result = LoadResult.model_validate_json(output)
    print(machine())
    print(f"{arguments.rate} per second on {arguments.connections} connections against {arguments.server}\n")
    _print_counts(result)
    print(f"{'peak memory':>16}  {peak_memory_bytes / 2**20:.0f} MiB")
    print(f"{'verdict':>16}  {result.verdict.status}")
    for reason in result.verdict.reasons:
        print(f"{'':>16}  {reason.text}")


def run_measured(command: list[str], cpu: int) -> tuple[str, int]:
    """Return what the command printed, and the peak of its memory in bytes."""
    with tempfile.NamedTemporaryFile("r", encoding="ascii") as report:
        # Isolated and without the packages of the environment, so that it stays small.
        measuring = [sys.executable, "-I", "-S", PEAK_MEMORY, report.name]
        finished = run_or_exit([*measuring, *command], cpu, EXIT_MEASURED)
        return finished.output, int(report.read())


def _print_counts(result: LoadResult) -> None:
    failures = result.errors.nonzero()
    counts = {
        "connections": result.connections.opened,
        "requests due": result.requests.due,
        "answered": result.requests.answered,
        "failed": result.requests.failed,
        "unanswered": result.requests.unanswered,
        "never sent": result.requests.never_sent,
        "listen overflows": result.kernel.listen_overflows,
        **failures,
    }
    for name, count in counts.items():
        print(f"{name:>16}  {'not reported by this kernel' if count is None else count}")


if __name__ == "__main__":
    main()
