"""How far the figures of a comparison can be trusted, by the verdicts of their trials."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from loadcurve.analysis.missing import Side
from loadcurve.loads.values import Point


@dataclass(frozen=True, slots=True)
class Trust:
    """The verdicts of one side's points, each of each trial."""

    called: str
    """The side: a run, or a server of one."""
    measured: int
    suspect: int
    """They are in the ratios."""
    invalid: int
    """They are in no ratio."""


def trust_of(sides: Iterable[Side], points: Sequence[Point]) -> tuple[Trust, ...]:
    """Return the verdicts of each side at these points, of sides that have any but valid ones."""
    verdicts: dict[str, Counter[str]] = {}
    for side in sides:
        verdicts.setdefault(side.called, Counter()).update(_verdicts(side, points))
    return tuple(
        Trust(called, count.total(), count["suspect"], count["invalid"])
        for called, count in verdicts.items()
        if count["suspect"] or count["invalid"]
    )


def _verdicts(side: Side, points: Sequence[Point]) -> Iterator[str]:
    for point in points:
        at = side.at(point)
        if at is not None:
            yield from at.verdicts
