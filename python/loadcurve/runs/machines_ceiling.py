"""Measuring whether load machines are the limit: the same load from one of them, two, four and so on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loadcurve.errors import NothingMeasured
from loadcurve.generate.load_machine import LoadMachine
from loadcurve.generate.many import ManyMachines, require_shareable
from loadcurve.host.cpus import CpuDivision
from loadcurve.loads.http import ClosedLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.machines.table import HERE
from loadcurve.result.load import LoadResult
from loadcurve.result.rig import MachinesCeiling, MachinesCeilingPoint
from loadcurve.runs.ceiling import BODY_BYTES, DURATION_S, FILE, WARMUP_S, Reached
from loadcurve.runs.plan import plan_at_point
from loadcurve.runs.running_servers import utc_now
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.elsewhere import ServerElsewhere, ServerMachine
from loadcurve.server.found import NOTHING_ELSE, FoundServer, MissingServer, find_server
from loadcurve.server.here import Server
from loadcurve.server.live import LiveServer
from loadcurve.server.temporary import READ_BY_ALL_MODE, temporary_folder
from loadcurve.study.container import ContainerTable

ROUNDS = 5
CONNECTIONS = 128
SERVER = "limit"


def measure_machines_ceiling(
    machines: Sequence[LoadMachine],
    server_machine: ServerMachine | None,
    cpus: CpuDivision,
    begin_load: Callable[[Sequence[str]], None] = lambda _: None,
    rounds: int = ROUNDS,
) -> MachinesCeiling:
    """Measure one closed loop against ``limit``, in each round by the first machine, the first two and so on.

    The server runs here, which machines elsewhere cannot reach, or on ``server_machine``. ``begin_load`` is
    called with the names of the machines before each load.

    Raises:
        BadInput: there are too many machines, or they cannot reach the server.
        NothingMeasured: a load got no answer, or a machine was lost.
        ServerFailure: the server did not start, or answered wrongly.

    """
    counts = counts_up_to(len(machines))
    results: dict[int, list[LoadResult]] = {count: [] for count in counts}
    with (
        temporary_folder("content", READ_BY_ALL_MODE) as folder,
        _served(server_machine, cpus, folder) as (server, plan),
    ):
        require_shareable(plan, machines)
        server.verify([f"/{FILE}"])
        for _ in range(rounds):
            for count in counts:
                sending = machines[:count]
                begin_load([machine.name for machine in sending])
                results[count].append(ManyMachines(sending).run(plan, lambda _: None))
    return MachinesCeiling(
        measured_at=utc_now(),
        server_machine=HERE if server_machine is None else server_machine.name,
        connections=plan.connections,
        body_bytes=BODY_BYTES,
        points=[_point([machine.name for machine in machines[:count]], results[count]) for count in counts],
    )


def counts_up_to(most: int) -> list[int]:
    """Return 1, 2, 4 and so on, and the most itself."""
    doubled = [1 << power for power in range(most.bit_length())]
    return doubled if doubled[-1] == most else [*doubled, most]


@contextmanager
def _served(
    machine: ServerMachine | None, cpus: CpuDivision, folder: Path
) -> Iterator[tuple[LiveServer, HttpPlan]]:
    """Yield the server while it runs, and the plan of the load on it."""
    entry = load_catalog()[SERVER]
    content = make_content(folder, {FILE: BODY_BYTES}, seed=0)
    found = (
        find_server(entry, {})
        if machine is None
        else machine.find(entry, {}, NOTHING_ELSE, ContainerTable(), lambda _: None)
    )
    if isinstance(found, MissingServer):
        raise found.failure()
    load = ClosedLoad(
        model="closed",
        requests=[f"/{FILE}"],
        connections=CONNECTIONS,
        duration=DURATION_S,
        warmup=WARMUP_S,
    )
    running: LiveServer = (
        Server(found, folder, content, cpus.server)
        if isinstance(found, FoundServer)
        else ServerElsewhere(found, folder, content)
    )
    with running as server:
        yield server, plan_at_point(load, server.address, content, cpus.load, seed=0)


def _point(names: Sequence[str], results: Sequence[LoadResult]) -> MachinesCeilingPoint:
    if not all(result.rate_rps.answered for result in results):
        raise NothingMeasured(f"a load from {', '.join(names)} got no answer")
    reached = Reached.by(results)
    parts = reached.median.machines.parts if reached.median.machines else []
    return MachinesCeilingPoint(
        machines=[*names],
        runs=len(results),
        requests_per_s=reached.median_rps,
        lowest_requests_per_s=min(reached.rates_rps),
        highest_requests_per_s=max(reached.rates_rps),
        generator_cpu_share=max((part.cpu_share or 0.0 for part in parts), default=0.0),
        verdict=reached.median.verdict,
    )
