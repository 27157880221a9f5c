"""Loads from several machines in network namespaces whose clocks are apart; prints what was measured as JSON.

``benches.machines_apart LOADS COMPARISONS ADDRESS SERVER FOLDER MACHINES`` runs in the namespace of the
server, with the address that this listens on; ``MACHINES`` is JSON: name, address and command of each agent.
``benches.several_machines`` starts it.
"""

import json
import subprocess
import sys
from contextlib import ExitStack

from loadcurve.generate.load_machine import AgentMachine
from loadcurve.generate.many import ManyMachines
from loadcurve.loads.http import OpenLoad
from loadcurve.machines.channel import Channel
from loadcurve.runs.plan import plan_at_point

RATE_RPS = 400.0
DURATION_S = 0.3


def main() -> None:
    """Run the loads and comparisons, and print the results."""
    loads, comparisons, address, server, folder, machines = sys.argv[1:]
    described = json.loads(machines)
    with ExitStack() as stack:
        served = stack.enter_context(
            subprocess.Popen(
                [server, "limit", "--listen", f"{address}:0", "--root", folder],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(served.kill)
        assert served.stdout is not None
        target = served.stdout.readline().removeprefix("listening on ").strip()
        found = [
            AgentMachine(
                stack.enter_context(Channel(one["name"], one["command"])),
                address=one["address"],
                is_here=False,
            )
            for one in described
        ]
        compared = [[machine.compare_clocks() for _ in range(int(comparisons))] for machine in found]
        load = OpenLoad(
            model="open",
            threads=1,
            requests=["/a"],
            rate=RATE_RPS,
            connections=16,
            duration=DURATION_S,
            warmup=0.0,
        )
        plan = plan_at_point(load, target, {}, (), seed=0)
        results = [ManyMachines(found).run(plan, lambda _: None) for _ in range(int(loads))]
    print(
        json.dumps(
            {
                "comparisons": [
                    [(one.offset.offset_ns, one.offset.error_ns, one.over) for one in row] for row in compared
                ],
                "results": [
                    result.model_dump(mode="json", include={"machines", "requests", "verdict"})
                    for result in results
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
