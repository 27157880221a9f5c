"""Our engine as a generator: a load is started, watched, and brought to its result."""

import json
import os
import time
from collections.abc import Sequence
from typing import Any, Final

from loadcurve._engine import Load
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.clocks import WatchingClocks
from loadcurve.generate.generator import (
    Generator,
    LastSecond,
    LoadInterrupted,
    ObserveAll,
    Plan,
    Progress,
)
from loadcurve.host.withheld import Withheld
from loadcurve.redaction import hidden
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import RawPause, pauses_within

LOOK_INTERVAL_S = 0.05
READY_INTERVAL_S = 0.005
"""Between two looks whether the connections of several loads are open."""
LEAD_NS = 100_000_000
"""How far ahead the common begin of several loads is: each of them learns of it before."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Engine(Generator):
    """The engine, in threads of this process."""

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end; ``observe`` is called about twenty times a second."""
        # An interrupt after the start must not lose what was measured: the loop comes right behind it.
        watches = [_WindowWatch(plan) for plan in plans]
        loads: list[Load] = []
        try:
            # Those that did start are stopped where the next one does not.
            loads.extend(_started(plan, waits=len(plans) > 1) for plan in plans)
            have_begun = len(plans) == 1
            while not all(load.is_finished() for load in loads):
                have_begun = have_begun or _begun_together(loads)
                time.sleep(LOOK_INTERVAL_S if have_begun else READY_INTERVAL_S)
                progress = [_progress(load) for load in loads]
                for watch, one in zip(watches, progress, strict=True):
                    watch.look(one)
                observe(progress)
        except KeyboardInterrupt as interrupt:
            _stop(loads)
            if len(loads) < len(plans):
                _finish(loads)
                raise
            raise LoadInterrupted(*map(_result, plans, loads, watches)) from interrupt
        except BaseException:
            _stop(loads)
            _finish(loads)
            raise
        return [*map(_result, plans, loads, watches)]


def _begun_together(loads: Sequence[Load]) -> bool:
    """Let loads begin at one moment once the connections of all are open; say whether they were."""
    if not all(load.is_ready() for load in loads):
        return False
    at_ns = time.monotonic_ns() + LEAD_NS
    try:
        for load in loads:
            load.begin(at_ns)
    except RuntimeError as error:
        raise NothingMeasured(f"the loads could not begin together: {error}") from error
    return True


def _stop(loads: Sequence[Load]) -> None:
    for load in loads:
        load.stop()


def _finish(loads: Sequence[Load]) -> None:
    for load in loads:
        load.finish()


ENGINE: Final[Generator] = WatchingClocks(Engine())


class _WindowWatch:
    """Notes what has been withheld from this process when the window begins, so far as a look can tell."""

    def __init__(self, plan: Plan) -> None:
        self._warmup_s = plan.load.warmup_s
        self._cpus = plan.cpus or sorted(os.sched_getaffinity(0))
        self._before = Withheld.until_now(TICKS_PER_S)
        self._has_begun = False

    def look(self, progress: Progress) -> None:
        """Note when the window has begun."""
        if not self._has_begun and (progress.elapsed_s or 0.0) > self._warmup_s:
            self._has_begun = True
            if self._warmup_s:
                self._before = Withheld.until_now(TICKS_PER_S)

    def withheld(self, duration_s: float) -> dict[str, Any]:
        """Return the figures of a generator that tell what was withheld from it in a window that is over."""
        steal_s, throttling = Withheld.until_now(TICKS_PER_S).since(self._before, self._cpus)
        share = None if steal_s is None or duration_s <= 0 else min(steal_s / duration_s, 1.0)
        return {"steal_share": share, "throttling": throttling}


def _started(plan: Plan, *, waits: bool) -> Load:
    try:
        return Load.start(plan.to_json(), begins_on_request=waits)
    except ValueError as error:
        raise BadInput(str(error)) from error
    except RuntimeError as error:
        raise NothingMeasured(str(error)) from error


def _progress(load: Load) -> Progress:
    elapsed_s, answered, failures, last_second = load.progress()
    return Progress(elapsed_s, answered, failures, last_second and LastSecond(*last_second))


def _result(plan: Plan, load: Load, watch: _WindowWatch) -> LoadResult:
    measured = json.loads(load.finish())
    for message in measured["error_messages"]:
        message["text"] = hidden(message["text"])
    as_run, duration_s = plan.as_run(measured), measured["duration_s"]
    found = measured["generator"].get("pauses")
    pauses = None
    if found is not None:
        pauses = pauses_within(map(RawPause.model_validate, found), 0.0, duration_s)
    generator = {**measured["generator"], "pauses": pauses, **watch.withheld(duration_s)}
    return LoadResult.model_validate({**measured, "generator": generator, "load": as_run})
