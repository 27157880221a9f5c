"""From what was seen in single records to findings: neighbouring points and all trials become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from loadcurve.explain.finding import Certainty, Evidence, Finding, FindingCode, Weight
from loadcurve.explain.subject import Subject, points_at
from loadcurve.result.records import PointRecord

GAP_MAX = 1
"""How many points without a sighting may lie within one finding: at its edge a cause comes and goes."""

Detail = TypeVar("Detail")


@dataclass(frozen=True, slots=True)
class Sighting(Generic[Detail]):
    """What was seen in one point of one trial."""

    record: PointRecord
    detail: Detail


@dataclass(frozen=True, slots=True)
class Told:
    """What a finding says, apart from where it was seen."""

    weight: Weight
    certainty: Certainty
    seen: str
    evidence: list[Evidence]
    cause: str
    advice: str


def merged(
    code: FindingCode,
    subject: Subject,
    sightings: Sequence[Sighting[Detail]],
    tell: Callable[[Subject, Sequence[Sighting[Detail]]], Told],
) -> list[Finding]:
    """Return a finding for each stretch of neighbouring points, over all trials that saw it there."""
    return [
        finding(code, subject, [sighting.record for sighting in stretch], tell(subject, stretch))
        for stretch in _stretches(subject, sightings)
    ]


def finding(code: FindingCode, subject: Subject, records: Sequence[PointRecord], told: Told) -> Finding:
    """Return the finding that was told about some records."""
    places = {subject.place(record) for record in records}
    return Finding(
        code=code.code,
        weight=told.weight,
        certainty=told.certainty,
        server=subject.name,
        points=points_at(subject, places),
        trials=sorted({record.trial for record in records}),
        trials_measured=len({other.trial for other in subject.records if subject.place(other) in places}),
        seen=told.seen,
        evidence=told.evidence,
        cause=told.cause,
        advice=told.advice,
    )


def _stretches(subject: Subject, sightings: Sequence[Sighting[Detail]]) -> list[list[Sighting[Detail]]]:
    stretches: list[list[Sighting[Detail]]] = []
    last = -1
    for sighting in sorted(sightings, key=lambda one: (subject.place(one.record), one.record.trial)):
        place = subject.place(sighting.record)
        if not stretches or place - last > GAP_MAX + 1:
            stretches.append([])
        stretches[-1].append(sighting)
        last = place
    return stretches
