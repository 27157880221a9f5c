"""The servers of a start while they live, and the records of what was measured on them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from loadcurve.generate.generator import Plan
from loadcurve.host.cpus import CpuDivision
from loadcurve.loads.values import Point
from loadcurve.result.cpu_time import with_more_of_server
from loadcurve.result.load import LoadResult
from loadcurve.result.machine import judged, numbers_in_runs
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import MEASURED, FailureRecord, LimitUse, Loads, PointRecord
from loadcurve.runs.other_runs import disturbing
from loadcurve.runs.servers_of_start import Member
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
    started_at: str | None = None
    """When the server was started, where it outlives its trial."""

    @property
    def cpus(self) -> CpuDivision:
        """The CPUs of both sides: of a server that the run has not bound, those where it may run."""
        own = self.server.own_cpus
        return self.member.cpus if own is None else self.member.cpus.with_server(own)

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
        cpus = self.cpus
        if cpus.overlap:
            # What sends the load runs there too, and has the time of both.
            seen = seen.model_copy(update={"cpu_time": None, "caveats": [*seen.caveats, *self._shared()]})
        others = {name: judged(load) for name, load in loads.items() if name != MEASURED}
        measured = judged(loads[MEASURED], seen, cpus.server)
        return PointRecord(
            kind="point",
            **self.member.trial.model_dump(),
            point=point,
            started_at=started_at,
            measurements={**others, MEASURED: measured},
            probe=seen,
            limit_use=limit_use,
            attempt=attempt,
            server_started_at=self.started_at,
        )

    def _shared(self) -> Iterator[Caveat]:
        """Yield what must be known of a server that the run has not bound to separate CPUs."""
        if self.server.own_cpus is not None:
            cpus = numbers_in_runs(self.cpus.overlap)
            yield disturbing(
                "cpus_shared",
                f"the server was not started by this run and may use CPU {cpus} of the load, unless it is "
                f"bound to others (taskset -acp {numbers_in_runs(self.member.cpus.server)} PID)",
            )


def together(lives: Sequence[Live], probes: Sequence[ProbeRecord]) -> list[ProbeRecord]:
    """Return what was seen of servers that lived together, which are no other programs to each other."""
    return [
        seen.model_copy(update={"cpu_time": with_more_of_server(seen.cpu_time, _beside(live, lives, probes))})
        if seen.cpu_time is not None and len(lives) > 1
        else seen
        for live, seen in zip(lives, probes, strict=True)
    ]


def _beside(live: Live, lives: Sequence[Live], probes: Sequence[ProbeRecord]) -> float:
    """Return which share of a server's CPUs the other servers used, where they may run there."""
    cpus = set(live.cpus.server)
    used = [
        seen.server.cpu_share or 0.0
        for other, seen in zip(lives, probes, strict=True)
        if other is not live and seen.server is not None and cpus.intersection(other.cpus.server)
    ]
    return sum(used) / len(cpus)


def limit_use_since(before: LimitUse | None, after: LimitUse | None) -> LimitUse | None:
    """Return how a server used its limits between two readings, where both tell."""
    return None if before is None or after is None else after.since(before)
