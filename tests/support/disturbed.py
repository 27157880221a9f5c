"""Records of points during which the machine was disturbed, as JSON data and as records."""

from typing import Any

from loadcurve.loads.values import Point
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged
from loadcurve.result.pauses import Pauses, RawPause, pauses_within
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic

DURATION_S = 10.0
SERVER_CPUS = (0,)


def pauses(*stretches_ms: tuple[float, float]) -> Pauses:
    """Pauses from one ms to another, each exactly known."""
    found = [RawPause(earliest_s=a / 1e3, latest_s=a / 1e3, end_s=b / 1e3) for a, b in stretches_ms]
    return pauses_within(found, 0.0, DURATION_S)


def paused_for(paused_s: float) -> Pauses:
    """Pauses of 20 ms, a second or less apart, that last so long together."""
    count = round(paused_s / 0.020)
    apart_ms = 1e3 * DURATION_S / max(count, 1)
    return pauses(*((number * apart_ms, number * apart_ms + 20) for number in range(count)))


def load(generator: dict[str, Any] | None = None, point: Point | None = None, **changes: Any) -> LoadResult:
    """A load in which nothing was disturbed but for these figures of its generator."""
    connections = int((point or {}).get("connections", 10))
    data = synthetic.load_result("nginx", connections, duration_s=DURATION_S, **changes)
    return LoadResult.model_validate({**data, "generator": {**data["generator"], **(generator or {})}})


def probe(**changes: Any) -> ProbeRecord:
    """What the probe says of a quiet machine, but for these figures."""
    return ProbeRecord.model_validate({**synthetic.probe_record("nginx", 10), **changes})


def cpus(*steal_shares: float) -> list[dict[str, float]]:
    """CPUs, of each of which this share was stolen."""
    busy = {"busy_share": 0.2, "softirq_share": 0.0}
    return [{"cpu": number, "steal_share": share, **busy} for number, share in enumerate(steal_shares)]


def record(
    point: Point, *, trial: int = 0, attempt: int = 1, steal: float = 0.0, **changes: Any
) -> PointRecord:
    """A point of the trial at which the host kept this share of the server's CPU back."""
    seen = probe(cpus=cpus(steal))
    return PointRecord(
        kind="point",
        trial=trial,
        block=trial,
        server="nginx",
        point=point,
        started_at="2026-03-14T09:27:00Z",
        measurements={"load": judged(load(point=point, **changes), seen, SERVER_CPUS)},
        probe=seen,
        limit_use=None,
        attempt=attempt,
    )
