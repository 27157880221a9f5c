"""Another load generator, driven: started on the load's CPUs, watched, and brought to a result as ours is."""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as Yielding
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadcurve._engine import KernelCounters, PauseWatch
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.generator import (
    Generator,
    LoadInterrupted,
    ObserveAll,
    ObserveLevel,
    Plan,
    Progress,
)
from loadcurve.generate.looking import WindowWatch
from loadcurve.generate.whose_time import work_of
from loadcurve.loads.plan import HttpPlan
from loadcurve.protocol import protocol_of_url
from loadcurve.result.generator import Kernel, RequestSent, ToolRecord
from loadcurve.result.load import LoadResult
from loadcurve.result.pauses import Pauses, RawPause, pauses_within
from loadcurve.server.temporary import temporary_folder
from loadcurve.tools.catalog import Tool
from loadcurve.tools.driver import DatabaseToolRequest, Output, ToolRequest, WebToolRequest
from loadcurve.tools.exact import require_exact, threads_of
from loadcurve.tools.exact_database import require_exact_on_database
from loadcurve.tools.figures import ToolFigures, Unreadable
from loadcurve.tools.process import CpuTime, ToolProcess
from loadcurve.tools.request_head import request_sent
from loadcurve.tools.results import Seen, asked_rps, result_of, window_began_s


class CpuMeter:
    """The processor time of a process at each look; between two looks it is taken to be used evenly."""

    def __init__(
        self, started_s: float, read: Callable[[], CpuTime], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin with a process that has used nothing when it was started, on the clock's time."""
        self._read = read
        self._clock = clock
        self._moments_s = [started_s]
        self._used = [CpuTime(0.0, 0.0)]

    def look(self) -> None:
        """Read what it has used until now."""
        self._moments_s.append(self._clock())
        self._used.append(self._read())

    def used(self, begin_s: float, end_s: float) -> CpuTime:
        """Return what it has used between two moments: starting and printing are no part of a load."""
        begin, end = self._until(begin_s), self._until(end_s)
        return CpuTime(
            max(end.user_s - begin.user_s, 0.0),
            max(end.system_s - begin.system_s, 0.0),
            max(end.voluntary_switches - begin.voluntary_switches, 0.0),
        )

    def _until(self, moment_s: float) -> CpuTime:
        behind = bisect_right(self._moments_s, moment_s)
        if behind == 0:
            return self._used[0]
        if behind == len(self._moments_s):
            return self._used[-1]
        (from_s, to_s), (before, after) = self._moments_s[behind - 1 :][:2], self._used[behind - 1 :][:2]
        share = (moment_s - from_s) / (to_s - from_s)
        return CpuTime(
            before.user_s + share * (after.user_s - before.user_s),
            before.system_s + share * (after.system_s - before.system_s),
            before.voluntary_switches + share * (after.voluntary_switches - before.voluntary_switches),
        )


LOOK_INTERVAL_S = 0.25
"""Looking costs the tool time: both are on the load's CPUs."""
_SLACK_S = 30.0
"""How much longer than its load and one timeout a tool may take, to start, to connect, and to print."""

_STARTING_S = 1.0
"""How long a tool that has no end may take to begin; what it does after its window does not count."""

WarmUp = Literal["none", "own", "separate"]
"""Whether a tool has an option to warm up, or another process of it does that before."""


@dataclass(frozen=True)
class Driven(Generator):
    """One tool as a generator."""

    tool: Tool

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run one load to its end; ``observe`` is called about ten times a second.

        It sees how long the load has lasted, and nothing else: a tool tells its figures at its end.

        Raises:
            BadInput: the tool is not installed, or cannot put this load on a server exactly as it is.
            NothingMeasured: it did not start, did not end, or its output cannot be read.
            LoadInterrupted: by the person; with what the tool has printed when it was interrupted, too.

        """
        [plan] = plans
        if isinstance(plan, HttpPlan):
            require_exact(self.tool, plan.load, plan.scheme, plan.authority)
        else:
            require_exact_on_database(self.tool, plan.load, protocol_of_url(plan.url), plan.settings)
        with temporary_folder(self.tool.name) as folder:
            return [self._run(plan, folder, lambda progress: observe([progress]))]

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:  # noqa: ARG002
        """Refuse: a process of a tool has one load."""
        raise BadInput(f"{self.tool.name} cannot go from one point to the next without a pause")

    def _run(self, plan: Plan, folder: Path, observe: Callable[[Progress], None]) -> LoadResult:
        wanted = self._wanted(plan, folder)
        argv, prefix = self.tool.command(wanted), self.tool.table.settings_prefix
        begun_s = time.monotonic()

        def look() -> None:
            observe(Progress(max(time.monotonic() - begun_s, 1e-9), answered=None))

        def started(place: Path) -> ToolProcess:
            return ToolProcess(argv, place, plan.cpus, prefix, private=folder)

        request = request_sent(self.tool, wanted, plan.cpus) if isinstance(wanted, WebToolRequest) else None
        warmup = self._warmup(plan)
        if warmup == "separate":
            with _made(folder / "warmup") as place, started(place) as process:
                _warm_up(process, plan.load.warmup_s, look)
        own_warmup_s = plan.load.warmup_s if warmup == "own" else 0.0
        watch, pause_watch = WindowWatch(own_warmup_s, plan.cpus, work_of(plan)), PauseWatch(plan.cpus)
        interrupts_s = self._interrupted_after_s(plan)
        before = KernelCounters()
        with _made(folder / "measured") as place, started(place) as process:
            meter = CpuMeter(process.started_s, process.cpu_now)

            def look_and_measure() -> None:
                elapsed_s = time.monotonic() - process.started_s
                watch.look(Progress(elapsed_s, answered=None))
                meter.look()
                look()
                if interrupts_s is not None and elapsed_s >= interrupts_s:
                    process.interrupt()

            is_interrupted = _ends_by_interrupt(process, _limit_s(plan, own_warmup_s), look_and_measure)
            watch.ends()
            pauses = pause_watch.stop()
            meter.look()
            kernel = Kernel.model_validate_json(KernelCounters().since(before))
            output = Output(
                self.tool.name,
                self.tool.require_installed(),
                place / "stdout",
                folder,
                is_interrupted,
                process.interrupted_unix_s,
            )
            figures = self._figures(wanted, output, process, is_interrupted=is_interrupted)
            began_s = window_began_s(figures, process.started_s + own_warmup_s)
            within = _pauses(pauses, began_s, began_s + figures.duration_s)
            seen = Seen(
                began_s=began_s,
                interrupted=is_interrupted,
                cpu=meter.used(began_s, began_s + figures.duration_s),
                threads=wanted.threads,
                cpus=max(len(plan.cpus), 1),
                waits_busily=self.tool.table.waits_busily,
                withheld=watch.withheld(figures.duration_s, within),
                pauses=within,
                kernel=kernel,
            )
        result = result_of(plan, figures, self._record(argv, figures, warmup, interrupts_s, request), seen)
        if is_interrupted:
            raise LoadInterrupted(result)
        return result

    def _figures(
        self, wanted: ToolRequest, output: Output, process: ToolProcess, *, is_interrupted: bool
    ) -> ToolFigures:
        """Return what the tool has printed; raises KeyboardInterrupt where that is too little after one."""
        try:
            figures = self.tool.driver.figures(wanted, output)
        except Unreadable as error:
            if is_interrupted:
                raise KeyboardInterrupt from error
            raise NothingMeasured(
                f"{self.tool.name} ended with status {process.status}, and {error}; it has printed: "
                f"{process.last_words()}"
            ) from error
        is_loading = isinstance(wanted, DatabaseToolRequest) and wanted.load.phase == "load"
        if not figures.answered and not is_interrupted and (process.status or is_loading):
            done = " and has loaded no record" if is_loading else ""
            text = f"{self.tool.name} ended with status {process.status}{done}: {process.last_words()}"
            raise NothingMeasured(text)
        return figures

    def _record(
        self,
        argv: Sequence[str],
        figures: ToolFigures,
        warmup: WarmUp,
        interrupts_s: float | None,
        request: RequestSent | None,
    ) -> ToolRecord:
        latency = figures.latency
        return ToolRecord(
            name=self.tool.name,
            version=self.tool.version,
            command=[*argv],
            latency_basis=figures.basis,
            resolution_ms=latency.resolution_ms if latency else None,
            completeness=latency.completeness if latency else self.tool.table.completeness,
            warmup=warmup,
            interrupted_after_s=interrupts_s,
            request=request,
            not_measured=[*self.tool.table.not_measured, *figures.not_measured],
        )

    def _wanted(self, plan: Plan, folder: Path) -> ToolRequest:
        if not isinstance(plan, HttpPlan):
            return DatabaseToolRequest(
                load=plan.load, url=plan.url, threads=plan.threads, files=folder, version=self.tool.version
            )
        return WebToolRequest(
            load=plan.load,
            address=plan.address,
            authority=plan.authority,
            threads=threads_of(self.tool, plan.load, max(len(plan.cpus), plan.threads)),
            files=folder,
            version=self.tool.version,
        )

    def _interrupted_after_s(self, plan: Plan) -> float | None:
        """Return when the tool is to be interrupted; ``None`` where it ends by itself at the right time."""
        can, of_databases, duration_s = self.tool.table.can, self.tool.table.databases, plan.load.duration_s
        if not isinstance(plan, HttpPlan):
            has_no_end = of_databases is not None and of_databases.interrupted_after == "duration"
            length_s = None if duration_s is None else _STARTING_S + plan.load.warmup_s + duration_s
            return length_s if has_no_end else None
        is_odd = can is not None and can.whole_seconds and duration_s is not None and duration_s % 1 > 0
        return duration_s if is_odd else None

    def _warmup(self, plan: Plan) -> WarmUp:
        can = self.tool.table.can
        if not plan.load.warmup_s:
            return "none"
        if not isinstance(plan, HttpPlan) or can is None:
            return "own"
        is_own = can.warmup == "own" and plan.load.duration_s is not None
        return "own" if is_own else "separate"


def _ends_by_interrupt(process: ToolProcess, limit_s: float, look: Callable[[], None]) -> bool:
    """Wait for the end of a process; say whether a person's interrupt was it, and raise that if in vain."""
    try:
        process.wait(limit_s, look, LOOK_INTERVAL_S)
    except KeyboardInterrupt:
        if not process.ask_to_end():
            raise
        return True
    return False


def _warm_up(process: ToolProcess, warmup_s: float, look: Callable[[], None]) -> None:
    """Let a separate process put the load on the server until the warm-up is over."""
    end_s = process.started_s + warmup_s
    while (left_s := end_s - time.monotonic()) > 0 and not process.has_ended():
        look()
        time.sleep(min(LOOK_INTERVAL_S, left_s))


def _pauses(
    found: Sequence[tuple[float, float, float]] | None, start_s: float, end_s: float
) -> Pauses | None:
    """Return the pauses in a window, of those that were found on the same clock."""
    if found is None:
        return None
    raw = (RawPause(earliest_s=one[0], latest_s=one[1], end_s=one[2]) for one in found)
    return pauses_within(raw, start_s, end_s)


@contextmanager
def _made(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    yield folder


def _limit_s(plan: Plan, own_warmup_s: float) -> float:
    """Return how long a tool may take; a load of a number of requests has the time that its rate gives it."""
    load = plan.load
    length_s = load.duration_s
    if length_s is None:
        expected_s = load.expected_s
        # Without a rate nobody knows: a thousandth of what a server can do is slow enough.
        slowest_rps = min(asked_rps(plan) or 100.0, 100.0)
        length_s = expected_s if expected_s is not None else 60.0 + (plan.requests_total or 0) / slowest_rps
    return own_warmup_s + length_s + load.timeout_s + _SLACK_S
