"""The verdict of the machine: what disturbed it during a load, by its own figures and none of the server's.

docs/methodology/verdicts.md gives the thresholds and the reasons for them.
"""

import math
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loadcurve import units
from loadcurve.result.cpu_time import CpuTime
from loadcurve.result.load import LoadResult
from loadcurve.result.outcomes import Verdict, VerdictNote
from loadcurve.result.pauses import Pauses, together
from loadcurve.result.probe import ProbeRecord

Status = Literal["suspect", "invalid"]

GENERATOR_PAUSED: Final = "generator_paused"
SUSPENDED: Final = "machine_suspended"
TAKEN: Final = "cpu_taken"
DISTURBANCES: Final = frozenset(
    {GENERATOR_PAUSED, "generator_throttled", SUSPENDED, "platform_paused", "steal", TAKEN}
)
"""The reasons for which a point is disturbed: what the host, a limit or other programs did, whatever the
server did."""

SUSPECT_PAUSED: Final = 0.01
INVALID_PAUSED: Final = 0.10
LONG_PAUSE_S: Final = 0.5
SUSPECT_STEAL: Final = 0.05
INVALID_STEAL: Final = 0.25
SUSPECT_MEMORY: Final = 0.01
NOTED_TAKEN: Final = 0.02
SUSPECT_TAKEN: Final = 0.05
INVALID_TAKEN: Final = 0.20
EXPECTED_VARIABLE: Final = "LOADCURVE_OTHER_PROGRAMS"
"""A variable of the environment: ``note`` where other programs are expected, and no reason for doubt."""
SHORTEST_SUSPECT_S: Final = 0.05
"""The kernel counts steal in ticks of 10 ms, and single pauses are as long: less of them says nothing."""
SHORTEST_INVALID_S: Final = 0.5
EXPLAINED_SHARE: Final = 0.5
"""A percentile of which pauses alone explain this part is theirs rather than the server's."""
SHARES: Final = {"p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
NAMED_MAX: Final = 3
LEAST_REST: Final = 0.05
"""Of a CPU: what unnamed programs took is said from this on, so that shares add up to what was taken."""
AGAIN: Final = "measure again, at another time or on a dedicated machine"


def judged(load: LoadResult, probe: ProbeRecord | None = None, cpus: Collection[int] = ()) -> LoadResult:
    """Return a load with the reasons that its machine gives for doubt.

    ``probe`` is what was seen of the server's machine, where it was, and ``cpus`` are the server's CPUs.
    """
    verdict = load.verdict
    found = [*_of_generator(load), *(_of_server(load, probe, cpus) if probe else ())]
    for code, text, status in found:
        verdict = verdict.with_reason(code, text, status)
    for taken in _taken(load, probe):
        verdict = taken.said_in(verdict)
    explained = explained_percentiles(load, probe)
    if explained:
        names = ", ".join(name.replace("_", ".") for name in explained)
        text = (
            f"{names} of the latency: pauses of this machine alone explain half or more of each, so they "
            "say little about the server"
        )
        notes = [*verdict.notes, VerdictNote.of("pauses_explain", text)]
        verdict = verdict.model_copy(update={"notes": notes})
    return load.model_copy(update={"verdict": verdict})


def others_are_expected() -> bool:
    """Say whether other programs on the CPUs are expected, by the environment of this process."""
    return os.environ.get(EXPECTED_VARIABLE) == "note"


def share_taken(times: Iterable[CpuTime | None]) -> float:
    """Return the share of the CPUs of the side that lost most to other programs, as far as it is certain.

    It says what happened, whether or not a verdict rests on it: where others are expected, none does.
    """
    return max((time.others - time.uncertain for time in times if time is not None), default=0.0)


def is_disturbed(load: LoadResult) -> bool:
    """Say whether the machine was disturbed during a judged load."""
    return any(reason.code in DISTURBANCES for reason in load.verdict.reasons)


def disturbance(load: LoadResult, probe: ProbeRecord, cpus: Collection[int]) -> float:
    """Return how much of the window the machine was disturbed for, to compare loads of one length.

    The sum of pauses of both sides, of steal on the CPU of the load or the server that lost most, of what
    other programs took on the side that lost most, and of throttling, as shares. A suspension, whose length
    is not recorded, counts as the whole window. ``cpus`` are those of the server.
    """
    if load.duration_s <= 0:
        return math.inf
    generator = load.generator
    paused_s = sum(end_s - start_s for start_s, end_s in together(generator.pauses, probe.pauses))
    throttled_s = generator.throttling.throttled_s if generator.throttling else 0.0
    of_server = (cpu.steal_share for cpu in probe.cpus or [] if cpu.cpu in cpus)
    steal = max([generator.steal_share or 0.0, *of_server])
    taken = max((time.others for time in (generator.cpu_time, probe.cpu_time) if time), default=0.0)
    suspended = any(reason.code == SUSPENDED for reason in load.verdict.reasons)
    return (paused_s + throttled_s) / load.duration_s + steal + taken + suspended


def _of_generator(load: LoadResult) -> Iterator[tuple[str, str, Status]]:
    generator, duration_s = load.generator, load.duration_s
    yield from _paused(
        GENERATOR_PAUSED,
        generator.pauses,
        duration_s,
        "the CPUs of the load, or the process that sends it,",
        "the server did not cause the missing answers in that time",
    )
    if generator.throttling is not None:
        status = _status(generator.throttling.throttled_s, duration_s, SUSPECT_PAUSED, INVALID_PAUSED)
        if status is not None:
            text = (
                "a CPU limit throttled the process that sends the load for "
                f"{generator.throttling.throttled_s:.2g} s of {duration_s:.3g} s: raise the limit of its "
                "control group (cpu.max), or reduce the load"
            )
            yield "generator_throttled", text, status
    yield from _stolen("the load", generator.steal_share, duration_s)


def _of_server(
    load: LoadResult, probe: ProbeRecord, cpus: Collection[int]
) -> Iterator[tuple[str, str, Status]]:
    duration_s = load.duration_s
    yield from _paused(
        "platform_paused",
        probe.pauses,
        duration_s,
        "the server's CPUs",
        "the platform stopped them, not the server",
    )
    shares = [cpu.steal_share for cpu in probe.cpus or [] if cpu.cpu in cpus]
    yield from _stolen("the server", max(shares, default=None), duration_s)
    memory = probe.pressure.memory_full_share if probe.pressure else None
    if memory is not None and memory >= SUSPECT_MEMORY and memory * duration_s >= SHORTEST_SUSPECT_S:
        text = (
            f"for {units.in_percent(memory)} % of the measurement all processes of this machine waited "
            "for memory: add memory, or run less on it"
        )
        yield "memory_pressure", text, "suspect"


def _paused(
    code: str, pauses: Pauses | None, duration_s: float, what: str, so: str
) -> Iterator[tuple[str, str, Status]]:
    if pauses is None:
        return
    status = _status(pauses.paused_s, duration_s, SUSPECT_PAUSED, INVALID_PAUSED)
    if status is None and pauses.longest_ms >= LONG_PAUSE_S * 1e3:
        status = "suspect"
    if status is not None:
        text = (
            f"{what} did not run for {units.length(pauses.paused_s)} of {duration_s:.3g} s, at most for "
            f"{pauses.longest_ms:,.0f} ms at once ({pauses.count:,} in all): {so}, so {AGAIN}"
        )
        yield code, text, status


def _stolen(side: str, share: float | None, duration_s: float) -> Iterator[tuple[str, str, Status]]:
    status = None if share is None else _status(share * duration_s, duration_s, SUSPECT_STEAL, INVALID_STEAL)
    if share is not None and status is not None:
        text = (
            f"for {units.whole_percent(share)} of the measurement the host did not run a CPU of {side} that "
            f"had work (steal): the figures are off by at least as much; {AGAIN}"
        )
        yield "steal", text, status


@dataclass(frozen=True, slots=True)
class _Taken:
    """What other programs took of the CPUs of a side."""

    time: CpuTime
    side: str
    duration_s: float
    may_belong: bool
    """Whether they may work for the server: it was not started here, so its programs are not known."""

    def said_in(self, verdict: Verdict) -> Verdict:
        """Return a verdict with what is to be said of it; with nothing where that is little."""
        time = self.time
        certain = time.others - time.uncertain
        # Beyond what ticks leave open, a share is missing from the figures of short and long loads alike.
        lost_s, duration_s = certain * self.duration_s, self.duration_s
        status = _status(lost_s, duration_s, SUSPECT_TAKEN, INVALID_TAKEN, SHORTEST_SUSPECT_S)
        if status is None or others_are_expected():
            if status is None and certain * self.duration_s < max(
                NOTED_TAKEN * self.duration_s, SHORTEST_SUSPECT_S
            ):
                return verdict
            notes = [*verdict.notes, VerdictNote.of("cpu_taken_noted", self._seen())]
            return verdict.model_copy(update={"notes": notes})
        return verdict.with_reason(
            TAKEN, f"{self._seen()}; {self._advice()}", "suspect" if self.may_belong else status
        )

    def _seen(self) -> str:
        cpus = self.time.cpus
        place = f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {numbers_in_runs(cpus)}"
        seen = ", which ended meanwhile or cannot be seen from here"
        if named := self.time.programs[:NAMED_MAX]:
            rest = self.time.others * len(cpus) - sum(one.cpu_share for one in named)
            others = f", and others {units.whole_percent(rest)}" if rest >= LEAST_REST else ""
            seen = f": {', '.join(one.text for one in named)}{others}"
        taken = units.whole_percent(self.time.others)
        return f"other programs took {taken} of the time of {self.side} ({place}){seen}"

    def _advice(self) -> str:
        if self.may_belong:
            return "unless they work for the server, end them and measure again"
        return (
            "end them, or bind them to other CPUs, and measure again; where they belong there, set "
            f"{EXPECTED_VARIABLE}=note"
        )


def _taken(load: LoadResult, probe: ProbeRecord | None) -> Iterator[_Taken]:
    of_load, of_server = load.generator.cpu_time, probe.cpu_time if probe else None
    if of_server is not None:
        yield _Taken(of_server, "the server's CPUs", load.duration_s, may_belong=False)
    if of_load is not None:
        shared = of_load.server is not None
        side = "the CPUs of server and load" if shared else "the load's CPUs"
        yield _Taken(of_load, side, load.duration_s, may_belong=shared)


def numbers_in_runs(numbers: Sequence[int]) -> str:
    """Return ascending numbers as the kernel writes lists of CPUs: ``0-3,8``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _status(
    lost_s: float,
    duration_s: float,
    suspect: float,
    invalid: float,
    shortest_invalid_s: float = SHORTEST_INVALID_S,
) -> Status | None:
    """Return what a loss of time makes of a window; ``None`` where it is small."""
    if lost_s >= max(invalid * duration_s, shortest_invalid_s):
        return "invalid"
    return "suspect" if lost_s >= max(suspect * duration_s, SHORTEST_SUSPECT_S) else None


def explained_percentiles(load: LoadResult, probe: ProbeRecord | None) -> list[str]:
    """Return the percentiles of the latency of which pauses of either side explain half or more."""
    stretches = together(load.generator.pauses, probe.pauses if probe else None)
    delays_s = sorted((end_s - start_s for start_s, end_s in stretches), reverse=True)
    found = []
    for name, share in SHARES.items():
        latency_ms: float | None = getattr(load.latency_ms, name)
        if latency_ms and delays_s:
            delay_ms = 1e3 * _delay_s(load, delays_s, share)
            if delay_ms >= EXPLAINED_SHARE * latency_ms:
                found.append(name)
    return found


def _delay_s(load: LoadResult, pauses_s: list[float], quantile: float) -> float:
    """Return the quantile of the delay of requests by pauses alone; ``pauses_s`` descend.

    Requests at a rate fall due throughout a pause, so each is delayed by what is left of it. In a closed loop
    nothing is sent in a pause, and those delayed are the ones under way: one for each client.
    """
    plan = load.load
    if not plan.is_open_loop and plan.connection_rate_cps is None:
        answered = load.requests.answered
        as_slow = answered - math.ceil(quantile * answered) + 1
        place = math.ceil(as_slow / max(plan.under_way_max, 1)) - 1
        return pauses_s[place] if 0 <= place < len(pauses_s) else 0.0
    # The delay x with sum(max(L - x, 0)) = the rest of the window, from the longest pause down.
    wanted_s = (1 - quantile) * load.duration_s
    for count, length_s in enumerate(pauses_s, start=1):
        following_s = pauses_s[count] if count < len(pauses_s) else 0.0
        delay_s = (sum(pauses_s[:count]) - wanted_s) / count
        if delay_s >= following_s:
            return min(max(delay_s, 0.0), length_s)
    return 0.0
