"""Records of a run that was interrupted and resumed: which are used, and where the gaps are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcurve.result.records import FailureRecord, PointRecord, ResumedRecord, TrialLine
from loadcurve.result.trial_lines import DamagedLine
from loadcurve.result.verdict import Caveat


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
