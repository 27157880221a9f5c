"""One trial: one fresh start of one server, taken through its points."""

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime

from loadcurve.errors import LoadcurveError, refusal
from loadcurve.generate.engine import ENGINE
from loadcurve.generate.generator import Progress
from loadcurve.host.cpus import CpuDivision
from loadcurve.loads.values import Point
from loadcurve.loads.ycsb import DatabaseLoadTable
from loadcurve.result.ceiling import Ceiling, marked_at_ceiling
from loadcurve.result.machine import judged
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.probe import ProbeRecord
from loadcurve.result.records import (
    MEASURED,
    FailureRecord,
    LimitUse,
    Measurements,
    PlannedTrial,
    PointRecord,
)
from loadcurve.result.verdict import Reason
from loadcurve.runs.beside import Beside
from loadcurve.runs.database import DatabaseUnderLoad
from loadcurve.runs.database_plan import DatabasePlans
from loadcurve.runs.display import Display
from loadcurve.runs.points import PointChooser
from loadcurve.runs.prepare import Found, Served, serve
from loadcurve.runs.under_load import UnderLoad
from loadcurve.runs.web_server import WebServerUnderLoad
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import MissingServer
from loadcurve.server.live import LiveServer
from loadcurve.study.model import Study


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
    points: PointChooser
    ceiling: Ceiling | None = None
    """The rig's ceiling, where it is known."""

    def run(
        self, trial: PlannedTrial, found: Found | MissingServer
    ) -> Generator[PointRecord | FailureRecord]:
        """Yield one record for each point as soon as it is measured; a failure is the last record of a start.

        The server runs only while the trial is under way, also when the caller stops taking records.
        """
        attempts: Counter[PointKey] = Counter()
        """How often each point has begun."""
        point = self.points.next_point(trial, None)
        while point is not None:
            last = yield from self._run_start(trial, found, point, attempts)
            point = self.points.next_point(trial, last) if self._restarts_for_each_point else None

    @property
    def _restarts_for_each_point(self) -> bool:
        return self.study.trials.restart == "point"

    def _run_start(
        self, trial: PlannedTrial, found: Found | MissingServer, point: Point, attempts: Counter[PointKey]
    ) -> Generator[PointRecord | FailureRecord, None, PointRecord | FailureRecord]:
        """Start the server once and take it through the points of the start; return the last record.

        ``attempts`` counts how often each point has begun in the trial.
        """
        attempts[point_key(point)] += 1
        arm = self.study.arms[trial.server]
        self.display.trial_begins(trial)
        # A start that fails belongs to the point that it was for, or to none of several.
        begun = point if self._restarts_for_each_point else None
        started_at = utc_now()
        try:
            with (
                serve(found, self.served, self.cpus) as server,
                self._under_load(server, trial) as under_load,
            ):
                under_load.verify(self.seed + trial.block)
                with server.probe(self.cpus.probe, self.study.host.probe_interval_s) as probe:
                    while True:
                        begun, started_at = point, utc_now()
                        attempt = attempts[point_key(point)]
                        self.display.point_begins(trial, point, attempt)
                        used_before = server.limit_use()
                        beside = Beside()
                        measured = self._measured(
                            server, under_load, arm.values_at(point), self.seed + trial.block, beside
                        )
                        seen = beside.marked(probe.observed(measured[MEASURED]))
                        record = PointRecord(
                            kind="point",
                            **trial.model_dump(),
                            point=point,
                            started_at=started_at,
                            measurements=self._judged(measured, seen),
                            probe=seen,
                            limit_use=_since(used_before, server.limit_use()),
                            attempt=attempt,
                        )
                        yield record
                        if self._restarts_for_each_point:
                            return record
                        following = self.points.next_point(trial, record)
                        if following is None:
                            return record
                        point = following
                        attempts[point_key(point)] += 1
        except ServerFailure as failure:
            reason = Reason(code=failure.code, text=failure.text)
            log_tail = failure.log_tail
        except LoadcurveError as error:
            # The load could not be started, for a lack of open files for instance.
            reason = Reason(code="load_not_started", text=str(error))
            log_tail = ""
        except OSError as error:
            text = f"the system refused an operation that the trial requires: {refusal(error)}"
            reason = Reason(code="system_refused", text=text)
            log_tail = ""
        failed = FailureRecord(
            kind="failure",
            **trial.model_dump(),
            point=begun,
            started_at=started_at,
            reason=reason,
            attempt=1 if begun is None else attempts[point_key(begun)],
            log_tail=log_tail,
        )
        yield failed
        return failed

    def _judged(self, measured: Measurements, seen: ProbeRecord) -> Measurements:
        """Return what was measured with what its machine gives as reasons for doubt."""
        others = {name: judged(load) for name, load in measured.items() if name != MEASURED}
        return {**others, MEASURED: judged(measured[MEASURED], seen, self.cpus.server)}

    def _under_load(self, server: LiveServer, trial: PlannedTrial) -> UnderLoad:
        """Return the started server as its kind is put under load."""
        arm = self.study.arms[trial.server]
        if isinstance(arm.load, DatabaseLoadTable):
            plans = DatabasePlans(server.url, arm.server.driver, self.cpus.load)
            return DatabaseUnderLoad(arm.name, server, arm.load, plans, ENGINE)
        content = self.served.records if self.served else {}
        return WebServerUnderLoad(server, arm.load, content, self.cpus.load, ENGINE)

    def _measured(
        self, server: LiveServer, under_load: UnderLoad, settings: Point, seed: int, beside: Beside
    ) -> Measurements:
        """Measure one point while its server lives; raises ServerFailure where it does not."""

        def observe(progress: Progress) -> None:
            server.require_life()
            beside.look()
            self.display.load_goes_on(progress)

        measured = under_load.measure(settings, seed, observe)
        # A load that a dead server refuses may be over before anyone looked.
        server.require_life()
        if self.ceiling is None:
            return measured
        return {**measured, MEASURED: marked_at_ceiling(measured[MEASURED], self.ceiling)}


def _since(before: LimitUse | None, after: LimitUse | None) -> LimitUse | None:
    return None if before is None or after is None else after.since(before)
