"""A fan-out over WebSocket beside the floor: CPU for each delivery, in pairs taken in turn.

The server is the path `/broadcast` of `limit` on one CPU, and what receives has another one. In both, one
connection publishes a message when all subscribers have the last one; the floor reads as many bytes, and
understands and records nothing. The memory of loads of two lengths shows whether messages are allocated.
`target/release/loadcurve-floor` is built by `cargo build --release --package loadcurve-floor`.
"""

import argparse
import json
import statistics
from functools import partial

from benches.generators import FLOOR
from benches.many_connections import run_measured
from benches.pairs import pairs_in_turn
from benches.rig import (
    LOADCURVE,
    MEASURED_EXIT_CODES,
    allow_open_files,
    machine,
    own_cpus,
    run_or_exit,
    running_server,
)

PATH = "/broadcast"
BODY = "hello"
MESSAGE_BYTES = 51 + len(f" {BODY}")
"""With the marker in front."""
OTHER_OPEN_FILES = 100
LIMIT_US = 2.0
"""How much more than the floor a delivery may cost."""


def main() -> None:
    """Print the cost of a delivery, the floor's, and what is between the two."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--duration", type=int, default=5, metavar="SECONDS")
    parser.add_argument("--subscribers", type=int, default=5_000)
    arguments = parser.parse_args()
    cpus, subscribers = own_cpus(), arguments.subscribers
    allow_open_files(2 * subscribers + OTHER_OPEN_FILES)
    with running_server("limit", cpus.server) as target:
        ours = partial(_ours, target.address, subscribers, cpus.generator)
        floor = partial(_floor, target.address, subscribers, arguments.duration, cpus.generator)
        pairs = pairs_in_turn(lambda: ours(arguments.duration)[0], floor, arguments.pairs)
        memory = [ours(duration)[1] for duration in (arguments.duration, 4 * arguments.duration)]
    own_us, floor_us = (statistics.median(column) for column in zip(*pairs, strict=True))
    above_us = statistics.median(own - least for own, least in pairs)
    print(machine())
    print(f"{subscribers:,} subscribers of one publisher, {arguments.pairs} pairs of {arguments.duration} s")
    print(f"{'ours':>12}  {own_us:.2f} µs of CPU per delivery")
    print(f"{'floor':>12}  {floor_us:.2f} µs")
    verdict = "at most" if above_us <= LIMIT_US else "MORE THAN"
    print(f"{'above it':>12}  {above_us:.2f} µs ({verdict} {LIMIT_US} µs)")
    print(f"{'ratio':>12}  {statistics.median(own / least for own, least in pairs):.2f}")
    first, longer = (peak / 2**20 for peak in memory)
    print(f"{'peak memory':>12}  {first:.0f} MiB, and {longer:.0f} MiB in 4 times as long")


def _ours(address: str, subscribers: int, cpu: int, duration_s: int) -> tuple[float, int]:
    """Return the CPU time of a delivery in µs, and the peak of memory in bytes; all has to come."""
    options = ("-c", "1", "--subscribers", str(subscribers), "--body", BODY, "-d", f"{duration_s}s")
    command = [LOADCURVE, "load", f"ws://{address}{PATH}", "--json", "--waiting", "sleep", *options]
    output, peak_bytes = run_measured(command, cpu)
    result = json.loads(output)
    deliveries, generator = result["deliveries"], result["generator"]
    if deliveries["delivered"] != deliveries["expected"]:
        raise SystemExit(f"{deliveries['delivered']} of {deliveries['expected']} deliveries came")
    within = deliveries["delivered_per_s"] * result["duration_s"]
    return (generator["cpu_user_s"] + generator["cpu_system_s"]) * 1e6 / within, peak_bytes


def _floor(address: str, subscribers: int, duration_s: int, cpu: int) -> float:
    """Return the CPU time of a delivery of the floor, in µs."""
    command = [FLOOR, "fan-out", "--address", address, "--path", PATH, "--duration", str(duration_s)]
    command += ["--message-bytes", str(MESSAGE_BYTES), "--connections", str(subscribers)]
    finished = run_or_exit(command, cpu, MEASURED_EXIT_CODES)
    return float(json.loads(finished.output)["cpu_per_request_us"])


if __name__ == "__main__":
    main()
