"""The shapes of a server's curves on two machines, where their figures cannot be compared.

Another machine is faster or slower by a factor that nobody knows. So each trial's curve is divided by its own
geometric mean over the points, which removes any common factor and leaves how the curve rises and falls.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from loadcurve.analysis.change import Change
from loadcurve.analysis.curves import Curve, usable_logs
from loadcurve.loads.values import Point
from loadcurve.result.measures import Measure, point_key
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.paired import Array
from loadcurve.stats.peak import may_be_greatest
from loadcurve.stats.power import ERROR_RATE
from loadcurve.stats.ranking import holm_steps

ShapeOutcome = Literal["alike", "differs", "cannot_tell"]
LEAST_POINTS = 2
"""A single point has no shape."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """The points at which the figure of a server is greatest in two runs."""

    base: Point
    new: Point
    told_apart: bool
    """Whether no point can be the peak of both; of equal curves this is said in at most 5 %."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How the shape of a server's curve in a second run compares with that in the published one."""

    server: str
    outcome: ShapeOutcome
    points: tuple[Change, ...]
    """At each point, the second run's share of its own curve's mean over the published run's share."""
    peaks: Peaks | None
    """``None`` where less is better, and of single trials."""

    @property
    def farthest(self) -> Change:
        """The point at which the shapes differ most, of those where a difference is shown, or else of all."""
        shown = [one for one in self.points if one.shown]
        return max(shown or self.points, key=lambda one: abs(one.ratio.logarithm))


def shapes_between(
    base: Sequence[Curve], new: Sequence[Curve], measure: Measure, margin: float
) -> Iterator[Shape]:
    """Yield how the curves of each server in both runs compare in shape, at the points in both.

    Trials are independent samples. A point that any trial lacks is left out. Shapes are alike where each
    point's 95 % interval lies within a factor of ``1 + margin``; all of them together need no correction
    (Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982). They differ
    where a point lies outside of that factor and, after Holm's correction for the number of points, not by
    chance. Else the trials cannot tell.
    """
    of_base, of_new = (usable_logs(found, measure)[1] for found in (base, new))
    points = [[at.point for at in found[0].points] if found else [] for found in (base, new)]
    keys = [[point_key(point) for point in of_run] for of_run in points]
    in_both = [point for point, key in zip(points[0], keys[0], strict=True) if key in keys[1]]
    places = [[of_run.index(point_key(point)) for point in in_both] for of_run in keys]
    for server in of_base:
        if server in of_new:
            tables = of_base[server][:, places[0]], of_new[server][:, places[1]]
            found = _shape(server, measure, tables, in_both, margin)
            if found is not None:
                yield found


def _shape(
    server: str, measure: Measure, tables: tuple[Array, Array], points: Sequence[Point], margin: float
) -> Shape | None:
    trials = [table[np.isfinite(table).any(axis=1)] for table in tables]
    everywhere = np.isfinite(np.vstack(trials)).all(axis=0)
    if not all(map(len, trials)) or everywhere.sum() < LEAST_POINTS:
        return None
    base, new = (table[:, everywhere] for table in trials)
    kept = [points[int(place)] for place in np.flatnonzero(everywhere)]
    changes = _changes(server, measure, (base, new), kept)
    peaks = _peaks((base, new), kept) if measure.better == "higher" else None
    return Shape(server, _outcome(changes, margin), changes, peaks)


def _changes(
    server: str, measure: Measure, tables: tuple[Array, Array], points: Sequence[Point]
) -> tuple[Change, ...]:
    base, new = (table - table.mean(axis=1, keepdims=True) for table in tables)
    found = []
    for place, point in enumerate(points):
        values = float(np.exp(base[:, place].mean())), float(np.exp(new[:, place].mean()))
        ratio = IndependentRatio.of(np.exp(new[:, place]).tolist(), np.exp(base[:, place]).tolist())
        found.append(Change(server, measure, point, ratio, values=values))
    p_values = [p for one in found if (p := one.ratio.p_value) is not None]
    if len(p_values) < len(found):
        return tuple(found)
    steps = holm_steps(p_values, ERROR_RATE)
    return tuple(replace(one, step=step) for one, step in zip(found, steps, strict=True))


def _outcome(changes: Sequence[Change], margin: float) -> ShapeOutcome:
    bound = 1 + margin
    if any(one.shown and abs(one.ratio.logarithm) > math.log(bound) for one in changes):
        return "differs"
    intervals = [one.ratio.estimate for one in changes]
    is_within = all(
        one is not None
        and one.low is not None
        and one.high is not None
        and 1 / bound <= one.low
        and one.high <= bound
        for one in intervals
    )
    return "alike" if is_within else "cannot_tell"


def _peaks(tables: tuple[Array, Array], points: Sequence[Point]) -> Peaks | None:
    if any(len(table) == 1 for table in tables):
        return None
    # Each of two sets of points holds its peak in 97.5 %, so that both do in 95 % (Bonferroni's inequality).
    sets = [may_be_greatest(np.exp(table).tolist(), 1 - ERROR_RATE / 2) for table in tables]
    base, new = (points[int(table.mean(axis=0).argmax())] for table in tables)
    return Peaks(base, new, told_apart=not set(sets[0]) & set(sets[1]))
