"""Figures that a comparison has no ratio of, and why: a list of tests must not pass over them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change
from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.analysis.unusable import why_unusable
from loadcurve.loads.values import Point
from loadcurve.result.distribution import PERCENTILES, samples_needed
from loadcurve.result.measures import Measure, PointKey, point_key


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a server in an analysis, and what it is called."""

    called: str
    analysis: Analysis
    server: str

    @property
    def curve(self) -> Curve | None:
        """Its curve; ``None`` where it was not found."""
        return next((one for one in self.analysis.curves if one.server == self.server), None)

    def at(self, point: Point) -> CurvePoint | None:
        """Its figures at a point of its curve."""
        return (
            None if self.curve is None else next((at for at in self.curve.points if at.point == point), None)
        )

    def has(self, measure: Measure, point: Point) -> bool:
        """Say whether any of its usable trials has the figure."""
        at = self.at(point)
        return at is not None and at.estimate(measure) is not None


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """A measure of a server at a point, or over the whole curve, of which there is no ratio."""

    server: str
    measure: Measure
    point: Point | None
    """``None`` for the whole curve."""
    is_lost: bool
    """Whether the base has the figure and the head has not."""
    reason: str


def missing_figures(
    sides: Sequence[tuple[Side, Side]],
    compared: Sequence[Measure],
    points: Sequence[Point],
    changes: Sequence[Change],
) -> Iterator[MissingFigure]:
    """Yield what has no change: each server's measures over the curve, and at each point of several.

    ``sides`` are the base and the head of each server.
    """
    known = {(one.server, one.measure.name, _key(one.point)) for one in changes}
    places: list[Point | None] = [None, *(points if len(points) > 1 else ())]
    for base, head in sides:
        for measure in compared:
            for place in places:
                if (head.server, measure.name, _key(place)) not in known:
                    yield missing_figure(base, head, measure, place, points)


def _key(point: Point | None) -> PointKey | None:
    return None if point is None else point_key(point)


def missing_figure(
    base: Side, head: Side, measure: Measure, place: Point | None, points: Sequence[Point]
) -> MissingFigure:
    """Return why there is no ratio of a measure at a point, or over the whole curve: of all ``points``."""
    where = points if place is None else [place]
    sides_have = [any(side.has(measure, point) for point in where) for side in (base, head)]
    match sides_have:
        case [True, True]:
            is_at_points = any(all(side.has(measure, point) for side in (base, head)) for point in where)
            reason = _no_pair(place) if is_at_points else "no point has the figure on both sides"
        case [False, _]:
            reason = _why(base, measure, where)
        case _:
            reason = _why(head, measure, where)
    return MissingFigure(head.server, measure, place, sides_have == [True, False], reason)


def _no_pair(place: Point | None) -> str:
    if place is None:
        return "no point has a figure above zero in every trial that is compared"
    return "no trials on both sides have a figure above zero that could be compared"


def _why(side: Side, measure: Measure, where: Sequence[Point]) -> str:
    """Say why a side has no figure of a measure, by the first of the points."""
    for point in where:
        at = side.at(point)
        if at is not None and at.usable:
            return f"{side.called}: {_why_not_measured(at, measure)}"
    if not where:
        return "there is no point that both sides have"
    return f"{side.called} has no usable figure: {why_unusable(side.analysis, side.server, where[0])}"


def _why_not_measured(at: CurvePoint, measure: Measure) -> str:
    share = PERCENTILES.get(measure.name)
    if share is None or measure.operation is not None:
        return f"{measure.title} was not measured"
    needed = samples_needed(share)
    most = max(at.requests.due[place] for place in at.usable)
    if most >= needed:
        return (
            f"{measure.title} requires {needed:,} answers in a trial, and fewer came, or it was not measured"
        )
    return f"{measure.title} requires {needed:,} answers in a trial, and at most {most:,} were requested"
