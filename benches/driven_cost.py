"""What being driven costs a tool: its requests per second as Loadcurve starts it, over those of it alone.

Alone it has the same arguments and the same CPU, and what it prints itself is read: wrk without our script,
k6 with its summary in place of the samples of each request.

``python -m benches.driven_cost [--generator wrk|k6] [PAIRS]``
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benches.pairs import median_within, outcome, pairs_in_turn
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
GOAL = 0.99
"""Of wrk; k6 writes a line for each figure of each request, and nobody asks that this costs little."""


def plan_of(generator: str, target: Target, cpu: int) -> HttpPlan:
    """Return the load that is measured both ways."""
    load = ClosedLoad(
        model="closed",
        requests=[PATH],
        connections=CONNECTIONS,
        duration=DURATION_S,
        warmup=0,
        generator=generator,
    )
    return plan_at_point(load, target.address, {}, [cpu], seed=0)


def driven_rps(plan: HttpPlan) -> float:
    """Return the requests per second of a tool under Loadcurve, by its own count and time."""
    result = CHOSEN.run(plan, lambda _: None)
    return result.requests.answered / result.duration_s


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
    low, median, high = median_within(ratios)
    print(
        f"requests/s of {asked.generator} driven over alone: median {median:.4f}, "
        f"95 % interval {low:.4f} to {high:.4f}"
    )
    if asked.generator != "wrk":
        return 0
    print(f"goal: at least {GOAL}: {outcome(low, high, at_least=GOAL)}")
    return 0 if median >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
