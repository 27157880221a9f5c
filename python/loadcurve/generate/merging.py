"""From what several machines record of one load to its result, and to what is said of the machines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import ValidationError

from loadcurve._engine import merge_parts
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.clocks import LEAST_S
from loadcurve.generate.far_calls import FarPart
from loadcurve.generate.generator import Plan
from loadcurve.generate.load_machine import Compared
from loadcurve.generate.looking import load_result, pauses_of
from loadcurve.machines.clock_offsets import ClockCourse
from loadcurve.result.generator import LoadMachineClock, LoadMachines, MachinePart
from loadcurve.result.load import LoadResult

NS_PER_MS: Final = 1e6
SUSPECT_MS: Final = 1.0
"""How far from the common start a machine may begin, and how far its clock may be off."""
INVALID_MS: Final = 100.0

Status = Literal["suspect", "invalid"]
Doubt = tuple[str, str, Status]


@dataclass(frozen=True)
class Brought:
    """A machine's result, and how its clock compares with the one here."""

    machine: str
    cpus: tuple[int, ...]
    """What its threads were bound to; empty if its system placed them."""
    far: FarPart
    before: Compared
    """By which the common start was translated to its clock."""
    course: ClockCourse


@dataclass(frozen=True)
class Lost:
    """A machine that brings nothing home."""

    machine: str
    why: str


def merged(plan: Plan, at_ns: int, all_of_them: Sequence[Brought | Lost]) -> LoadResult:
    """Return the result of a load that began at this moment of the clock here.

    Raises:
        BadInput: the parts do not belong together.
        NothingMeasured: no machine has brought a part home, or one has brought something else.

    """
    try:
        return _merged(plan, at_ns, all_of_them)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        text = f"a machine has brought what is no part of a load: {place}: {first['msg']}"
        raise NothingMeasured(text) from None


def _merged(plan: Plan, at_ns: int, all_of_them: Sequence[Brought | Lost]) -> LoadResult:
    brought = [one for one in all_of_them if isinstance(one, Brought)]
    lost = [one for one in all_of_them if isinstance(one, Lost)]
    if not brought:
        raise NothingMeasured("\n".join(one.why for one in lost))
    try:
        texts = merge_parts(plan.to_json(), [one.far.part for one in brought], at_ns)
    except ValueError as error:
        raise BadInput(str(error)) from error
    measured, rows = map(json.loads, texts)
    duration_s = measured["duration_s"]
    parts = {one.machine: _part(one, row, at_ns, duration_s) for one, row in zip(brought, rows, strict=True)}
    generators = [part.generator for part in parts.values() if part.generator is not None]
    # As with lateness, one that was held back is not excused by others that were not.
    measured["generator"] |= {
        "pauses": max(
            (one.pauses for one in generators if one.pauses), key=lambda one: one.paused_s, default=None
        ),
        "steal_share": max(
            (one.steal_share for one in generators if one.steal_share is not None), default=None
        ),
        "throttling": max(
            (one.throttling for one in generators if one.throttling),
            key=lambda one: one.throttled_s,
            default=None,
        ),
    }
    machines = _machines([parts.get(one.machine) or _lost(one) for one in all_of_them])
    result = load_result(plan, {**measured, "machines": machines})
    verdict = result.verdict
    for code, text, status in [*_doubts(machines), *_suspended(brought)]:
        verdict = verdict.with_reason(code, text, status)
    return result.model_copy(update={"verdict": verdict})


def _part(brought: Brought, row: Mapping[str, Any], at_ns: int, duration_s: float) -> MachinePart:
    far, course = brought.far, brought.course
    generator = dict(row["generator"])
    share = None if far.steal_s is None or duration_s <= 0 else min(far.steal_s / duration_s, 1.0)
    generator |= {
        "pauses": pauses_of(generator, duration_s),
        "steal_share": share,
        "throttling": far.throttling,
    }
    offset = course.at(at_ns)
    # It began too late by the amount by which its clock was less far ahead than was thought.
    off_ms = (brought.before.offset.offset_ns - offset.offset_ns) / NS_PER_MS
    return MachinePart.model_validate(
        {
            **{name: row[name] for name in _OF_ROW},
            "machine": brought.machine,
            "cpus": brought.cpus,
            "link": far.link,
            "lost": None,
            "clock": LoadMachineClock(
                offset_s=offset.offset_ns / 1e9,
                error_ms=offset.error_ns / NS_PER_MS,
                drift_ppm=None if course.drift is None else course.drift * 1e6,
                round_trip_ms=offset.delay_ns / NS_PER_MS,
                exchanges=offset.exchanges,
                over=brought.before.over,
            ),
            "start_ms": off_ms + row["began_ms"],
            "started_within_ms": row["began_within_ms"],
            "generator": generator,
        }
    )


_OF_ROW: Final = (
    "ended_s",
    "interrupted",
    "connections_opened",
    "requests",
    "sent_rps",
    "answered_rps",
    "latency_ms",
    "errors",
    "cpu_share",
    "kernel",
)


def _lost(lost: Brought | Lost) -> MachinePart:
    why = lost.why if isinstance(lost, Lost) else ""
    unknown = dict.fromkeys(MachinePart.model_fields)
    return MachinePart.model_validate({**unknown, "machine": lost.machine, "lost": why})


def _machines(parts: Sequence[MachinePart]) -> LoadMachines:
    """Return the machines of a load, with how far apart they began."""
    begun = sorted(
        (part.start_ms, part.clock.error_ms) for part in parts if part.clock and part.start_ms is not None
    )
    several = len(begun) > 1
    return LoadMachines(
        start_spread_ms=begun[-1][0] - begun[0][0] if several else None,
        start_error_ms=begun[-1][1] + begun[0][1] if several else None,
        parts=[*parts],
    )


def _doubts(machines: LoadMachines) -> Iterator[Doubt]:
    """Yield what of the machines speaks against a result, by the machine's name."""
    have_ended = [part for part in machines.parts if part.lost is None]
    for part in machines.parts:
        if part.lost is not None:
            text = (
                f"machine {part.machine} was lost, and with it 1 of {len(machines.parts)} parts of the load: "
                f"{part.lost}; the figures are those of the other parts"
            )
            yield "machine_lost", text, "invalid"
        elif part.interrupted and not all(one.interrupted for one in have_ended):
            text = (
                f"machine {part.machine} ended its part {part.ended_s:.2f} s after the start, before the "
                "others: from then on the load was lower than planned; find out what stopped it there"
            )
            yield "machine_ended_early", text, "invalid"
    for part in have_ended:
        yield from _doubts_of_begin(part)


def _doubts_of_begin(part: MachinePart) -> Iterator[Doubt]:
    if part.start_ms is None or part.clock is None:
        return
    error_ms = part.clock.error_ms
    apart_ms = max(part.start_ms + (part.started_within_ms or 0.0), -part.start_ms)
    if status := _status(apart_ms):
        text = (
            f"machine {part.machine} began {apart_ms:.2f} ms from the common start (± {error_ms:.2f} ms), "
            "so until then the load was not the planned one; keep other work off its CPUs, and set a "
            "warm-up"
        )
        yield "machine_late", text, status
    if status := _status(error_ms):
        text = (
            f"the clock of machine {part.machine} is only known to ± {error_ms:.2f} ms, from a round trip "
            f"of {part.clock.round_trip_ms:.2f} ms, and its start is known no better; allow UDP datagrams "
            "to it, over a short path"
        )
        yield "machine_clock", text, status


def _status(time_ms: float) -> Status | None:
    if time_ms > INVALID_MS:
        return "invalid"
    return "suspect" if time_ms > SUSPECT_MS else None


def _suspended(brought: Sequence[Brought]) -> Iterator[Doubt]:
    for one in brought:
        if one.far.suspended_s >= LEAST_S:
            text = (
                f"machine {one.machine} was suspended for {one.far.suspended_s:,.1f} s during the load or "
                "its warm-up: its timers stopped, and peers may have closed connections, so measure again"
            )
            yield "machine_suspended", text, "suspect"
