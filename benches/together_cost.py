"""What being one of two loads costs a load: CPU per request of the generator, alone and beside an idle load.

``python -m benches.together_cost [PAIRS]``
"""

import sys

from benches.pairs import MedianWithin
from benches.rig import PATH, Target, machine, own_cpus, running_server
from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad, OpenLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.result.load import LoadResult
from loadcurve.runs.plan import plan_at_point

PAIRS = 300
"""Many short ones, as the speed of a machine drifts within seconds."""
CONNECTIONS = 50
DURATION_S = 0.4
WARMUP_S = 0.1
ALMOST_IDLE_RPS = 1.0
GOAL = 1.01


def busy(target: Target, cpu: int) -> HttpPlan:
    """Return the load that is measured."""
    load = ClosedLoad(
        model="closed", requests=[PATH], connections=CONNECTIONS, duration=DURATION_S, warmup=WARMUP_S
    )
    return plan_at_point(load, target.address, {}, [cpu], seed=0)


def almost_idle(target: Target, cpu: int) -> HttpPlan:
    """Return the load beside it."""
    load = OpenLoad(
        model="open",
        requests=[PATH],
        connections=1,
        rate=ALMOST_IDLE_RPS,
        duration=DURATION_S,
        warmup=WARMUP_S,
    )
    return plan_at_point(load, target.address, {}, [cpu], seed=0)


def cpu_per_request_us(result: LoadResult) -> float:
    """Return the generator's processor time in the window by its requests."""
    return 1e6 * (result.generator.cpu_busy_s or 0.0) / result.requests.answered


def main(pairs: int) -> int:
    """Print the ratios; return the exit code."""
    cpus = own_cpus()
    print(f"{machine()}\n{pairs} pairs of {CONNECTIONS} connections, in turn; server: limit")
    ratios = []
    with running_server("limit", cpus.server) as target:
        plans = [busy(target, cpus.generator), almost_idle(target, cpus.generator)]
        for index in range(pairs):
            measured = {}
            for count in (1, 2) if index % 2 else (2, 1):
                measured[count] = cpu_per_request_us(ENGINE.run_together(plans[:count], lambda _: None)[0])
            ratios.append(measured[2] / measured[1])
    found = MedianWithin.of(ratios)
    print(f"CPU per request, together / alone: {found}")
    print(f"goal: at most {GOAL}: {found.outcome(at_most=GOAL)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS))
