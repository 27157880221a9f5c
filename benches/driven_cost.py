"""What being driven costs a tool: its requests per second as Loadcurve starts it, over those of it alone.

Alone it has the same arguments and the same CPU, and what it prints itself is read: wrk without our script,
k6 with its summary in place of the samples of each request. As whole loads differ from one to the next by
much more than driving costs, it is measured within one load, too: there the watch for pauses and the looks at
the tool are on and off in turn. The CPU time of this process for each second of load bounds both: driving can
take no more from either side, and other work hardly changes it.

``python -m benches.driven_cost [--generator wrk|k6] [PAIRS]``
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from benches.pairs import MedianWithin, pairs_in_turn
from benches.rig import PATH, Target, machine, own_cpus, running_server
from loadcurve._engine import PauseWatch
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.spawn import bound_to
from loadcurve.tools.catalog import tool_named
from loadcurve.tools.driven import LOOK_INTERVAL_S, CpuMeter
from loadcurve.tools.driver import WebToolRequest
from loadcurve.tools.process import ToolProcess

PAIRS = 300
"""Many short ones, as the speed of a machine drifts within seconds."""
CONNECTIONS = 50
DURATION_S = 1
LONG_S = 11
"""What starting and reading a tool takes is in the short load as in this one, and not in their difference."""
LONG_LOADS = 5
BLOCKS = 800
"""Of one load: in each as much time with what driving does as without, in turn, and one look at the tool."""
SLICES = 5
"""Of a block, of each kind. The speed of a machine drifts less from one short slice to the next."""
SETTLING_S = 0.01
"""After the watch for pauses was started or stopped."""
GOAL = 0.99
"""Of wrk; k6 writes a line for each figure of each request, and nobody asks that this costs little."""


def plan_of(generator: str, target: Target, cpu: int, duration_s: float = DURATION_S) -> HttpPlan:
    """Return a load of this length, such as is measured both ways."""
    load = ClosedLoad(
        model="closed",
        requests=[PATH],
        connections=CONNECTIONS,
        duration=duration_s,
        warmup=0,
        generator=generator,
    )
    return plan_at_point(load, target.address, {}, [cpu], seed=0)


def driven_rps(plan: HttpPlan) -> float:
    """Return the requests per second of a tool under Loadcurve, by its own count and time."""
    result = CHOSEN.run(plan, lambda _: None)
    return result.requests.answered / result.duration_s


def own_cpu_s(plan: HttpPlan) -> float:
    """Return the CPU time, in s, that this process takes for one driven load; the tool's is not in it."""
    before_s = time.process_time()
    driven_rps(plan)
    return time.process_time() - before_s


def own_cpu_share(generator: str, target: Target, cpu: int) -> float:
    """Return the CPU time of this process for each second of load, without what each load takes once."""
    taken_s = [
        [own_cpu_s(plan_of(generator, target, cpu, length_s)) for length_s in (DURATION_S, LONG_S)]
        for _ in range(LONG_LOADS)
    ]
    return median(long_s - short_s for short_s, long_s in taken_s) / (LONG_S - DURATION_S)


def wrk_command(url: str, duration_s: int) -> list[str]:
    """Return the command of wrk without our script."""
    return ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{duration_s}s", "--timeout", "5s", url]


def wrk_alone_rps(plan: HttpPlan) -> float:
    """Return the requests per second that wrk prints."""
    command = wrk_command(f"http://{plan.address}{PATH}", DURATION_S)
    with bound_to(plan.cpus):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if found is None:
        raise ValueError(f"wrk has printed no rate: {done.stdout}")
    return float(found[1])


def k6_alone_rps(plan: HttpPlan) -> float:
    """Return the requests per second of the summary of k6."""
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        wanted = WebToolRequest(
            load=plan.load, address=plan.address, authority=plan.authority, threads=1, files=Path(folder)
        )
        driven = tool_named("k6").command(wanted)
        samples = driven.index("--out")
        command = [word for word in driven[:samples] if not word.startswith("--summary-mode")]
        command += [f"--summary-export={summary}", *driven[samples + 2 :]]
        with bound_to(plan.cpus):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        count = json.loads(summary.read_text())["metrics"]["http_reqs"]["count"]
    return float(count) / DURATION_S


def ratios_within_one_load(target: Target, cpu: int, blocks: int) -> list[float]:
    """Return the TCP segments of this machine while wrk is driven, over those while it is let alone.

    For one wrk they are proportional to its requests. The watch for pauses and the looks, which are all that
    driving does while a load runs, are on in every second slice.
    """
    length_s = math.ceil(2 * blocks * (LOOK_INTERVAL_S + 2 * SLICES * SETTLING_S)) + 60
    command = wrk_command(target.url, length_s)
    with tempfile.TemporaryDirectory() as folder, ToolProcess(command, Path(folder), [cpu]) as process:
        meter = CpuMeter(process.started_s, process.cpu_now)
        time.sleep(1)
        ratios = [ratio_in_block(cpu, meter, number) for number in range(blocks)]
        if process.has_ended():
            sys.exit(f"wrk ended before all slices were measured: {process.last_words()}")
    return ratios


def ratio_in_block(cpu: int, meter: CpuMeter, number: int) -> float:
    """Return the ratio in one block of slices; one of those that are driven has the look, in turn."""
    looking = number % SLICES

    def driven(place: int) -> float:
        watch = PauseWatch([cpu])
        time.sleep(SETTLING_S)
        found = segments_in_slice(meter.look if place == looking else None)
        watch.stop()
        return found

    def alone() -> float:
        time.sleep(SETTLING_S)
        return segments_in_slice(None)

    places = iter(range(SLICES))
    pairs = pairs_in_turn(alone, lambda: driven(next(places)), SLICES)
    return sum(later for _, later in pairs) / sum(earlier for earlier, _ in pairs)


def segments_in_slice(look: Callable[[], None] | None) -> float:
    """Return the TCP segments that this machine sends in a slice of time, by the length that it has."""
    slice_s = LOOK_INTERVAL_S / SLICES
    begin, begin_s = segments_sent(), time.monotonic()
    if look:
        look()
    time.sleep(max(begin_s + slice_s - time.monotonic(), 0))
    end, end_s = segments_sent(), time.monotonic()
    return (end - begin) / (end_s - begin_s)


def segments_sent() -> int:
    """Return how many TCP segments this machine has sent."""
    lines = Path("/proc/net/snmp").read_text(encoding="ascii").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(values[names.index("OutSegs")])


ALONE: Mapping[str, Callable[[HttpPlan], float]] = {"wrk": wrk_alone_rps, "k6": k6_alone_rps}


def main() -> int:
    """Print the ratios; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--generator", choices=ALONE, default="wrk")
    parser.add_argument("pairs", type=int, nargs="?", default=PAIRS)
    asked = parser.parse_args()
    cpus = own_cpus()
    print(f"{machine()}\n{CONNECTIONS} connections; server: limit")
    within: list[float] = []
    with running_server("limit", cpus.server) as target:
        plan = plan_of(asked.generator, target, cpus.generator)
        share = own_cpu_share(asked.generator, target, cpus.generator)
        print(f"this process takes {share:.2%} of a CPU while a load runs")
        if asked.generator == "wrk":
            within = ratios_within_one_load(target, cpus.generator, BLOCKS)
        alone, driven = partial(ALONE[asked.generator], plan), partial(driven_rps, plan)
        whole = [later / earlier for earlier, later in pairs_in_turn(alone, driven, asked.pairs)]
    for what, ratios in {"within one load": within, "whole loads": whole}.items():
        if ratios:
            found = MedianWithin.of(ratios)
            print(f"requests/s of {asked.generator} driven over alone, {what}, {len(ratios)} pairs: {found}")
            print(f"  goal: at least {GOAL}: {found.outcome(at_least=GOAL)}")
    return 0 if asked.generator != "wrk" or MedianWithin.of(within).median >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
