"""Our engine as a generator: a load is started, watched, and brought to its result."""

import time
from collections.abc import Generator as Yielding
from collections.abc import Sequence
from typing import Final

from loadcurve._engine import Load
from loadcurve.errors import NothingMeasured
from loadcurve.generate.clocks import WatchingClocks
from loadcurve.generate.generator import Generator, LoadInterrupted, ObserveAll, ObserveLevel, Plan
from loadcurve.generate.levels import run_levels
from loadcurve.generate.looking import (
    LOOK_INTERVAL_S,
    WindowWatch,
    progress_of,
    result_of,
    start_refusals,
)
from loadcurve.result.load import LoadResult

READY_INTERVAL_S = 0.005
"""Between two looks whether the connections of several loads are open."""
LEAD_NS = 100_000_000
"""How far ahead the common start of several loads is: each of them learns of it before."""


class Engine(Generator):
    """The engine, in threads of this process."""

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end; ``observe`` is called about twenty times a second."""
        # An interrupt after the start must not lose what was measured: the loop comes right behind it.
        watches = [WindowWatch.of(plan) for plan in plans]
        loads: list[Load] = []
        try:
            # Those that did start are stopped where the next one does not.
            loads.extend(_started(plan, waits=len(plans) > 1) for plan in plans)
            have_begun = len(plans) == 1
            while not all(load.is_finished() for load in loads):
                have_begun = have_begun or _begun_together(loads)
                time.sleep(LOOK_INTERVAL_S if have_begun else READY_INTERVAL_S)
                looks = zip(watches, loads, strict=True)
                observe([watch.look(progress_of(load.progress())) for watch, load in looks])
        except KeyboardInterrupt as interrupt:
            _stop(loads)
            if len(loads) < len(plans):
                _finish(loads)
                raise
            raise LoadInterrupted(*map(_finished, plans, loads, watches)) from interrupt
        except BaseException:
            _stop(loads)
            _finish(loads)
            raise
        return [*map(_finished, plans, loads, watches)]

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
        """Run one load through levels; ``observe`` is called about twenty times a second."""
        return run_levels(plans, observe)


def _begun_together(loads: Sequence[Load]) -> bool:
    """Let loads begin at one moment once the connections of all are open; say whether they were."""
    if not all(load.is_ready() for load in loads):
        return False
    at_ns = time.monotonic_ns() + LEAD_NS
    try:
        for load in loads:
            load.begin(at_ns)
    except RuntimeError as error:
        raise NothingMeasured(f"the loads could not start together: {error}") from error
    return True


def _stop(loads: Sequence[Load]) -> None:
    for load in loads:
        load.stop()


def _finish(loads: Sequence[Load]) -> None:
    for load in loads:
        load.finish()


ENGINE: Final[Generator] = WatchingClocks(Engine())


def _started(plan: Plan, *, waits: bool) -> Load:
    with start_refusals():
        return Load.start(plan.to_json(), begins_on_request=waits)


def _finished(plan: Plan, load: Load, watch: WindowWatch) -> LoadResult:
    return result_of(plan, load.finish(), watch)
