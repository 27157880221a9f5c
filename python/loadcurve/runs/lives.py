"""The servers of a start while they live, and the records of what was measured on them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from loadcurve.generate.generator import Plan
from loadcurve.loads.values import Point
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import MEASURED, FailureRecord, LimitUse, Loads, PointRecord
from loadcurve.runs.member import Member
from loadcurve.runs.under_load import UnderLoad
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveProbe, LiveServer

Records = list[PointRecord | FailureRecord]
"""One of each member of a start, in their order."""


def utc_now() -> str:
    """Return the time of day, for records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class Live:
    """A member of a start whose server lives."""

    member: Member
    server: LiveServer
    under_load: UnderLoad
    probe: LiveProbe

    def warmup(self, seed: int) -> Plan | None:
        """Return the plan of the load before the first point of a start; ``None`` where there is none."""
        return self.under_load.warmup(self.member.study.trials, seed)

    def require_right(self, warmup: LoadResult) -> None:
        """Raise ``ServerFailure`` where the server answered nothing of a warm-up right."""
        if warmup.requests.due and warmup.requests.ok == 0:
            text = f"none of the {warmup.requests.due:,} requests of the warm-up was answered correctly"
            raise ServerFailure("wrong_answer", text, self.server.log_tail())

    def recorded(
        self,
        point: Point,
        loads: Loads,
        seen: ProbeRecord,
        *,
        started_at: str,
        limit_use: LimitUse | None,
        attempt: int = 1,
    ) -> PointRecord:
        """Return the record of a point, with what its machine gives as reasons for doubt."""
        others = {name: judged(load) for name, load in loads.items() if name != MEASURED}
        measured = judged(loads[MEASURED], seen, self.member.cpus.server)
        return PointRecord(
            kind="point",
            **self.member.trial.model_dump(),
            point=point,
            started_at=started_at,
            measurements={**others, MEASURED: measured},
            probe=seen,
            limit_use=limit_use,
            attempt=attempt,
        )


def limit_use_since(before: LimitUse | None, after: LimitUse | None) -> LimitUse | None:
    """Return how a server used its limits between two readings, where both tell."""
    return None if before is None or after is None else after.since(before)
