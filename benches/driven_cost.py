"""What being driven costs a tool: requests per second of wrk as Loadcurve starts it, over wrk alone.

Alone it has the same arguments but for our script, on the same CPU, and its own text is read.

``python -m benches.driven_cost [PAIRS]``
"""

import re
import statistics
import subprocess
import sys

from benches.rig import PATH, Target, machine, own_cpus, running_server
from loadcurve.generate.chosen import CHOSEN
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.spawn import bound_to

PAIRS = 20
CONNECTIONS = 50
DURATION_S = 2
GOAL = 0.99


def plan_of(target: Target, cpu: int) -> HttpPlan:
    """Return the load that is measured both ways."""
    load = ClosedLoad(
        model="closed",
        requests=[PATH],
        connections=CONNECTIONS,
        duration=DURATION_S,
        warmup=0,
        generator="wrk",
    )
    return plan_at_point(load, target.address, {}, [cpu], seed=0)


def driven_rps(plan: HttpPlan) -> float:
    """Return the requests per second of wrk under Loadcurve, by its own count and time."""
    result = CHOSEN.run(plan, lambda _: None)
    return result.requests.answered / result.duration_s


def alone_rps(plan: HttpPlan) -> float:
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


def main(pairs: int) -> int:
    """Print the ratios; return the exit code."""
    cpus = own_cpus()
    print(f"{machine()}\n{pairs} pairs of {CONNECTIONS} connections, in turn; server: limit")
    ratios = []
    with running_server("limit", cpus.server) as target:
        plan = plan_of(target, cpus.generator)
        for index in range(pairs):
            if index % 2:
                driven, alone = driven_rps(plan), alone_rps(plan)
            else:
                alone, driven = alone_rps(plan), driven_rps(plan)
            ratios.append(driven / alone)
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"requests/s of wrk driven over alone: median {median:.4f}, quartiles {low:.4f} to {high:.4f}")
    return 0 if median >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS))
