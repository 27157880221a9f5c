"""One load from many machines: shares of one plan, one begin, one result.

Each machine takes its share of the plan by arithmetic, and opens its connections. Then clocks are compared,
and every machine learns one moment to come, by its own clock. Nothing is coordinated while the load runs.
What the machines record merges to what one generator would have measured.
"""

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from collections.abc import Generator as Yielding
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any, Final, TypeVar

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.far_calls import FarPart
from loadcurve.generate.generator import (
    Generator,
    LastSecond,
    LoadInterrupted,
    ObserveAll,
    ObserveLevel,
    Plan,
    Progress,
)
from loadcurve.generate.hosts import loopback_in, named_ports
from loadcurve.generate.load_machine import Compared, LoadMachine, Share
from loadcurve.generate.looking import LOOK_INTERVAL_S
from loadcurve.generate.merging import Brought, Lost, merged
from loadcurve.generate.plan_files import files_read, files_written
from loadcurve.machines.channel import FarError, MachineLost
from loadcurve.machines.clock_offsets import ClockCourse, Offset
from loadcurve.result.load import LoadResult

LEAD_S: Final = 0.5
"""How far ahead the common start is at least; by then every machine must know it."""
LEAD_ROUND_TRIPS: Final = 20
LEAD_PER_PART_S: Final = 0.002
"""Telling it to one machine more takes this long at most."""
AT_ONCE: Final = 16
"""The most machines whose clocks are compared at once: more would have to wait for the CPUs here."""
ENDING_S: Final = 10.0
"""How long after its last timeout a part may take to end, and then once more after it was asked to."""
REPORT_S: Final = 0.1
"""How often a machine reports how far it is; many of them do it less often."""
REPORTS_PER_S: Final = 1000

Result = TypeVar("Result")


class ManyMachines(Generator):
    """Several machines, each of which sends an equal share of every load."""

    def __init__(self, machines: Sequence[LoadMachine]) -> None:
        """Take the machines, of which there is at least one."""
        self._machines = machines
        self._reached: set[tuple[str, int]] = set()

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end; ``observe`` is called about twenty times a second.

        Raises as any generator does, and BadInput for a plan that these machines cannot share.
        """
        fitted = [with_fitting_threads(plan, len(self._machines)) for plan in plans]
        for plan in fitted:
            require_shareable(plan, self._machines)
        self._require_reached({port for plan in fitted for port in ports_of(plan)} - self._reached)
        return _Joint(self._machines, fitted).run(observe)

    def _require_reached(self, ports: Set[tuple[str, int]]) -> None:
        """Connect to each new server from every other machine; raises what the first to fail raises."""
        away = [machine for machine in self._machines if not machine.is_here]
        _require_all([machine.reach(*port) for port in sorted(ports) for machine in away])
        self._reached |= ports

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
        """Refuse: levels follow each other on one machine."""
        del plans, observe
        text = (
            "several machines cannot continue from point to point without a pause: set between_points = "
            '"pause", or send the load from one machine'
        )
        raise BadInput(text)


def ports_of(plan: Plan) -> list[tuple[str, int]]:
    """Return the hosts and ports that a plan's load goes to, as far as the plan names them."""
    [[_, written]] = json.loads(plan.to_json()).items()
    return named_ports(written["work"])


def longest_s(plan: Plan) -> float:
    """Return how long a load may take from its start to its last timeout; infinite if no time ends it."""
    [[_, written]] = json.loads(plan.to_json()).items()
    window_s = written["stop"].get("duration_s", math.inf)
    return float(written["warmup_s"] + window_s + written["timeout_s"])


def with_fitting_threads(plan: Plan, machines: int) -> Plan:
    """Return a plan with no more threads on each machine than it has connections, unless the load says so."""
    share = max(1, plan.connections // machines)
    if plan.load.sending_threads is not None or plan.threads <= share:
        return plan
    return replace(plan, threads=share)


def require_shareable(plan: Plan, machines: Sequence[LoadMachine]) -> None:
    """Refuse a plan that these machines cannot share, before anything is started; raises BadInput."""
    share, names = plan.connections // len(machines), ", ".join(machine.name for machine in machines)
    if share < plan.threads:
        raise BadInput(
            f"{plan.connections} connections among {len(machines)} machines ({names}) are {share} for one of "
            f"them, which is too few for {plan.threads} threads on each: allow "
            f"{plan.threads * len(machines)} connections or more"
        )
    away = [machine.name for machine in machines if not machine.is_here]
    if not away:
        return
    text = plan.to_json()
    [[_, written]] = json.loads(text).items()
    if files := files_written(text):
        raise BadInput(
            f"the load writes the secrets of its connections to {files[0]}, which is on this machine, and "
            f"not on {', '.join(away)}: remove key_log, or send the load from this machine"
        )
    if host := loopback_in(written["work"]):
        raise BadInput(
            f"the load goes to {host}, which on {', '.join(away)} is that machine itself: use an address of "
            "the server that all load machines can reach"
        )


class _Joint:
    """Loads that begin together on all machines."""

    def __init__(self, machines: Sequence[LoadMachine], plans: Sequence[Plan]) -> None:
        self._machines = machines
        self._plans = plans
        self._names = [f"{time.monotonic_ns()}-{number}" for number in range(len(plans))]
        """What machines call the loads."""
        self._running: list[list[Future[FarPart]]] = []
        """By plan, then by machine."""
        self._progress = [[Progress(None, 0)] * len(machines) for _ in plans]
        self._before: list[Compared] = []
        self._at_ns = 0

    def run(self, observe: ObserveAll) -> list[LoadResult]:
        try:
            self._start()
            self._before = of_each(self._machines, lambda machine: machine.compare_clocks())
            self._begin()
            self._watch(observe)
        except KeyboardInterrupt as interrupt:
            self._stop()
            if not self._running:
                raise
            raise LoadInterrupted(*self._results()) from interrupt
        except BaseException:
            self._stop()
            self._wait_for_all()
            raise
        return self._results()

    def _start(self) -> None:
        """Start every part and wait for the connections of all; raises what the first to fail raises."""
        count = len(self._machines)
        self._send_files()
        texts = [plan.to_json() for plan in self._plans]
        started = [
            machine.start_part(name, _written(text, machine), Share(index, count))
            for name, text in zip(self._names, texts, strict=True)
            for index, machine in enumerate(self._machines)
        ]
        _require_all(started)
        _require_all([machine.until_ready(name) for name in self._names for machine in self._machines])

    def _send_files(self) -> None:
        """Bring the files that the plans name to the machines that do not share those here."""
        away = [machine for machine in self._machines if not machine.is_here]
        if not away:
            return
        files = [*dict.fromkeys(file for plan in self._plans for file in files_read(plan.to_json()))]
        if files:
            with ThreadPoolExecutor(len(away)) as pool:
                _require_all([pool.submit(machine.receive, files) for machine in away])

    def _begin(self) -> None:
        """Tell each machine the moment at which all begin, by its own clock."""
        parts = len(self._machines) * len(self._plans)
        round_trip_s = max(of_each(self._machines, lambda machine: machine.round_trip_s()))
        lead_s = max(LEAD_S, LEAD_ROUND_TRIPS * round_trip_s) + LEAD_PER_PART_S * parts
        report_s = max(REPORT_S, parts / REPORTS_PER_S)
        self._at_ns = time.monotonic_ns() + round(lead_s * 1e9)
        for number, name in enumerate(self._names):
            row = [
                machine.run_part(
                    name,
                    self._at_ns + before.offset.offset_ns,
                    report_s,
                    partial(self._take, number, index),
                )
                for index, (machine, before) in enumerate(zip(self._machines, self._before, strict=True))
            ]
            self._running.append(row)

    def _take(self, number: int, index: int, progress: Progress) -> None:
        self._progress[number][index] = progress

    def _watch(self, observe: ObserveAll) -> None:
        until_s = self._at_ns / 1e9 + max(map(longest_s, self._plans)) + ENDING_S
        while not (is_over := self._is_over()) and time.monotonic() < until_s:
            time.sleep(LOOK_INTERVAL_S)
            observe([added_up(row) for row in self._progress])
        if not is_over:
            self._stop_what_hangs()

    def _stop_what_hangs(self) -> None:
        for name, row in zip(self._names, self._running, strict=True):
            for machine, part in zip(self._machines, row, strict=True):
                if not part.done():
                    machine.stop_part(name)

    def _is_over(self) -> bool:
        return all(part.done() for row in self._running for part in row)

    def _stop(self) -> None:
        for name in self._names:
            for machine in self._machines:
                machine.stop_part(name)

    def _wait_for_all(self) -> None:
        """Wait for the parts; one that hangs is not waited for without end."""
        wait([part for row in self._running for part in row], ENDING_S)

    def _results(self) -> list[LoadResult]:
        self._wait_for_all()
        afters = of_each(self._machines, _compared_after)
        courses = [
            ClockCourse(before.offset, after) for before, after in zip(self._before, afters, strict=True)
        ]
        results = []
        for plan, row in zip(self._plans, self._running, strict=True):
            brought = [
                _brought(plan, machine, part, before, course)
                for machine, part, before, course in zip(
                    self._machines, row, self._before, courses, strict=True
                )
            ]
            results.append(merged(plan, self._at_ns, brought))
        return results


def of_each(machines: Sequence[LoadMachine], work: Callable[[LoadMachine], Result]) -> list[Result]:
    """Return what comes of some work with each machine, in their order; done with several of them at once.

    What is found out of the first is then not as old as all other work takes. Raises what the first of them
    raises that fails.
    """
    with ThreadPoolExecutor(min(len(machines), AT_ONCE)) as pool:
        return [*pool.map(work, machines)]


def _compared_after(machine: LoadMachine) -> Offset | None:
    """Compare clocks once more; where that cannot be, the first comparison has to do."""
    try:
        return machine.compare_clocks().offset
    except (MachineLost, FarError):
        return None


def _written(plan: str, machine: LoadMachine) -> str:
    """Return a plan in JSON as a machine's engine reads it: on CPUs and from addresses of that machine."""
    [[kind, written]] = json.loads(plan).items()
    work = written["work"]
    if "source_addresses" in work and not machine.is_here:
        work = {**work, "source_addresses": [*machine.source_addresses]}
    return json.dumps({kind: {**written, "cpus": [*_cpus_of(machine, written["cpus"])], "work": work}})


def _cpus_of(machine: LoadMachine, planned: Sequence[int]) -> Sequence[int]:
    """Return where a machine's threads run: here as planned, because servers may have the others."""
    return planned if machine.is_here and planned else machine.cpus


def _require_all(answers: Sequence[Future[Any]]) -> None:
    """Wait for all answers, and raise what the first of them that failed raises."""
    wait(answers)
    for answer in answers:
        answer.result()


def _brought(
    plan: Plan, machine: LoadMachine, part: Future[FarPart], before: Compared, course: ClockCourse
) -> Brought | Lost:
    """Return a machine's result of a load, or why there is none."""
    cpus = _cpus_of(machine, plan.cpus)
    if not part.done():
        return Lost(machine.name, f"machine {machine.name}: its part of the load did not end in time")
    try:
        return Brought(machine.name, tuple(cpus), part.result(), before, course)
    except (NothingMeasured, FarError) as error:
        return Lost(machine.name, str(error))


def added_up(parts: Sequence[Progress]) -> Progress:
    """Return how far a load is, from how far each of its parts is.

    Percentiles of parts do not add up: they are shown where there is one part alone.
    """
    if len(parts) == 1:
        return parts[0]
    failures: Counter[str] = Counter()
    for part in parts:
        failures.update(part.failures)
    seconds = [part.last_second for part in parts if part.last_second is not None]
    last = None
    if len(seconds) == len(parts):
        length_s = sum(second.length_s for second in seconds) / len(seconds)
        rate_rps = sum(second.answered / second.length_s for second in seconds)
        last = LastSecond(length_s, round(rate_rps * length_s), None)
    latencies = [part.latencies for part in parts if part.latencies is not None]
    return Progress(
        elapsed_s=max((part.elapsed_s for part in parts if part.elapsed_s is not None), default=None),
        answered=sum(part.answered or 0 for part in parts),
        failures=dict(failures),
        last_second=last,
        oldest_s=max((part.oldest_s for part in parts if part.oldest_s is not None), default=None),
        latencies=reduce(add, latencies) if len(latencies) == len(parts) else None,
    )
