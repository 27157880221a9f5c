"""What the probe costs beside a server of many processes, idle ones and busy ones, and of as many threads.

The time is that which the kernel counts for the probe's process after its start: finding and opening the
processes, which happens once and before any load, is told apart.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches.rig import machine
from loadcurve.server.probing import PROGRAM

PROCESSES = Path(__file__).with_name("waiting_processes.py")
GOAL_PERCENT = 1.0
NS_PER_S = 1e9
PARTS = {
    "processes": "tree",
    "machine": "cpus",
    "busiest thread": "busiest_thread",
    "context switches": "context_switches",
    "open files and proportional memory": "footprint",
}
"""The kinds of figures, and where they are in a sample."""


def main() -> None:
    """Print the share of a CPU for each kind of process, and how often each kind of figure was read."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--interval", type=int, default=100, metavar="MS", help="from sample to sample")
    parser.add_argument("--duration", type=int, default=20, metavar="SECONDS", help="of each kind")
    arguments = parser.parse_args()
    print(machine())
    print(
        f"{arguments.processes} processes, a sample every {arguments.interval} ms, {arguments.duration} s\n"
    )
    print(
        f"{'processes':<9}  {'goal':>6}  {'share of a CPU':>14}  {'start':>7}  number of samples that have it"
    )
    for kind in ("idle", "waking", "threaded"):
        with _waiting_processes(arguments.processes, kind) as session:
            _print_cost(kind, session, arguments.interval, arguments.duration)


def _print_cost(kind: str, session: int, interval_ms: int, duration_s: int) -> None:
    command = [str(PROGRAM), "--session", str(session), "--interval", f"{interval_ms}ms"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdin is not None, "asked for"
        assert probe.stdout is not None, "asked for"
        # The header, and the first sample.
        lines = [probe.stdout.readline(), probe.stdout.readline()]
        before_s, start_cpu_s = time.monotonic(), _cpu_s(probe.pid)
        while time.monotonic() < before_s + duration_s:
            lines.append(probe.stdout.readline())
        share = (_cpu_s(probe.pid) - start_cpu_s) / (time.monotonic() - before_s)
        probe.stdin.close()
        probe.stdout.read()
    samples = [json.loads(line) for line in lines[2:]]
    read = [f"{name} {sum(sample[part] is not None for sample in samples)}" for name, part in PARTS.items()]
    goal, reached = f"< {GOAL_PERCENT:g} %", f"{share * 100:.2f} %"
    start = f"{start_cpu_s * 1e3:.0f} ms"
    print(f"{kind:<9}  {goal:>6}  {reached:>14}  {start:>7}  {', '.join(read)} of {len(samples)}", flush=True)


def _cpu_s(pid: int) -> float:
    """Return the processor time of a process of one thread as the scheduler counts it, in nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / NS_PER_S


@contextmanager
def _waiting_processes(count: int, kind: str) -> Iterator[int]:
    """Run the processes in a separate session as long as the block lasts; yields the session."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", PROCESSES, str(count), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdin is not None, "asked for"
        assert parent.stdout is not None, "asked for"
        if not parent.stdout.readline():
            sys.exit(f"{count} processes could not be started")
        try:
            yield parent.pid
        finally:
            parent.stdin.close()


if __name__ == "__main__":
    main()
