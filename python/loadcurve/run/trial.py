"""One trial: one fresh start of one server, taken through its points."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from loadcurve.errors import LoadcurveError
from loadcurve.host.cpus import CpuDivision
from loadcurve.probe.process import Probe
from loadcurve.result.ceiling import Ceiling, marked_at_ceiling
from loadcurve.result.load import LoadResult, Reason
from loadcurve.result.records import FailureRecord, LimitUse, PlannedTrial, Point, PointRecord
from loadcurve.run.display import Display
from loadcurve.run.load import Progress, run_load
from loadcurve.run.plan import plan_at_point
from loadcurve.run.prepare import Found, Served, serve
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer
from loadcurve.server.instance import Server
from loadcurve.server.running import AttachedServer
from loadcurve.study.loads import Load
from loadcurve.study.model import Study
from loadcurve.study.requests import paths_to_verify


def utc_now() -> str:
    """Return the time of day, for records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True)
class TrialRunner:
    """Takes servers through the points of a study."""

    study: Study
    served: Served | None
    cpus: CpuDivision
    seed: int
    """Each block draws its own random arrivals, the same for all its servers, so that these stay paired."""
    display: Display
    ceiling: Ceiling | None = None
    """The rig's ceiling, where it is known."""

    def run(
        self, trial: PlannedTrial, found: Found | MissingServer
    ) -> Generator[PointRecord | FailureRecord]:
        """Yield one record for each point as soon as it is measured; a failure is the last record of a start.

        The server runs only while the trial is under way, also when the caller stops taking records.
        """
        points = self.study.points()
        if self.study.trials.restart == "sweep":
            yield from self._run_start(trial, found, points, None)
        else:
            for point in points:
                yield from self._run_start(trial, found, [point], point)

    def _run_start(
        self, trial: PlannedTrial, found: Found | MissingServer, points: Sequence[Point], begun: Point | None
    ) -> Generator[PointRecord | FailureRecord]:
        """Start the server once and take it through points; ``begun`` is where a failed start belongs."""
        self.display.trial_begins(trial)
        started_at = utc_now()
        try:
            with serve(found, self.served, self.cpus) as server:
                server.verify(paths_to_verify(self.study.load.requests, self.seed + trial.block))
                with self._probe(server) as probe:
                    for point in points:
                        begun, started_at = point, utc_now()
                        self.display.point_begins(trial, point)
                        used_before = server.limit_use()
                        load = self._load(server, self.study.load_at(point), self.seed + trial.block)
                        yield PointRecord(
                            kind="point",
                            **trial.model_dump(),
                            point=point,
                            started_at=started_at,
                            load=load,
                            probe=probe.observed(load),
                            limit_use=_since(used_before, server.limit_use()),
                        )
        except ServerFailure as failure:
            reason = Reason(code=failure.code, text=failure.text)
            yield _failure_record(trial, begun, started_at, reason, failure.log_tail)
        except LoadcurveError as error:
            # The load could not be started, for a lack of open files for instance.
            reason = Reason(code="load_not_started", text=str(error))
            yield _failure_record(trial, begun, started_at, reason, log_tail="")

    def _probe(self, server: Server | AttachedServer) -> Probe:
        return Probe(server.marks, server.address, self.cpus.probe, self.study.host.probe_interval_s)

    def _load(self, server: Server | AttachedServer, load: Load, seed: int) -> LoadResult:
        """Run one load while its server lives; raises ServerFailure where it does not."""

        def observe(progress: Progress) -> None:
            server.require_life()
            self.display.load_goes_on(progress)

        content = self.served.records if self.served else {}
        plan = plan_at_point(load, server.address, content, self.cpus.load, seed, authority=server.authority)
        result = run_load(plan, observe)
        # A load that a dead server refuses may be over before anyone looked.
        server.require_life()
        return result if self.ceiling is None else marked_at_ceiling(result, self.ceiling)


def _since(before: LimitUse | None, after: LimitUse | None) -> LimitUse | None:
    return None if before is None or after is None else after.since(before)


def _failure_record(
    trial: PlannedTrial, point: Point | None, started_at: str, reason: Reason, log_tail: str
) -> FailureRecord:
    return FailureRecord(
        kind="failure",
        **trial.model_dump(),
        point=point,
        started_at=started_at,
        reason=reason,
        log_tail=log_tail,
    )
