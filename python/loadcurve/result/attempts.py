"""The attempts at a point in one trial: where the machine was disturbed, the point is measured again.

Which attempt counts is decided by what disturbed the machine and by nothing that the server did: a choice by
the server's figures would be a selection, and their mean would be of the selected ones.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from loadcurve.loads.values import Point
from loadcurve.result.machine import disturbance, is_disturbed
from loadcurve.result.records import FailureRecord, PointRecord

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
