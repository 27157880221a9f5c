"""Load machines in this process, with whatever clock, and whatever befalls them."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from loadcurve._engine import Load
from loadcurve.generate.far_calls import FarPart
from loadcurve.generate.load_machine import Compared, LoadMachine, Observe, Share
from loadcurve.generate.looking import progress_of
from loadcurve.machines.channel import MachineLost
from loadcurve.machines.clock_offsets import Offset

MOMENT_S = 0.002
ERROR_NS = 20_000


class NearMachine(LoadMachine):
    """A machine whose clock is ahead by ``offset_ns`` and is compared within ``error_ns``.

    ``misjudged_ns`` is by how much the first comparison finds too much, within its error. The machine is lost
    when ``is_lost`` is set.
    """

    cpus = ()
    source_addresses = ()
    is_here = True

    def __init__(self, name: str, offset_ns: int = 0, *, misjudged_ns: int = 0, error_ns: int = ERROR_NS):
        self.name = name
        self.offset_ns, self.misjudged_ns, self.error_ns = offset_ns, misjudged_ns, error_ns
        self.is_lost = threading.Event()
        self.stops_itself_after: int | None = None
        """When this many requests are answered, the part ends before the others."""
        self.steal_s = 0.0
        self.loads: dict[str, Load] = {}
        self.shares: list[Share] = []
        self._threads = ThreadPoolExecutor()
        self._comparisons = 0

    def receive(self, files: Sequence[str]) -> None:
        raise AssertionError(f"it is here and has {files}")

    def reach(self, host: str, port: int) -> Future[Any]:
        return self._threads.submit(lambda: None)

    def start_part(self, load: str, plan: str, share: Share) -> Future[Any]:
        self.shares.append(share)

        def start() -> None:
            self.loads[load] = Load.start_part(plan, share.index, share.count)

        return self._threads.submit(start)

    def until_ready(self, load: str) -> Future[Any]:
        return self._threads.submit(self._wait, self.loads[load].is_ready)

    def run_part(self, load: str, at_ns: int, report_s: float, observe: Observe) -> Future[FarPart]:
        del report_s
        running = self.loads[load]
        running.begin(at_ns - self.offset_ns)

        def run() -> FarPart:
            while not running.is_finished():
                if self.is_lost.is_set():
                    running.stop()
                    raise MachineLost(self.name, "it burst into flames")
                shown = progress_of(running.progress())
                observe(shown)
                if self.stops_itself_after is not None and shown.answered >= self.stops_itself_after:
                    running.stop()
                time.sleep(MOMENT_S)
            return FarPart(part=running.finish(), steal_s=self.steal_s, throttling=None, suspended_s=0.0)

        return self._threads.submit(run)

    def stop_part(self, load: str) -> None:
        if load in self.loads:
            self.loads[load].stop()

    def round_trip_s(self) -> float:
        return 1e-4

    def compare_clocks(self) -> Compared:
        if self.is_lost.is_set():
            raise MachineLost(self.name, "it burst into flames")
        self._comparisons += 1
        misjudged_ns = self.misjudged_ns if self._comparisons == 1 else 0
        offset_ns, error_ns = self.offset_ns + misjudged_ns, self.error_ns + abs(misjudged_ns)
        offset = Offset(time.monotonic_ns(), offset_ns, error_ns, 2 * error_ns, 64)
        return Compared(offset, "echo")

    @staticmethod
    def _wait(until: Callable[[], bool]) -> None:
        while not until():
            time.sleep(MOMENT_S)
