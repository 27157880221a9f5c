"""Our engine's loads of several levels: each is watched and brought to its result while the next one runs."""

import time
from collections import Counter
from collections.abc import Generator as Yielding
from collections.abc import Sequence
from itertools import accumulate

from loadcurve._engine import Levels
from loadcurve.generate.generator import ObserveLevel, Plan, Progress
from loadcurve.generate.looking import (
    LOOK_INTERVAL_S,
    WindowWatch,
    progress_of,
    result_of,
    start_refusals,
)
from loadcurve.result.load import LoadResult


def run_levels(plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
    """Run one load through levels; see ``Generator.run_levels``."""
    looking = _Looking(plans)
    with start_refusals():
        load = Levels.start([plan.to_json() for plan in plans])
    taken = 0
    failure: Exception | None = None
    try:
        while not load.is_finished():
            time.sleep(LOOK_INTERVAL_S)
            try:
                observe(*looking.look(progress_of(load.progress())))
            except Exception as error:  # noqa: BLE001 -- it is raised when the levels before it are reported
                failure = error
                break
            while (text := load.take_result()) is not None:
                yield result_of(plans[taken], text, looking.watch_of_ended(taken))
                taken += 1
    except BaseException:
        load.stop()
        load.finish()
        raise
    if failure is not None:
        load.stop()
    for text in load.finish():
        result = result_of(plans[taken], text, looking.watch_of_ended(taken))
        if failure is None or not result.interrupted:
            yield result
        taken += 1
    if failure is not None:
        raise failure


class _Looking:
    """Which level a load is in, and where in it."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._plans = plans
        lengths_s = [plan.load.warmup_s + (plan.load.duration_s or 0.0) for plan in plans]
        self._ends_s = [*accumulate(lengths_s)]
        self._level = 0
        self._watches = [WindowWatch.of(plans[0])]
        self._before = Progress(None, 0)
        """Where the load stood when the level began, as far as a look can tell."""

    def look(self, progress: Progress) -> tuple[int, Progress]:
        """Return the number of the level that is under way, and how far it is."""
        elapsed_s = progress.elapsed_s or 0.0
        last = len(self._plans) - 1
        level = min(sum(end_s <= elapsed_s for end_s in self._ends_s), last)
        while self._level < level:
            self._begin_next(progress)
        within_s = elapsed_s - (self._ends_s[level - 1] if level else 0.0)
        failures = Counter(progress.failures)
        failures.subtract(self._before.failures)
        latencies, before = progress.latencies, self._before.latencies
        if latencies is not None and before is not None:
            latencies -= before
        within = Progress(
            elapsed_s=None if progress.elapsed_s is None else within_s,
            answered=(progress.answered or 0) - (self._before.answered or 0),
            failures=+failures,
            last_second=progress.last_second,
            oldest_s=progress.oldest_s,
            latencies=latencies,
        )
        return level, self._watches[level].look(within)

    def _begin_next(self, progress: Progress) -> None:
        self._watches[-1].ends()
        self._level += 1
        self._watches.append(WindowWatch.of(self._plans[self._level], self._watches[0]))
        self._before = progress

    def watch_of_ended(self, level: int) -> WindowWatch:
        """Return what has watched the window of a level that is over, also where nobody looked in it."""
        while self._level < level:
            self._begin_next(self._before)
        return self._watches[level]
