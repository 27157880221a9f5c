"""What being driven costs a tool: its requests per second as Loadcurve starts it, over those of it alone.

Alone it has the same arguments and the same CPU, and what it prints itself is read: wrk without our script,
k6 with its summary in place of the samples of each request. The CPU time of this process for each second of
load is shown beside it: driving can take no more from either side, and other work hardly changes it.

``python -m benches.driven_cost [--generator wrk|k6] [PAIRS]``
"""

import argparse
import json
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
from loadcurve.generate.chosen import CHOSEN
from loadcurve.generate.tools.catalog import tool_named
from loadcurve.generate.tools.driver import Wanted
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.spawn import bound_to

PAIRS = 300
"""Many short ones, as the speed of a machine drifts within seconds."""
CONNECTIONS = 50
DURATION_S = 1
LONG_S = 11
"""What starting and reading a tool takes is in the short load as in this one, and not in their difference."""
LONG_LOADS = 5
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


def wrk_alone_rps(plan: HttpPlan) -> float:
    """Return the requests per second that wrk prints."""
    command = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{DURATION_S}s", "--timeout", "5s"]
    with bound_to(plan.cpus):
        done = subprocess.run(
            [*command, f"http://{plan.address}{PATH}"], capture_output=True, text=True, check=True
        )
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if found is None:
        raise ValueError(f"wrk has printed no rate: {done.stdout}")
    return float(found[1])


def k6_alone_rps(plan: HttpPlan) -> float:
    """Return the requests per second of the summary of k6."""
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        wanted = Wanted(
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


ALONE: Mapping[str, Callable[[HttpPlan], float]] = {"wrk": wrk_alone_rps, "k6": k6_alone_rps}


def main() -> int:
    """Print the ratios; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--generator", choices=ALONE, default="wrk")
    parser.add_argument("pairs", type=int, nargs="?", default=PAIRS)
    asked = parser.parse_args()
    cpus = own_cpus()
    print(f"{machine()}\n{asked.pairs} pairs of {CONNECTIONS} connections, in turn; server: limit")
    with running_server("limit", cpus.server) as target:
        plan = plan_of(asked.generator, target, cpus.generator)
        alone, driven = partial(ALONE[asked.generator], plan), partial(driven_rps, plan)
        ratios = [later / earlier for earlier, later in pairs_in_turn(alone, driven, asked.pairs)]
        share = own_cpu_share(asked.generator, target, cpus.generator)
    found = MedianWithin.of(ratios)
    print(f"requests/s of {asked.generator} driven over alone: {found}")
    print(f"this process took {share:.2%} of a CPU while the load went on")
    if asked.generator != "wrk":
        return 0
    print(f"goal: at least {GOAL}: {found.outcome(at_least=GOAL)}")
    return 0 if found.median >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
