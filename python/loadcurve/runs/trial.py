"""One trial: one fresh start of one server, or of several at once, taken through its points."""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field

from loadcurve.errors import LoadcurveError, refusal
from loadcurve.generate.generator import Generator as LoadGenerator
from loadcurve.generate.generator import Progress
from loadcurve.loads.values import Point
from loadcurve.redaction import hidden
from loadcurve.result.load import LoadResult
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.outcomes import Reason
from loadcurve.result.records import (
    MEASURED,
    FailureRecord,
    Loads,
    PlannedTrial,
    PointRecord,
)
from loadcurve.result.which_count import asks_for_another
from loadcurve.runs.chosen import CHOSEN
from loadcurve.runs.continued import ContinuedSweep
from loadcurve.runs.display import Display
from loadcurve.runs.kept_servers import KeptServers
from loadcurve.runs.other_runs import OtherRuns
from loadcurve.runs.points import PointChooser
from loadcurve.runs.prepare import serve
from loadcurve.runs.running_servers import Live, Records, limit_use_since, together, utc_now
from loadcurve.runs.servers_of_start import Member
from loadcurve.server.after_load import limit_use_after, seen_during
from loadcurve.server.failure import ServerFailure
from loadcurve.server.live import LiveProbe, LiveServer


@dataclass(frozen=True)
class TrialRunner:
    """Takes servers through the points of a study."""

    seed: int
    """Each block draws its own random arrivals, the same for all its servers, so that these stay paired."""
    display: Display
    points: PointChooser
    restarts_for_each_point: bool = False
    continued: Sequence[Point] | None = None
    """All points of a trial, where they follow each other without a pause."""
    machines: Mapping[str, LoadGenerator] = field(default_factory=dict)
    """What sends the loads of arms, by their names, where that is not this process."""
    kept: KeptServers | None = None
    """The servers that outlive their trials; ``None`` where each trial starts its own."""

    def generator(self, members: Sequence[Member]) -> LoadGenerator:
        """Return what sends the loads of a start, which is the same for all that begin together."""
        return self.machines.get(members[0].trial.server, CHOSEN)

    def run(self, trial: PlannedTrial, members: Sequence[Member]) -> Generator[Records]:
        """Yield the members' records of each point as soon as it is measured; failures end a start.

        ``trial`` is the start's place among all of a run. The servers run only while the trial is under way,
        also when the caller stops taking records, unless they are kept.
        """
        attempts: Counter[PointKey] = Counter()
        """How often each point has begun."""
        point = self.points.next_point(trial, None)
        while point is not None:
            last = yield from self._run_start(trial, members, point, attempts)
            point = self.points.next_point(trial, last) if self.restarts_for_each_point else None

    def _run_start(
        self, trial: PlannedTrial, members: Sequence[Member], point: Point, attempts: Counter[PointKey]
    ) -> Generator[Records, None, PointRecord | FailureRecord]:
        """Start the servers once and take them through the points of the start; return the last record.

        ``attempts`` counts how often each point has begun in the trial.
        """
        attempts[point_key(point)] += 1
        self.display.trial_begins(trial)
        # A start that fails belongs to the point that it was for, or to none of several.
        begun = point if self.restarts_for_each_point else None
        started_at = utc_now()
        sweep: ContinuedSweep | None = None
        try:
            with ExitStack() as stack:
                lives = self.started(members, stack)
                if self.continued is not None:
                    seed = self.seed + trial.block
                    generator = self.generator(members)
                    sweep = ContinuedSweep(lives[0], self.continued, seed, self.display, generator)
                    return (yield from self._continued(sweep, trial))
                self._warm_up(lives)
                while True:
                    begun, started_at = point, utc_now()
                    attempt = attempts[point_key(point)]
                    self.display.point_begins(trial, point, attempt)
                    records = self._measured(lives, point, attempt, started_at)
                    yield [*records]
                    last = _deciding(records).model_copy(update={"point": point})
                    if self.restarts_for_each_point:
                        return last
                    following = self.points.next_point(trial, last)
                    if following is None:
                        return last
                    point = following
                    attempts[point_key(point)] += 1
        except ServerFailure as failure:
            reason = Reason(code=failure.code, text=failure.text)
            log_tail = failure.log_tail
            if self.kept is not None:
                self.kept.drop(members)
        except LoadcurveError as error:
            # The load could not be started, for a lack of open files for instance.
            reason = Reason(code="load_not_started", text=hidden(str(error)))
            log_tail = ""
        except OSError as error:
            text = f"the system refused an operation that the trial requires: {refusal(error)}"
            reason = Reason(code="system_refused", text=text)
            log_tail = ""
        if sweep is not None:
            begun, started_at = sweep.awaited, sweep.awaited_since
        failures = [
            FailureRecord(
                kind="failure",
                **member.trial.model_dump(),
                point=None if begun is None else member.own_point(begun),
                started_at=started_at,
                reason=reason,
                attempt=1 if begun is None else max(1, attempts[point_key(begun)]),
                log_tail=log_tail,
            )
            for member in members
        ]
        yield [*failures]
        return failures[0].model_copy(update={"point": begun})

    def _continued(self, sweep: ContinuedSweep, trial: PlannedTrial) -> Generator[Records, None, PointRecord]:
        """Yield the records of a load that continues, until the sweep or the curve ends; return the last."""
        with closing(sweep.records()) as records:
            for record in records:
                yield [record]
                if self.points.next_point(trial, record) is None:
                    break
        return record

    def started(self, members: Sequence[Member], stack: ExitStack) -> list[Live]:
        """Start and verify the members' servers, each with its probe, as long as ``stack`` lasts."""
        started = []
        for member in members:
            if self.kept is None:
                server, started_at = (
                    stack.enter_context(serve(member.found, member.served, member.cpus)),
                    None,
                )
            else:
                kept = self.kept.of(member)
                server, started_at = kept.server, kept.started_at
            under_load = stack.enter_context(member.under_load(server, self.generator(members)))
            under_load.verify(self.seed + member.trial.block)
            started.append((member, server, under_load, started_at))
        return [
            Live(member, server, under_load, stack.enter_context(_probe(member, server)), started_at)
            for member, server, under_load, started_at in started
        ]

    def _warm_up(self, lives: Sequence[Live]) -> None:
        """Put the study's load before the first point on each server that it is for, all at once.

        Raises:
            ServerFailure: a server died, or answered nothing right.

        """
        seed = self.seed + lives[0].member.trial.block
        planned = [(live, live.warmup(seed)) for live in lives]
        warmed = [(live, plan) for live, plan in planned if plan is not None]
        if not warmed:
            return
        generator = self.generator([live.member for live in lives])
        results = generator.run_together([plan for _, plan in warmed], self._observer(lives, OtherRuns()))
        for (live, _), result in zip(warmed, results, strict=True):
            live.server.raise_if_exited()
            live.require_right(result)

    def _measured(
        self, lives: Sequence[Live], point: Point, attempt: int, started_at: str
    ) -> list[PointRecord]:
        """Measure one point while the servers live; raises ServerFailure where one does not."""
        used_before = [live.server.limit_use() for live in lives]
        beside = OtherRuns()
        points = [live.member.own_point(point) for live in lives]
        measured = self._loaded(lives, points, beside)
        probes = [
            seen_during(loads[MEASURED], live.probe) for live, loads in zip(lives, measured, strict=True)
        ]
        return [
            live.recorded(
                own_point,
                loads,
                beside.marked(seen),
                started_at=started_at,
                limit_use=limit_use_since(used, limit_use_after(live.server)),
                attempt=attempt,
            )
            for live, own_point, loads, seen, used in zip(
                lives, points, measured, together(lives, probes), used_before, strict=True
            )
        ]

    def _loaded(self, lives: Sequence[Live], points: Sequence[Point], beside: OtherRuns) -> list[Loads]:
        """Prepare each server for its load, put all loads on them at once, and return what was measured."""
        settings = [live.member.arm.values_at(point) for live, point in zip(lives, points, strict=True)]
        seed = self.seed + lives[0].member.trial.block
        observe = self._observer(lives, beside)
        prepared, plans = [], []
        for live, values in zip(lives, settings, strict=True):
            prepared.append(live.under_load.prepare(values, seed, lambda progress: observe([progress])))
        for live, values in zip(lives, settings, strict=True):
            plans.append(live.under_load.plan(values, seed))
        results = self.generator([live.member for live in lives]).run_together(plans, observe)
        measured = []
        for live, values, loads, result in zip(lives, settings, prepared, results, strict=True):
            checked = live.under_load.checked(values, result)
            # A load that a dead server refuses may be over before anyone looked.
            live.server.raise_if_exited()
            measured.append({**loads, MEASURED: live.member.marked(checked)})
        return measured

    def loaded_once(self, live: Live, point: Point) -> list[LoadResult]:
        """Put the load of a point on a server that lives, and return its result, which is not recorded."""
        [loads] = self._loaded([live], [live.member.own_point(point)], OtherRuns())
        return [loads[MEASURED]]

    def _observer(self, lives: Sequence[Live], beside: OtherRuns) -> Callable[[Sequence[Progress]], None]:
        def observe(progress: Sequence[Progress]) -> None:
            for live in lives:
                live.server.raise_if_exited()
            beside.look()
            self.display.on_progress(progress[0])

        return observe


def _probe(member: Member, server: LiveServer) -> AbstractContextManager[LiveProbe]:
    return server.probe(member.cpus.probe, member.study.host.probe_interval_s)


def _deciding(records: Sequence[PointRecord]) -> PointRecord:
    """Return the record by which the next point is chosen: one that was disturbed, or else the first."""
    return next((record for record in records if asks_for_another(record)), records[0])
