"""The engine and other load generators against the same server, taken in turn in one run.

The server has one CPU and the generator another. Each pair is measured back to back; what counts is
the median of the pairs' ratios: the machine's own drift falls on both sides of a pair alike.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadcurve.host.facts import host_facts
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.found import FoundServer, find_server
from loadcurve.server.instance import Server

PATH = "/1k.txt"
CONTENT_BYTES = {"1k.txt": 1024}
SEED = 1


@dataclass(frozen=True)
class Generator:
    """A load generator: its command line for one thread, and how what it prints is read."""

    name: str
    command: Callable[[str, int, int], list[str]]
    requests_per_second: Callable[[str], float]
    version: Callable[[], str]


@dataclass(frozen=True)
class Measured:
    """One run of one generator."""

    rps: float
    cpu_per_request_us: float


def loadcurve() -> Generator:
    """Return the engine, through the command."""
    program = str(Path(sys.executable).with_name("loadcurve"))
    return Generator(
        "loadcurve",
        lambda url, connections, duration_s: [
            *(program, "load", url, "-c", str(connections), "-d", f"{duration_s}s", "--json"),
        ],
        lambda output: float(json.loads(output)["rate_rps"]["answered"]),
        lambda: _output([program, "--version"]).strip(),
    )


def wrk() -> Generator | None:
    """Return wrk, where it is installed."""
    if shutil.which("wrk") is None:
        return None
    return Generator(
        "wrk",
        lambda url, connections, duration_s: [
            *("wrk", "-t", "1", "-c", str(connections), "-d", f"{duration_s}s", url),
        ],
        lambda output: float(re.search(r"Requests/sec:\s*([0-9.]+)", output)[1]),  # type: ignore[index]
        # It prints its version and its usage, and calls that a failure.
        lambda: _output(["wrk", "-v"]).partition(" Copyright")[0],
    )


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=3, metavar="SECONDS", help="of each run")
    parser.add_argument("--connections", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--server", default="limit", help="of the catalogue")
    arguments = parser.parse_args()
    others = [generator for generator in [wrk()] if generator is not None]
    if not others:
        sys.exit("no other load generator is installed; on Debian: apt-get install wrk")
    _print_machine([loadcurve(), *others], arguments.server)
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, _server(arguments.server, Path(folder), cpus[0]) as server:
        url = f"http://{server.address}{PATH}"
        for connections in arguments.connections:
            for other in others:
                pairs = [
                    (
                        _measure(loadcurve(), url, connections, arguments.duration, cpus[-1]),
                        _measure(other, url, connections, arguments.duration, cpus[-1]),
                    )
                    for _ in range(arguments.pairs)
                ]
                _print_pairs(other.name, connections, pairs)


def _server(name: str, folder: Path, cpu: int) -> Server:
    folder.chmod(0o755)
    content = make_content(folder, CONTENT_BYTES, SEED)
    found = find_server(load_catalog()[name], {})
    if not isinstance(found, FoundServer):
        sys.exit(str(found.failure()))
    return Server(found, folder, content, [cpu])


def _measure(generator: Generator, url: str, connections: int, duration_s: int, cpu: int) -> Measured:
    command = generator.command(url, connections, duration_s)
    with subprocess.Popen(
        ["taskset", "-c", str(cpu), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{generator.name} ended with {process.returncode}: {' '.join(command)}")
    rps = generator.requests_per_second(output)
    cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6
    return Measured(rps, cpu_us / (rps * duration_s))


def _print_machine(generators: list[Generator], server: str) -> None:
    facts = host_facts()
    print(f"{facts['cpu_model']}, {len(facts['cpus'])} CPUs, Linux {facts['kernel']}")
    print("; ".join(generator.version() for generator in generators))
    print(
        f"one thread on one CPU against {server} on another; CPU of the whole process, its start included\n"
    )
    print(f"{'connections':>11}  {'pair':<17} {'ratio of':<15} {'median':>6}  {'lowest':>6}  {'highest':>7}")


def _print_pairs(other: str, connections: int, pairs: list[tuple[Measured, Measured]]) -> None:
    for title, ratios in {
        "requests/s": [ours.rps / theirs.rps for ours, theirs in pairs],
        "CPU per request": [ours.cpu_per_request_us / theirs.cpu_per_request_us for ours, theirs in pairs],
    }.items():
        print(
            f"{connections:>11}  {f'loadcurve/{other}':<17} {title:<15} {statistics.median(ratios):>6.2f}  "
            f"{min(ratios):>6.2f}  {max(ratios):>7.2f}",
            flush=True,
        )


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
