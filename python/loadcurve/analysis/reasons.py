"""Reasons of verdicts, those of one kind together, and the most frequent one where no point can be used."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadcurve.analysis.curves import VerdictStatus
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import point_key
from loadcurve.result.outcomes import Reason
from loadcurve.result.records import PointRecord

Said = tuple[PointRecord, VerdictStatus | None, Reason]
"""A reason or a note of a record, with the verdict that rests on it; ``None`` of a note."""
Kind = tuple[str, VerdictStatus | None, str]
"""The server, the verdict and the code of reasons."""


@dataclass(frozen=True, slots=True)
class MainReason:
    """The most frequent reason that points of one server are invalid."""

    server: str
    code: str
    points: list[Point]
    """Along the sweep; a point of several trials is there once for each."""
    example: str
    """The reason of the last of them, at the highest load, where most things are worst."""


def grouped_reasons(run: Run, said: Iterable[Said]) -> dict[Kind, list[tuple[PointRecord, str]]]:
    """Return the records of reasons of each kind along the sweep, with the reason as each of them has it."""
    places = run.places()
    groups: dict[Kind, list[tuple[PointRecord, str]]] = {}
    for record, status, reason in said:
        groups.setdefault((record.server, status, reason.code), []).append((record, reason.text))
    for found in groups.values():
        found.sort(key=lambda pair: places.get(point_key(pair[0].point), 0))
    return groups


def verdict_reasons(run: Run) -> dict[Kind, list[tuple[PointRecord, str]]]:
    """Return the reasons of all verdicts by their kinds."""
    return grouped_reasons(
        run,
        (
            (record, record.load.verdict.status, reason)
            for record in run.points
            for reason in record.load.verdict.reasons
        ),
    )


def main_reason(run: Run) -> MainReason | None:
    """Return the most frequent reason where all points are invalid; ``None`` where one can be used."""
    if any(record.load.verdict.status != "invalid" for record in run.points):
        return None
    groups = verdict_reasons(run)
    if not groups:
        return None
    (server, _, code), found = max(groups.items(), key=lambda group: len(group[1]))
    return MainReason(server, code, [record.point for record, _ in found], found[-1][1])
