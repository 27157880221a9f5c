"""How many errors each request of a load has on both sides of a comparison: counts, which have no ratio."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcurve.analysis.missing import Side
from loadcurve.loads.values import Point
from loadcurve.result.operations import errors_of


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """Requests that failed or were answered with another status than is expected, of one label."""

    errors: int
    trials: int
    """The usable points of trials that counted them."""


@dataclass(frozen=True, slots=True)
class OperationErrors:
    """The errors of one request of one server, over the points that both sides have."""

    server: str
    operation: str
    base: ErrorCount
    new: ErrorCount

    @property
    def differs(self) -> bool:
        """Whether the two sides have another number of them per trial."""
        return self.base.errors * self.new.trials != self.new.errors * self.base.trials


def errors_of_operations(
    sides: Sequence[tuple[Side, Side]], labels: Sequence[str], points: Sequence[Point]
) -> Iterator[OperationErrors]:
    """Yield the errors of each request; none of one that a side has not counted."""
    for base, new in sides:
        for label in labels:
            of_base, of_new = (_count(side, label, points) for side in (base, new))
            if of_base is not None and of_new is not None:
                yield OperationErrors(new.server, label, of_base, of_new)


def _count(side: Side, label: str, points: Sequence[Point]) -> ErrorCount | None:
    found = [at for point in points if (at := side.at(point)) is not None]
    values = [at.values(errors_of(label))[place] for at in found for place in at.usable]
    counted = [round(value) for value in values if value is not None]
    return ErrorCount(sum(counted), len(counted)) if counted else None
