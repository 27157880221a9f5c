"""The points of one trial as the levels of one load, each of which begins at the end of the one before."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from loadcurve.generate.generator import Generator as LoadGenerator
from loadcurve.generate.generator import Progress
from loadcurve.host.cpus import own_threads_on
from loadcurve.loads.values import Point
from loadcurve.result.load import LoadResult
from loadcurve.result.records import MEASURED, LimitUse, PointRecord
from loadcurve.runs.display import Display
from loadcurve.runs.other_runs import OtherRuns
from loadcurve.runs.running_servers import Live, limit_use_since, utc_now
from loadcurve.server.after_load import limit_use_after, seen_during


@dataclass(frozen=True)
class _Begin:
    """What is known of the moment at which a level began, and of what is looked at meanwhile."""

    at: str
    used: LimitUse | None
    beside: OtherRuns = field(default_factory=OtherRuns)


class ContinuedSweep:
    """Takes a server through all points of a sweep by one load."""

    def __init__(
        self, live: Live, points: Sequence[Point], seed: int, display: Display, generator: LoadGenerator
    ) -> None:
        """Make the plans of all levels, a warm-up before the first point among them; nothing is sent yet."""
        self._live = live
        self._points = points
        self._display = display
        self._generator = generator
        warmup = live.warmup(seed)
        self._offset = 0 if warmup is None else 1
        """How many levels come before the first point."""
        values = map(live.member.arm.values_at, points)
        levels = [live.under_load.plan(one, seed) for one in values]
        self._levels = levels if warmup is None else [warmup, *levels]
        self._begins: list[_Begin] = []
        """Of each level that has begun, the warm-up among them."""
        self._recorded = 0

    @property
    def awaited(self) -> Point | None:
        """The point whose record is the next; ``None`` before the first one begins."""
        has_begun = len(self._begins) > self._recorded + self._offset
        return self._points[self._recorded] if has_begun else None

    @property
    def awaited_since(self) -> str:
        """When that point began, or the load."""
        began = self._begins[self._offset :] or self._begins
        return began[min(self._recorded, len(began) - 1)].at if began else utc_now()

    def records(self) -> Generator[PointRecord]:
        """Yield the record of each point once the last of its requests has ended.

        The load ends with the iterator. Raises ServerFailure where the server died, or answered nothing of
        the warm-up right.
        """
        self._begin_levels(0)
        results = self._generator.run_levels(self._levels, self._observe)
        # What a record costs falls into the next level: it is made beside both sides, where a CPU is left.
        with own_threads_on(self._live.member.cpus.probe), closing(results):
            for level, result in enumerate(results):
                # A load that nobody looked at in time has begun a level all the same.
                self._begin_levels(level)
                if level < self._offset:
                    self._live.require_right(result)
                    continue
                if level + 1 == len(self._levels):
                    self._live.server.raise_if_exited()
                record = self._record(level, result)
                self._recorded += 1
                yield record

    def _observe(self, level: int, progress: Progress) -> None:
        self._begin_levels(level)
        self._live.server.raise_if_exited()
        self._begins[level].beside.look()
        self._display.on_progress(progress)

    def _begin_levels(self, level: int) -> None:
        """Note that all levels up to this one have begun."""
        while len(self._begins) <= level:
            self._begins.append(_Begin(utc_now(), self._live.server.limit_use()))
            place = len(self._begins) - 1 - self._offset
            if place >= 0:
                self._display.point_begins(self._live.member.trial, self._points[place])

    def _record(self, level: int, result: LoadResult) -> PointRecord:
        begin, place = self._begins[level], level - self._offset
        following = self._begins[level + 1 : level + 2]
        used = following[0].used if following else limit_use_after(self._live.server)
        values = self._live.member.arm.values_at(self._points[place])
        measured = self._live.member.marked(self._live.under_load.checked(values, result))
        return self._live.recorded(
            self._live.member.own_point(self._points[place]),
            {MEASURED: measured},
            begin.beside.marked(seen_during(measured, self._live.probe)),
            started_at=begin.at,
            limit_use=limit_use_since(begin.used, used),
        )
