"""One load: started, watched, and brought to its result."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcurve._engine import Load
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.load.plan import DatabasePlan, HttpPlan
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import PAUSE_MIN_S, Pause, marked_as_paused

LOOK_INTERVAL_S = 0.05

Plan = HttpPlan | DatabasePlan
"""What the engine can carry out."""


@dataclass(frozen=True)
class Progress:
    """Where a load stands; ``elapsed_s`` counts from the start of the warm-up, ``None`` while connecting."""

    elapsed_s: float | None
    answered: int
    failed: int


class LoadInterrupted(KeyboardInterrupt):
    """The load was interrupted; ``result`` holds what was measured until then."""

    def __init__(self, result: LoadResult) -> None:
        """Carry the result of the part that was measured."""
        super().__init__()
        self.result = result


def run_load(plan: Plan, observe: Callable[[Progress], None]) -> LoadResult:
    """Run a load to its end; ``observe`` is called about twenty times a second and may end it by raising.

    Raises:
        BadInput: the plan asks for something that cannot be.
        NothingMeasured: this machine, as it is set up, cannot run the plan.
        LoadInterrupted: by the person; it carries the result.

    """
    load = _started(plan)
    watch = _PauseWatch()
    try:
        while not load.is_finished():
            time.sleep(LOOK_INTERVAL_S)
            watch.look()
            observe(Progress(*load.progress()))
    except KeyboardInterrupt as interrupt:
        watch.look()
        load.stop()
        raise LoadInterrupted(_result(plan, load, watch.pauses)) from interrupt
    except BaseException:
        load.stop()
        load.finish()
        raise
    return _result(plan, load, watch.pauses)


class _PauseWatch:
    """Notices that this process did not run, by looks that come later than they should."""

    def __init__(self) -> None:
        self.pauses: list[Pause] = []
        self._due_s = time.monotonic() + LOOK_INTERVAL_S

    def look(self) -> None:
        now_s = time.monotonic()
        if now_s - self._due_s >= PAUSE_MIN_S:
            self.pauses.append(Pause(self._due_s, now_s))
        self._due_s = now_s + LOOK_INTERVAL_S


def _started(plan: Plan) -> Load:
    try:
        return Load.start(plan.to_json())
    except ValueError as error:
        raise BadInput(str(error)) from error
    except RuntimeError as error:
        raise NothingMeasured(str(error)) from error


def _result(plan: Plan, load: Load, pauses: Sequence[Pause]) -> LoadResult:
    measured = json.loads(load.finish())
    as_run = plan.as_run(measured["generator"]["io"])
    return marked_as_paused(LoadResult.model_validate({**measured, "load": as_run}), pauses)
