"""Which records of a run count: after it was resumed, among attempts at a point, and to the end of a curve.

Which attempt counts is decided by what disturbed the machine and by nothing that the server did: a choice by
the server's figures would be a selection, and their mean would be of the selected ones. What decides is in
the records, so that the run which chooses the next point and everyone who reads its folder find the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcurve.loads.values import Point
from loadcurve.result.machine import disturbance, is_disturbed
from loadcurve.result.measures import THROUGHPUT, is_usable
from loadcurve.result.outcomes import Caveat
from loadcurve.result.records import FailureRecord, PointRecord, ResumedRecord, TrialLine
from loadcurve.result.trial_lines import DamagedLine


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time between two parts of a run."""

    block: int
    """The block that was begun anew."""
    last_started_at: str | None
    """When the last record before the gap was begun; ``None`` where there is none."""
    resumed_at: str
    abandoned: int
    """The records of the interrupted block, which are not used."""
    caveats: tuple[Caveat, ...]


def damaged_lines(lines: Sequence[TrialLine | DamagedLine]) -> list[DamagedLine]:
    """Return the damaged lines, but for those that a kill left unfinished before the run was resumed."""
    return [
        line
        for place, line in enumerate(lines, start=1)
        if isinstance(line, DamagedLine)
        and (line.is_json or not isinstance(next(iter(lines[place : place + 1]), None), ResumedRecord))
    ]


def used_records(
    lines: Iterable[TrialLine | DamagedLine],
) -> tuple[list[PointRecord | FailureRecord], tuple[Gap, ...]]:
    """Return the records that figures are computed from, in the order of writing, and the gaps of the run.

    A damaged line may have been the place at which the run was resumed. What comes behind it was then
    measured in the abandoned block, too, and only its second attempt counts.
    """
    used: list[PointRecord | FailureRecord] = []
    gaps: list[Gap] = []
    last_started_at = None
    before_damage = _Measured([])
    for line in lines:
        if isinstance(line, DamagedLine):
            before_damage = before_damage if line.is_of_trial else _Measured(used)
            continue
        if isinstance(line, ResumedRecord):
            kept = [record for record in used if record.block < line.block]
            gaps.append(
                Gap(line.block, last_started_at, line.started_at, len(used) - len(kept), line.caveats)
            )
            used = kept
        elif before_damage.is_repeated_by(line):
            used = [record for record in used if record.block < line.block]
            before_damage = _Measured([])
        if not isinstance(line, ResumedRecord):
            used.append(line)
        last_started_at = line.started_at
    return used, tuple(gaps)


class _Measured:
    """What was measured until a place."""

    def __init__(self, records: Iterable[PointRecord | FailureRecord]) -> None:
        records = list(records)
        self._last_trial = max((record.trial for record in records), default=-1)
        self._points = set(map(_place_of, records))

    def is_repeated_by(self, record: PointRecord | FailureRecord) -> bool:
        """Say whether a record is of an earlier trial, or of a point that was measured."""
        return record.trial < self._last_trial or _place_of(record) in self._points


def _place_of(record: PointRecord | FailureRecord) -> tuple[int, int, frozenset[tuple[str, float]] | None]:
    point = None if record.point is None else frozenset(record.point.items())
    return record.trial, record.attempt, point


REPEATED_FROM_S = 2.0
"""Shorter loads are not repeated: the least that disturbs, 50 ms, is a larger part of them than matters."""

ServerCpus = Mapping[str, Collection[int]]
"""The CPUs of each server: the verdict looks at these, and so does the choice between attempts."""
Place = tuple[int, tuple[tuple[str, float], ...]]
"""A point in a trial."""


def asks_for_another(record: PointRecord) -> bool:
    """Say whether a point was disturbed so that measuring it again may help."""
    return is_disturbed(record.load) and record.load.duration_s >= REPEATED_FROM_S


def place_of(record: PointRecord) -> Place:
    """Return which attempts a record belongs to."""
    return _place(record.trial, record.point)


def _place(trial: int, point: Point) -> Place:
    return trial, tuple(sorted(point.items()))


def counting(attempts: Sequence[PointRecord], server_cpus: ServerCpus) -> PointRecord:
    """Return the attempt of a point that counts: the least disturbed one, the first of equals."""

    def disturbed(one: PointRecord) -> float:
        return disturbance(one.load, one.probe, server_cpus.get(one.server, ()))

    undisturbed = [one for one in attempts if not is_disturbed(one.load)]
    return min(undisturbed[:1] or attempts, key=disturbed)


def counted(
    records: Iterable[PointRecord | FailureRecord], server_cpus: ServerCpus
) -> tuple[list[PointRecord | FailureRecord], tuple[PointRecord, ...]]:
    """Return the records that count, and the attempts that do not; both in the order of measuring."""
    records = list(records)
    attempts: dict[Place, list[PointRecord]] = {}
    for record in records:
        if isinstance(record, PointRecord):
            attempts.setdefault(place_of(record), []).append(record)
    chosen = {id(counting(of_point, server_cpus)) for of_point in attempts.values()}
    kept = [record for record in records if isinstance(record, FailureRecord) or id(record) in chosen]
    others = (one for of_point in attempts.values() for one in of_point if id(one) not in chosen)
    return kept, tuple(others)


def without_measured(failures: Iterable[FailureRecord], points: Iterable[PointRecord]) -> list[FailureRecord]:
    """Return the failures but for those of points that another attempt in the trial has measured."""
    measured = set(map(place_of, points))
    return [one for one in failures if one.point is None or _place(one.trial, one.point) not in measured]


def until_drop(study: Mapping[str, Any]) -> float | None:
    """Return the share by which throughput must fall to end a curve; ``None`` where curves have no such end.

    ``study`` is that of a run's record.
    """
    share = study.get("trials", {}).get("until_drop_share")
    return share if isinstance(share, int | float) else None


def marked_drop(points: Iterable[PointRecord], share: float) -> PointRecord | None:
    """Return the first point of a trial whose throughput is by ``share`` below the greatest before it.

    ``points`` are those that count, in the order of measuring. Points that are invalid, or whose machine was
    disturbed, decide nothing: what lowered their throughput was not the server.
    """
    greatest_rps = 0.0
    for record in points:
        if not is_usable(record) or is_disturbed(record.load):
            continue
        rate_rps = THROUGHPUT.value(record) or 0.0
        if greatest_rps and rate_rps <= (1 - share) * greatest_rps:
            return record
        greatest_rps = max(greatest_rps, rate_rps)
    return None


def curve_ends(study: Mapping[str, Any], points: Iterable[PointRecord]) -> dict[int, PointRecord]:
    """Return by trial the point at which its curve ended; nothing of trials without such a point."""
    share = until_drop(study)
    if share is None:
        return {}
    by_trial: dict[int, list[PointRecord]] = {}
    for record in points:
        by_trial.setdefault(record.trial, []).append(record)
    ends = {trial: marked_drop(measured, share) for trial, measured in by_trial.items()}
    return {trial: end for trial, end in ends.items() if end is not None}
