"""Measuring the rig's ceiling."""

import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from loadcurve.generate.engine import ENGINE
from loadcurve.host.cpus import CpuDivision, own_threads_on
from loadcurve.host.facts import host_facts
from loadcurve.loads.http import ClosedLoad
from loadcurve.result.ceiling import Ceiling, CeilingPoint
from loadcurve.result.load import LoadResult
from loadcurve.runs.kept import rig_of
from loadcurve.runs.lives import utc_now
from loadcurve.runs.plan import plan_at_point
from loadcurve.server.catalog import load_catalog
from loadcurve.server.content import make_content
from loadcurve.server.found import MissingServer, find_server
from loadcurve.server.here import Server

CONNECTIONS = (1, 10, 100, 1000)
RUNS = 3
DURATION_S = 1.0
WARMUP_S = 0.2
FILE = "1k.txt"
BODY_BYTES = 1024


def measure_ceiling(
    cpus: CpuDivision, begin_point: Callable[[int], None] = lambda _: None, runs: int = RUNS
) -> Ceiling:
    """Measure a closed loop against ``limit`` at several numbers of connections, ``runs`` times at each.

    It takes about 15 s with three runs, and 5 s with one.

    ``begin_point`` is told the number of connections before each of them.

    Raises:
        ServerFailure: the server did not start, or answered wrongly.

    """
    found = find_server(load_catalog()["limit"], {})
    if isinstance(found, MissingServer):
        raise found.failure()
    with tempfile.TemporaryDirectory() as folder, own_threads_on(cpus.load):
        # A server that root starts may read the files as another user.
        Path(folder).chmod(0o755)
        content = make_content(Path(folder), {FILE: BODY_BYTES}, seed=0)
        with Server(found, Path(folder), content, cpus.server) as server:
            server.verify([f"/{FILE}"])
            points = []
            for connections in CONNECTIONS:
                begin_point(connections)
                load = ClosedLoad(
                    model="closed",
                    requests=[f"/{FILE}"],
                    connections=connections,
                    duration=DURATION_S,
                    warmup=WARMUP_S,
                )
                plan = plan_at_point(load, server.address, content, cpus.load, seed=0)
                points.append(_point([ENGINE.run(plan, lambda _: None) for _ in range(runs)]))
    facts = host_facts()
    return Ceiling(
        measured_at=utc_now(), body_bytes=BODY_BYTES, rig=rig_of(cpus, facts), host=facts, points=points
    )


def _point(results: Sequence[LoadResult]) -> CeilingPoint:
    rates = [rate for _, rate in _rates(results)]
    median = statistics.median_low(rates)
    result = next(result for result, rate in _rates(results) if rate == median)
    generator = result.generator
    return CeilingPoint(
        connections=result.load.connections,
        runs=len(results),
        requests_per_s=median,
        lowest_requests_per_s=min(rates),
        highest_requests_per_s=max(rates),
        p50_ms=result.latency_ms.p50 or 0.0,
        p99_ms=result.latency_ms.p99,
        generator_cpu_share=generator.cpu_busy_s / (result.duration_s * generator.threads),
        verdict=result.verdict,
    )


def _rates(results: Sequence[LoadResult]) -> Iterator[tuple[LoadResult, float]]:
    for result in results:
        if result.rate_rps.answered is not None:
            yield result, result.rate_rps.answered
