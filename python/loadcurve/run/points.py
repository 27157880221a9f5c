"""Which points a trial goes through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadcurve.load.values import Point
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord


class PointChooser(Protocol):
    """Decides where a trial goes next, from what was measured."""

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:
        """Return the point after that of ``last``, the trial's latest record, or ``None`` at its end.

        ``last`` is ``None`` before the trial's first point. It is asked once after each record, but not after
        a failure that ends the trial.
        """


@dataclass(frozen=True)
class SweptPoints:
    """Every point of the sweep, in the same order in every trial."""

    points: Sequence[Point]

    def next_point(self, trial: PlannedTrial, last: PointRecord | FailureRecord | None) -> Point | None:  # noqa: ARG002
        """Return the point after ``last`` in the order of the sweep."""
        place = 0 if last is None or last.point is None else self.points.index(last.point) + 1
        return self.points[place] if place < len(self.points) else None
