"""Where the curves of trials ended, in a study that raises the load until throughput falls markedly.

What decides is in the records, so that the run which chooses the next point and everyone who reads its folder
find the same end.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from loadcurve.result.machine import is_disturbed
from loadcurve.result.measures import THROUGHPUT, is_usable
from loadcurve.result.records import PointRecord


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
