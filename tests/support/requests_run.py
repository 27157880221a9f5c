"""Runs of a synthetic load with several requests, whose shares and latencies are known."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic

SHARES = {"GET /json": 0.5, "GET /": 0.3, "POST /echo": 0.2}
LATENCY_MS = {"GET /json": 2.0, "GET /": 4.0, "POST /echo": 50.0}
CONNECTIONS = (1, 50, 200)
SERVERS = ("nginx", "apache")
TRIALS = 3
ANSWERED = 5_000
"""Enough for the p99 of each request."""


def operations(
    answered: int, latency_ms: Mapping[str, float] = LATENCY_MS, *, wrong: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """The operations of a load with this number of answers, each of one latency, ``wrong`` of them not ok."""
    found = []
    for label, one_ms in latency_ms.items():
        count = round(answered * SHARES.get(label, 0.1))
        times = synthetic.distribution([one_ms] * count)
        ok = count - (wrong or {}).get(label, 0)
        found.append({"operation": label, "answered": count, "ok": ok, "failed": 0, "latency_ms": times})
    return found


def record(
    server: str, connections: int, block: int, latency_ms: Mapping[str, float] = LATENCY_MS, **load: Any
) -> PointRecord:
    """One point of one trial."""
    trial = block * len(SERVERS) + SERVERS.index(server)
    return synthetic.point_record(
        server, connections, trial, block, **{"operations": operations(ANSWERED, latency_ms), **load}
    )


def several_requests(folder: Path, latency_ms: Mapping[str, float] = LATENCY_MS, spread: float = 0.01) -> Run:
    """A run of two servers whose latencies are these, ``spread`` apart from trial to trial."""
    records = [
        record(
            server, connections, block, {name: one * (1 + spread * block) for name, one in latency_ms.items()}
        )
        for block in range(TRIALS)
        for server in SERVERS
        for connections in CONNECTIONS
    ]
    return read_run(synthetic.write_run(folder, records=list(records)))
