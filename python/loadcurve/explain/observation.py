"""From what was seen in single records to findings: neighbouring points and all trials become one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from loadcurve.explain.finding import Certainty, Evidence, Finding, FindingCode, Weight
from loadcurve.explain.subject import Subject, points_at
from loadcurve.result.records import PointRecord

GAP_MAX = 1
"""How many points without an observation may lie within one finding: at its edge a cause comes and goes."""

Detail = TypeVar("Detail")


@dataclass(frozen=True, slots=True)
class Observation(Generic[Detail]):
    """What was seen in one point of one trial."""

    record: PointRecord
    detail: Detail


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a finding says, apart from where it was seen."""

    weight: Weight
    certainty: Certainty
    seen: str
    evidence: list[Evidence]
    cause: str
    advice: str
    briefly: str | None = None
    """What stands out and its shown cause, for the answer; ``None`` where it is likely only."""


def invalid_points(seen: int, invalid: int) -> str:
    """Say how many of the measurements of a finding are invalid, with the verb: not all of them need be."""
    if invalid == seen:
        return "the measurement is" if seen == 1 else f"all {seen:,} measurements are"
    return f"{invalid:,} of {seen:,} measurements {'is' if invalid == 1 else 'are'}"


def observed(subject: Subject, look: Callable[[PointRecord], Detail | None]) -> list[Observation[Detail]]:
    """Return what was seen in the records of a server that show anything."""
    return [Observation(record, detail) for record in subject.records if (detail := look(record)) is not None]


def merged(
    code: FindingCode,
    subject: Subject,
    observations: Sequence[Observation[Detail]],
    explain: Callable[[Subject, Sequence[Observation[Detail]]], Explanation],
) -> list[Finding]:
    """Return a finding for each stretch of neighbouring points, over all trials that saw it there.

    Where no figure of it was measured there is no evidence, and so no finding: the verdict alone remains.
    """
    explained = ((stretch, explain(subject, stretch)) for stretch in _stretches(subject, observations))
    return [
        finding(code, subject, [observation.record for observation in stretch], explanation)
        for stretch, explanation in explained
        if explanation.evidence
    ]


def finding(
    code: FindingCode, subject: Subject, records: Sequence[PointRecord], explanation: Explanation
) -> Finding:
    """Return the finding that explains some records."""
    places = {subject.place(record) for record in records}
    return Finding(
        code=code.code,
        weight=explanation.weight,
        certainty=explanation.certainty,
        server=subject.name,
        points=points_at(subject, places),
        trials=sorted({record.trial for record in records}),
        trials_measured=len({other.trial for other in subject.records if subject.place(other) in places}),
        seen=explanation.seen,
        evidence=explanation.evidence,
        cause=explanation.cause,
        advice=explanation.advice,
        briefly=explanation.briefly,
    )


def _stretches(
    subject: Subject, observations: Sequence[Observation[Detail]]
) -> list[list[Observation[Detail]]]:
    stretches: list[list[Observation[Detail]]] = []
    last = -1
    for observation in sorted(observations, key=lambda one: (subject.place(one.record), one.record.trial)):
        place = subject.place(observation.record)
        if not stretches or place - last > GAP_MAX + 1:
            stretches.append([])
        stretches[-1].append(observation)
        last = place
    return stretches


class Rule:
    """One kind of oddity: how it is looked for in a server's records, and what it may be called."""

    def __init__(self, place: int, find: Callable[[Subject], list[Finding]], *codes: FindingCode) -> None:
        """Take a place among all rules: of findings that are equal otherwise, the lower comes first."""
        self.place, self.find, self.codes = place, find, codes

    @classmethod
    def of_records(
        cls,
        place: int,
        code: FindingCode,
        look: Callable[[PointRecord], Detail | None],
        explain: Callable[[Subject, Sequence[Observation[Detail]]], Explanation],
    ) -> "Rule":
        """Return a rule for what each record shows by itself."""
        return cls(place, lambda subject: merged(code, subject, observed(subject, look), explain), code)
