"""Clients of databases against the same server, taken in turn in one run: throughput, and CPU per operation.

The server has one CPU and the client another. Every client first loads its own table; then each round
measures them one after the other. CPU time is that of the whole process less that of its start, which is
measured by runs of one operation for each thread.
"""

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benches.database_clients import (
    GO_YCSB_VERSION,
    OTHER_CLIENTS,
    OUR_CLIENT,
    YCSB_VERSION,
    DatabaseClient,
    DatabaseLoad,
    DatabaseReading,
)
from benches.rig import machine, own_cpus, run_or_exit, running_database

START_REPETITIONS = 3
US_PER_S = 1e6
WORKLOADS = ("a", "c")
THREADS = (1, 8, 64)
FAILED_SHARE_MAX = 0.05
"""go-ycsb sometimes reads the record behind the last one, which is not there: at most this often,"""
FAILED_OF_FEW_MAX = 3
"""and in a run of few operations, whose share means nothing, at most this many times."""
ACCEPTED_EXIT_CODES = (0, 3)
"""3: measured, and the verdict speaks against it, as where one CPU is all that the client has."""
SERVER_SETTINGS = {"ferretdb": {"synchronous": "off"}}
"""Servers that do not wait for the disk: clients are compared here, not disks."""


@dataclass(frozen=True)
class Measured:
    """One run of one client."""

    operations_per_s: float
    cpu_per_operation_us: float


Rounds = dict[str, list[Measured]]
"""What each client reached in each round, by its name."""


def main() -> None:
    """Print the medians of each client, and the ratios of ours to theirs."""
    names = [client.name for client in OTHER_CLIENTS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--operations", type=int, default=20_000, help="of each run")
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--against", nargs="+", choices=names, default=names, help="all by default")
    parser.add_argument("--server", default="ferretdb", help="of the catalogue, with MongoDB's protocol")
    arguments = parser.parse_args()
    asked = [client for client in OTHER_CLIENTS if client.name in arguments.against]
    _print_beginning(asked, arguments.server)
    others = [client for client in asked if client.is_installed()]
    if not others:
        sys.exit("nothing to compare with")
    for client in others:
        client.build()
    clients = (OUR_CLIENT, *others)
    cpus = own_cpus()
    settings = SERVER_SETTINGS.get(arguments.server, {})
    with running_database(arguments.server, settings, cpus.server) as url:
        for client in clients:
            _run(client, DatabaseLoad(url, "load", "c", 1, arguments.records, 0), cpus.generator)
        for workload in arguments.workloads:
            for threads in arguments.threads:
                load = DatabaseLoad(url, "run", workload, threads, arguments.records, arguments.operations)
                _print_rounds(load, _in_turn(clients, load, arguments.rounds, cpus.generator))


def _in_turn(clients: Sequence[DatabaseClient], load: DatabaseLoad, count: int, cpu: int) -> Rounds:
    """Measure all clients in each round, every second one in reverse order."""
    starts_s = {client.name: _start_cpu_s(client, load, cpu) for client in clients}
    rounds: Rounds = {client.name: [] for client in clients}
    for number in range(count):
        for client in clients if number % 2 == 0 else reversed(clients):
            reading, cpu_s = _run(client, load, cpu)
            cpu_each_us = (cpu_s - starts_s[client.name]) / load.operations * US_PER_S
            rounds[client.name].append(Measured(reading.operations_per_s, cpu_each_us))
    return rounds


def _start_cpu_s(client: DatabaseClient, load: DatabaseLoad, cpu: int) -> float:
    """Return the processor time of a run that has one operation for each thread."""
    start = DatabaseLoad(load.url, "run", load.workload, load.threads, load.records, load.threads)
    return statistics.median(_run(client, start, cpu)[1] for _ in range(START_REPETITIONS))


def _run(client: DatabaseClient, load: DatabaseLoad, cpu: int) -> tuple[DatabaseReading, float]:
    """Run a client to its end; returns also its processor time in seconds."""
    finished = run_or_exit(client.command(load), cpu, ACCEPTED_EXIT_CODES)
    try:
        reading = client.read(finished.output)
    except ValueError as error:
        sys.exit(f"what {client.name} printed cannot be read: {error}")
    failed_max = max(FAILED_OF_FEW_MAX, load.count * FAILED_SHARE_MAX)
    if reading.failed > failed_max or reading.operations != load.count:
        counts = f"{reading.operations} of {load.count} operations, and {reading.failed} failed"
        sys.exit(f"{client.name}: {counts}: {finished.complaint.strip()}")
    return reading, finished.cpu_s


def _print_beginning(asked: Sequence[DatabaseClient], server: str) -> None:
    print(machine())
    print(f"go-ycsb {GO_YCSB_VERSION}; ycsb {YCSB_VERSION} with MongoDB's driver for Java")
    for client in asked:
        if not client.is_installed():
            print(f"skipped: {client.name}, as {client.tool} is not installed ({client.install})")
    print(
        f"one CPU against {server} on another; medians, and ratios of ours to theirs with the rounds' range"
    )
    print("goals: operations/s 1 or more within noise, CPU per operation below 1\n")
    print(
        f"{'workload':<8}  {'threads':>7}  {'client':<9}  {'operations/s':>12}  {'CPU each':>10}"
        f"  {'ratio of operations/s':>22}  {'ratio of CPU each':>18}"
    )


def _print_rounds(load: DatabaseLoad, rounds: Rounds) -> None:
    our_rates, our_cpus = _columns(rounds[OUR_CLIENT.name])
    for name, runs in rounds.items():
        rates, cpus = _columns(runs)
        line = (
            f"{load.workload:<8}  {load.threads:>7}  {name:<9}  {statistics.median(rates):>12,.0f}"
            f"  {statistics.median(cpus):>7,.1f} us"
        )
        if name != OUR_CLIENT.name:
            line += f"  {_ratio(our_rates, rates):>22}  {_ratio(our_cpus, cpus):>18}"
        print(line, flush=True)


def _columns(runs: Sequence[Measured]) -> tuple[list[float], list[float]]:
    return [run.operations_per_s for run in runs], [run.cpu_per_operation_us for run in runs]


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    rounds = [our / their for our, their in zip(ours, theirs, strict=True)]
    ratio = statistics.median(ours) / statistics.median(theirs)
    return f"{ratio:.2f} [{min(rounds):.2f}, {max(rounds):.2f}]"


if __name__ == "__main__":
    main()
