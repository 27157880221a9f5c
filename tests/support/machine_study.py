"""A run in the shape of the study of a web server on rented machines: throughput and p90 against concurrency.

The machines and prices are the published ones. The p90 of each machine grows so that it crosses 20 ms where
the study's conclusions have its limit: t2.micro at 600 concurrent requests, t2.medium and t2.large beyond
1000.
"""

import math
from pathlib import Path

from loadcurve.result.folder import Run
from loadcurve.result.records import PointRecord, RunRecord
from support import synthetic_run as synthetic

CONNECTIONS = (1, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
PRICES_USD_PER_HOUR = {"t2.micro": 0.0116, "t2.medium": 0.0464, "t2.large": 0.0928}
REQUESTS_PER_S_MAX = {"t2.micro": 2_304.04, "t2.medium": 3_332.33, "t2.large": 3_873.87}
TRIAL_FACTORS = (0.9999, 1.0, 1.0001)


def p90_ms(machine: str, connections: int) -> float:
    """Up to 600 concurrent requests all are nearly as fast; above, the smallest falls behind."""
    slower = (connections / 600) ** (3 if machine == "t2.micro" else 0.05)
    factor = {"t2.micro": 1.0, "t2.medium": 0.97, "t2.large": 0.95}[machine]
    return 20 * factor * (math.sqrt(connections / 600) if connections <= 600 else slower)


def throughput_rps(machine: str, connections: int) -> float:
    """Peaks at 100 concurrent requests and falls after, as the study reports."""
    return REQUESTS_PER_S_MAX[machine] * (0.3 if connections == 1 else 1 - (connections - 100) / 4_000)


def machine_run() -> Run:
    base = synthetic.run_record().model_dump(mode="json")
    machines = {
        name: base["servers"]["nginx"]
        | {"title": name, "machine": _machine(name, price), "limits": {"cpus": 1.0, "memory_bytes": None}}
        for name, price in PRICES_USD_PER_HOUR.items()
    }
    order = [
        {"trial": 3 * block + place, "block": block, "server": name}
        for block in range(3)
        for place, name in enumerate(machines)
    ]
    points = [{"connections": connections} for connections in CONNECTIONS]
    record = RunRecord.model_validate(base | {"servers": machines, "order": order, "points": points})
    records = [_point(planned, point["connections"]) for planned in order for point in points]
    return Run(Path("machines"), record, records, study_text="", cut_off=False)


def _machine(name: str, price: float) -> dict[str, object]:
    return {
        "name": name,
        "vcpus": 1,
        "memory_bytes": 1 << 30,
        "network": "low to moderate",
        "burstable": True,
    } | {
        "price_usd_per_hour": price,
        "priced_on": "2020-12-01",
        "region": "US East (Ohio)",
    }


def _point(planned: dict[str, object], connections: int) -> PointRecord:
    name = str(planned["server"])
    factor = TRIAL_FACTORS[int(str(planned["block"]))]
    rate = throughput_rps(name, connections) * factor
    latency = dict.fromkeys(synthetic.distribution([]), None) | {
        "count": 10_000,
        "mean": 1000 * connections / rate,
        "p90": p90_ms(name, connections) / factor,
    }
    load = {"latency_ms": latency, "rate_rps": {"asked": None, "sent": rate, "answered": rate}}
    point = synthetic.point_record("nginx", 10, **load).model_dump(by_alias=True)
    return PointRecord.model_validate(point | planned | {"point": {"connections": connections}})
