"""When a run has enough trials: a fixed number, or as many as make every interval narrow.

Every decision follows from the records alone, so a stored run shows by itself why it ended.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loadcurve.stats.interval import estimate_over_trials

Point = dict[str, float]

LEAST_ADAPTIVE_TRIALS = 8
"""An interval at which one stops because it is narrow covers the truth less often than it says.

From this number of trials on it does so in at least 93 % of the studies (docs/methodology/statistics.md).
"""


@dataclass(frozen=True, slots=True)
class UntilNarrow:
    """Trials are repeated until no interval reaches farther than this share from its value."""

    share: float
    least: int
    most: int
    measure: str
    """Its name."""


@dataclass(frozen=True, slots=True)
class WidePoint:
    """A server at a point whose interval is wider than wanted."""

    server: str
    point: Point
    half_width: float | None
    """How far the farther end of the interval lies from the value, as a share of it; ``None`` without one."""

    @property
    def width_order(self) -> float:
        """Its place among others: no interval at all is the widest."""
        return float("inf") if self.half_width is None else self.half_width


@dataclass(frozen=True, slots=True)
class Figure:
    """The rule's measure at one usable point of one trial; ``None`` where it was not measured."""

    server: str
    point: Point
    value: float | None


def wide_points(figures: Iterable[Figure], rule: UntilNarrow) -> list[WidePoint]:
    """Return the servers and points whose interval is wider than the rule wants, the widest first.

    A point that no trial could measure is not waited for: more of the same would not make it narrow. One that
    a single trial has measured has no interval yet, and is.
    """
    by_place: dict[tuple[str, frozenset[tuple[str, float]]], list[Figure]] = {}
    for figure in figures:
        by_place.setdefault((figure.server, frozenset(figure.point.items())), []).append(figure)
    wide = []
    for place in by_place.values():
        estimate = estimate_over_trials(figure.value for figure in place)
        if estimate is None:
            continue
        half_width = estimate.relative_half_width
        if half_width is None or half_width > rule.share:
            wide.append(WidePoint(place[0].server, place[0].point, half_width))
    return sorted(wide, key=lambda one: one.width_order, reverse=True)


def may_end(blocks: int, wide: Sequence[WidePoint], rule: UntilNarrow) -> bool:
    """Say whether a run may end after this many whole blocks: from ``rule.least`` on, if nothing is wide."""
    return blocks >= rule.least and not wide
