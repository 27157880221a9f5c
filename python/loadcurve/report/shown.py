"""The figures beside a sentence on servers, so that it says no more than they leave possible."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.loads.values import Point
from loadcurve.result.measures import Measure
from loadcurve.stats.interval import Estimate

VISIBLE = 0.005
"""Figures with three digits that differ by less look the same."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The points that a sentence is about, by server: ``points[server][place]`` for each place of them."""

    measure: Measure
    points: dict[str, list[CurvePoint]]

    @staticmethod
    def of(analysis: Analysis, measure: Measure, points: Sequence[Point] | None = None) -> "Shown":
        """Return all points of the curves, or some."""
        return Shown(
            measure,
            {
                curve.server: [at for at in curve.points if points is None or at.point in points]
                for curve in analysis.curves
            },
        )

    def always_ahead_of(self, server: str) -> list[str]:
        """Return the servers whose figure is better wherever both have one.

        Ratios are of the blocks that two servers have in common, and figures of all blocks of one: with gaps
        they may differ in what they say.
        """
        return [other for other in self.points if other != server and self._is_ahead(other, server)]

    def _is_ahead(self, one: str, other: str) -> bool:
        both = [
            (first.value, second.value)
            for a, b in zip(self.points[one], self.points[other], strict=True)
            if (first := a.estimate(self.measure)) is not None
            and (second := b.estimate(self.measure)) is not None
        ]
        is_higher_better = self.measure.better == "higher"
        return bool(both) and all(
            first > second if is_higher_better else first < second for first, second in both
        )

    def in_common(self, first: Sequence[str], second: Sequence[str], ratio: Estimate | None) -> str:
        """Say that a ratio of two groups of servers is of their common blocks where the figures give another.

        At one point that is any other ratio; over a curve, which has no figure, one that says the opposite
        of every point.
        """
        both = "both" if len(first) == len(second) == 1 else "all of them"
        is_plain = _is_plain(list(self._ratios(first, second)), ratio)
        return "" if is_plain else f" in the blocks that {both} have"

    def in_whole_trials(self, server: str, ratio: Estimate | None) -> str:
        """Say that a ratio of the last point to the first is of the trials that have all points."""
        estimates = [at.estimate(self.measure) for at in self.points[server]]
        first, last = (one.value if (one := estimates[place]) is not None else None for place in (0, -1))
        shown = [last / first] if first and last else []
        return "" if _is_plain(shown, ratio) else " in the trials that have all of these points"

    def _ratios(self, first: Sequence[str], second: Sequence[str]) -> Iterator[float]:
        """Yield the ratio of the geometric means of two groups' figures at each point where all have one."""
        for place in range(max(map(len, self.points.values()), default=0)):
            means = []
            for group in (first, second):
                estimates = [self.points[server][place].estimate(self.measure) for server in group]
                values = [one.value for one in estimates if one is not None and one.value > 0]
                means.append(geometric_mean(values) if len(values) == len(group) else None)
            if means[0] is not None and means[1] is not None:
                yield means[0] / means[1]


def _is_plain(shown: Sequence[float], ratio: Estimate | None) -> bool:
    """Say whether a ratio is what the figures give, or at least does not say the opposite."""
    if ratio is None or not shown:
        return True
    if len(shown) == 1:
        return abs(shown[0] / ratio.value - 1) <= VISIBLE
    return any((one >= 1) == (ratio.value >= 1) for one in shown)
