"""One more start of each side of a gate, under its load and under ``perf``: it is in no figure."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from loadcurve.errors import LoadcurveError
from loadcurve.host.process_times import ProcessTable
from loadcurve.loads.values import Point
from loadcurve.result.cpu_time import Profile, ProfiledPair
from loadcurve.result.load import LoadResult
from loadcurve.result.records import GateRecord
from loadcurve.runs.display import Display
from loadcurve.runs.planned import PlannedRun
from loadcurve.runs.prepare import Served
from loadcurve.runs.running_servers import Live
from loadcurve.runs.servers_of_start import Member
from loadcurve.runs.trial import TrialRunner
from loadcurve.server.failure import ServerFailure
from loadcurve.server.here import Server
from loadcurve.server.probing import pids_of
from loadcurve.server.profiling import SAMPLES_PER_S, CallWatch, StackWatch
from loadcurve.server.temporary import temporary_folder

LEAST_S = 5.0
"""Loads follow each other until they have taken this long: short ones have few samples."""
LOADS_MAX = 20
ELSEWHERE = "only a server that runs on this machine, started for the run, can be profiled"


@dataclass(frozen=True)
class Profiler:
    """Profiles a server at one point."""

    runner: TrialRunner
    point: Point
    display: Display

    def pair(self, part: PlannedRun, gate: GateRecord, served: Served | None) -> ProfiledPair:
        """Return the profiles of both sides of a gate."""
        found = []
        for name in (gate.base, gate.head):
            self.display.note(f"{name} is started once more, under perf")
            trial = next(one for one in part.order if one.server == name)
            found.append(self.profile(part.member(trial, served)))
        return ProfiledPair(*found)

    def profile(self, member: Member) -> Profile:
        """Start a server, put the load of the point on it, and return its profile, or why there is none."""
        try:
            with ExitStack() as stack:
                [live] = self.runner.started([member], stack)
                if not isinstance(live.server, Server):
                    return _nothing(f"{member.trial.server}: {ELSEWHERE}")
                folder = stack.enter_context(temporary_folder("a profile"))
                pids = pids_of(live.server.marks, ProcessTable.now())
                with StackWatch(pids, folder / "stacks.data") as stacks:
                    sampled = self._loaded(live, LEAST_S)
                # To count calls takes time in each of them, which the samples would show.
                with CallWatch(pids, folder / "calls.csv") as calls:
                    called = self._loaded(live, 0.0)
                found = stacks.stacks()
                missing = [one.missing for one in (stacks, calls) if one.missing is not None]
                each = _each(calls.calls(), _requests(called))
                return Profile(_requests(sampled), SAMPLES_PER_S, found, each, tuple(missing))
        except (ServerFailure, LoadcurveError, OSError) as error:
            said = error.text if isinstance(error, ServerFailure) else str(error)
            return _nothing(f"{member.trial.server} could not be profiled: {said}")

    def _loaded(self, live: Live, least_s: float) -> list[LoadResult]:
        began_s, results = time.monotonic(), list[LoadResult]()
        while len(results) < LOADS_MAX and (not results or time.monotonic() - began_s < least_s):
            results += self.runner.loaded_once(live, self.point)
        return results


def _requests(results: Sequence[LoadResult]) -> int | None:
    """Return how many requests loads sent, warm-up included; ``None`` where one has not counted them."""
    counted = [(one.connections.opened, one.connections.reused) for one in results]
    sums = [opened + reused for opened, reused in counted if opened is not None and reused is not None]
    return sum(sums) if len(sums) == len(counted) else None


def _each(calls: int | None, requests: int | None) -> float | None:
    return None if calls is None or not requests else calls / requests


def _nothing(why: str) -> Profile:
    return Profile(None, SAMPLES_PER_S, {}, None, (why,))
