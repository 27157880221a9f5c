"""Records of a run that was interrupted and resumed: which are used, and where the gaps are."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcurve.result.records import FailureRecord, PointRecord, ResumedRecord, TrialLine
from loadcurve.result.verdict import Caveat

_RESUMED = b'{"kind":"resumed"'
"""How the line begins that is written when a run is resumed."""


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


def lines_cut_off(lines: Sequence[bytes]) -> set[int]:
    """Return the places of the lines that a kill left unfinished and behind which the run was resumed."""
    return {
        place - 1
        for place, line in enumerate(lines)
        if place > 0 and line.startswith(_RESUMED) and not _is_json(lines[place - 1])
    }


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def used_records(lines: Iterable[TrialLine]) -> tuple[list[PointRecord | FailureRecord], tuple[Gap, ...]]:
    """Return the records that figures are computed from, in the order of writing, and the gaps of the run."""
    used: list[PointRecord | FailureRecord] = []
    gaps: list[Gap] = []
    last_started_at = None
    for line in lines:
        if isinstance(line, ResumedRecord):
            kept = [record for record in used if record.block < line.block]
            abandoned = len(used) - len(kept)
            gaps.append(Gap(line.block, last_started_at, line.started_at, abandoned, line.caveats))
            used = kept
        else:
            used.append(line)
        last_started_at = line.started_at
    return used, tuple(gaps)
