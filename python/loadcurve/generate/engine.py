"""Our engine as a generator: a load is started, watched, and brought to its result."""

import json
import time
from collections.abc import Sequence
from typing import Final

from loadcurve._engine import Load
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.clocks import WatchingClocks
from loadcurve.generate.generator import Generator, LoadInterrupted, Observe, Plan, Progress
from loadcurve.redaction import hidden
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import PAUSE_MIN_S, Pause, marked_as_paused

LOOK_INTERVAL_S = 0.05


class Engine:
    """The engine, in threads of this process."""

    def run(self, plan: Plan, observe: Observe) -> LoadResult:
        """Run a load to its end; ``observe`` is called about twenty times a second."""
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


ENGINE: Final[Generator] = WatchingClocks(Engine())


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
    for message in measured["error_messages"]:
        message["text"] = hidden(message["text"])
    as_run = plan.as_run(measured)
    return marked_as_paused(LoadResult.model_validate({**measured, "load": as_run}), pauses)
