"""What is common to all loads of our engine: how one looks at them, and how their results are read."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.generator import LastSecond, LatencyCounts, Plan, Progress
from loadcurve.generate.whose_time import TimeWatch, work_of
from loadcurve.host.withheld import Withheld
from loadcurve.redaction import hidden, own_words
from loadcurve.result.cpu_time import Throttling
from loadcurve.result.load import LOAD_FORMAT, LoadResult
from loadcurve.result.pauses import Pauses, RawPause, pauses_within

BODY_KEPT_BYTES = 1024
"""Of the body of an error; the engine cuts a longer one."""
LOOK_INTERVAL_S = 0.05
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
ShownSecond = tuple[float, int, tuple[float, float, float] | None]
ShownProgress = tuple[
    float | None, int, Mapping[str, int], ShownSecond | None, float | None, tuple[Sequence[int], float]
]


class WindowWatch:
    """Notes what has been withheld from this process when the window begins, so far as a look can tell."""

    def __init__(
        self,
        warmup_s: float,
        cpus: Sequence[int],
        work: Mapping[str, str] | None = None,
        level_before: "WindowWatch | None" = None,
    ) -> None:
        """Look for the first time, before a load on these CPUs (all, where none is named), or its level.

        Whose the time of the CPUs is can be said where ``work`` names the server, which is that of the level
        before, where there is one.
        """
        self._warmup_s = warmup_s
        self._cpus = cpus or sorted(os.sched_getaffinity(0))
        before = None if level_before is None else level_before.time
        self.time: TimeWatch | None = None if work is None else TimeWatch(work, self._cpus, before)
        self._before = Withheld.until_now(TICKS_PER_S)
        self._until_end: Withheld | None = None
        self._has_begun = False

    @classmethod
    def of(cls, plan: Plan, level_before: "WindowWatch | None" = None) -> Self:
        """Look for the first time, before the load of a plan or at the start of its level."""
        return cls(plan.load.warmup_s, plan.cpus, work_of(plan), level_before)

    def look(self, progress: Progress) -> Progress:
        """Note when the window has begun; return the progress, which can read the CPU time of both sides."""
        if not self._has_begun and (progress.elapsed_s or 0.0) > self._warmup_s:
            self._has_begun = True
            if self._warmup_s:
                self._before = Withheld.until_now(TICKS_PER_S)
        return progress if self.time is None else replace(progress, cpu=self.time.used)

    def ends(self) -> None:
        """Note that the window is over, where the load continues."""
        self._until_end = Withheld.until_now(TICKS_PER_S)
        if self.time is not None:
            self.time.ends()

    def withheld(self, duration_s: float, pauses: Pauses | None = None) -> dict[str, Any]:
        """Return the figures of a generator that tell what was withheld from it in a window that is over."""
        steal_s, throttling = self.withheld_until_end()
        share = None if steal_s is None or duration_s <= 0 else min(steal_s / duration_s, 1.0)
        cpu_time = None if self.time is None else self.time.divided(pauses.paused_s if pauses else 0.0)
        return {"steal_share": share, "throttling": throttling, "cpu_time": cpu_time}

    def withheld_until_end(self) -> tuple[float | None, Throttling | None]:
        """Return the steal in s, of the CPU that lost most, and the throttling in the window."""
        until_end = self._until_end or Withheld.until_now(TICKS_PER_S)
        return until_end.since(self._before, self._cpus)


@contextmanager
def start_refusals() -> Iterator[None]:
    """Raise what the engine says of a plan that it does not start as the error of whose fault that is."""
    try:
        yield
    except ValueError as error:
        raise BadInput(str(error)) from error
    except RuntimeError as error:
        raise NothingMeasured(str(error)) from error


def progress_of(shown: ShownProgress) -> Progress:
    """Return how far a load is, as the engine shows it."""
    elapsed_s, answered, failures, last_second, oldest_s, (counts, sum_s) = shown
    return Progress(
        elapsed_s,
        answered,
        failures,
        last_second and LastSecond(*last_second),
        oldest_s,
        latencies=LatencyCounts(tuple(counts), sum_s),
    )


def result_of(plan: Plan, text: str, watch: WindowWatch) -> LoadResult:
    """Return the result of a load or of one of its levels, of which the engine gives this JSON."""
    measured = json.loads(text)
    generator = measured["generator"]
    generator["pauses"] = pauses_of(generator, measured["duration_s"])
    generator |= watch.withheld(measured["duration_s"], generator["pauses"])
    return load_result(plan, measured)


def pauses_of(generator: Mapping[str, Any], duration_s: float) -> Pauses | None:
    """Return the pauses within the window that a generator has found; ``None`` where it cannot."""
    found = generator.get("pauses")
    return None if found is None else pauses_within(map(RawPause.model_validate, found), 0.0, duration_s)


def load_result(plan: Plan, measured: Mapping[str, Any]) -> LoadResult:
    """Return the result of a load from what was measured, with what its generator says of itself."""
    for message in measured["error_messages"]:
        message["text"] = hidden(message["text"])
    for status in measured.get("statuses") or []:
        if (body := status["body"]) is not None:
            status["body"] = own_words(body, is_cut=len(body.encode()) >= BODY_KEPT_BYTES) or None
    return LoadResult.model_validate({**measured, "format": LOAD_FORMAT, "load": plan.as_run(measured)})
