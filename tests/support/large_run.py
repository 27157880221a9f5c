"""A large run with latencies of as many different lengths as real ones: 10 servers, 50 points, 10 trials."""

import functools
import math
import random
from pathlib import Path
from statistics import NormalDist

from hdrh.histogram import HdrHistogram

from loadcurve.result.folder import Run
from loadcurve.result.records import PlannedTrial, PointRecord
from support import synthetic_run as synthetic

REQUESTS = 500_000
"""Of each trial at each point: ten seconds at 50,000 requests/s."""
STEP = 1.03
"""Each latency that is recorded lies in a tail that is rarer by this factor than the one before."""


def large_run(servers: int = 10, points: int = 50, trials: int = 10) -> Run:
    """Make the run in memory, in which every value of every trial differs from all others."""
    drawn = random.Random(1)
    names = [f"server-{number}" for number in range(1, servers + 1)]
    sweep = [{"connections": 10.0 * number} for number in range(1, points + 1)]
    template = synthetic.run_record()
    order = [
        PlannedTrial(trial=block * servers + place, block=block, server=name)
        for block in range(trials)
        for place, name in enumerate(names)
    ]
    record = template.model_copy(
        update={
            "order": order,
            "points": sweep,
            "servers": dict.fromkeys(names, template.servers["nginx"]),
            "study": template.study | {"trials": {"count": trials, "restart": "sweep"}},
        }
    )
    patterns = [synthetic.point_record("nginx", connections) for connections in synthetic.CONNECTIONS]
    records = [
        _at(patterns[place % len(patterns)], planned, point["connections"], drawn.gauss(0, 0.02))
        for planned in order
        for place, point in enumerate(sweep)
    ]
    return Run(folder=Path("large"), run=record, records=list(records), study_text="", cut_off=False)


def _at(pattern: PointRecord, planned: PlannedTrial, connections: float, noise: float) -> PointRecord:
    """Return a record at a point of a trial, with figures that suit it."""
    factor = math.exp(noise)
    number = int(planned.server.removeprefix("server-"))
    rate_rps = 4e4 * connections / (connections + 10 * number) * factor
    median_ms = 1000 * connections / rate_rps
    latency = {
        name: median_ms * ratio
        for name, ratio in {"p50": 1.0, "p90": 1.8, "p99": 2.9, "max": 40.0 * factor}.items()
    }
    load = pattern.load
    used = pattern.probe.server
    assert used is not None
    return pattern.model_copy(
        update={
            "trial": planned.trial,
            "block": planned.block,
            "server": planned.server,
            "point": {"connections": connections},
            "measurements": {
                "load": load.model_copy(
                    update={
                        "rate_rps": load.rate_rps.model_copy(update={"answered": rate_rps}),
                        "latency_ms": load.latency_ms.model_copy(update=latency | {"count": REQUESTS}),
                        "histograms": load.histograms.model_copy(
                            update={"latency": _histogram(number, connections)}
                        ),
                    }
                )
            },
            "probe": pattern.probe.model_copy(
                update={
                    "server": used.model_copy(
                        update={
                            "cpu_share": used.cpu_share * factor,
                            "cpu_per_request_us": 20 * factor,
                            "memory_mean_bytes": 2**24 + 1e5 * connections * factor,
                        }
                    )
                }
            ),
        }
    )


@functools.cache
def _histogram(number: int, connections: float) -> str:
    """Encode a log-normal distribution of latencies; one for each server and point, in all its trials."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    median_ms = (connections + 10 * number) / 40
    left = REQUESTS
    while left:
        slower = min(left - 1, int(left / STEP))
        probability = 1 - (slower + left) / 2 / REQUESTS
        latency_ms = median_ms * math.exp(0.6 * NormalDist().inv_cdf(probability))
        histogram.record_value(round(latency_ms * 1e6), left - slower)
        left = slower
    return str(histogram.encode().decode())
