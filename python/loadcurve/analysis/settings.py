"""Figures against what was varied: one setting, or two of them, and which of their values is the best.

A setting is one of servers or of their loads, whose values are arms, or a key of the sweep. Where arms have
a curve each, throughput is the greatest along it, and latency is that at the highest load at which all have
one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.analysis.sweep import slices
from loadcurve.loads.models import keys_of
from loadcurve.loads.values import Point
from loadcurve.result.measures import Measure, point_key
from loadcurve.stats.interval import Estimate

Value = str | bool | int | float
MOST_VALUES: Final = 30
"""Of a setting: more are no choice that anybody reads from a figure."""
DIMENSIONS_MAX: Final = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """The figure of one combination of values."""

    values: tuple[Value, ...]
    """Of each key, in their order."""
    estimate: Estimate
    point: Point
    """Where along the sweep it was measured."""
    server: str

    def may_equal(self, other: "Cell") -> bool | None:
        """Whether the intervals of both overlap; ``None`` where one has none."""
        one, two = self.estimate, other.estimate
        if one.low is None or one.high is None or two.low is None or two.high is None:
            return None
        return one.low <= two.high and two.low <= one.high


@dataclass(frozen=True, slots=True)
class Surface:
    """A measure by the values of one key or two."""

    title: str
    """The server, by its entry in the catalogue or its name."""
    keys: tuple[str, ...]
    measure: Measure
    is_peak: bool
    """Whether each cell is the best point along a sweep; else all are at one point, but for their keys."""
    cells: list[Cell]

    def values(self, place: int) -> list[Value]:
        """Return the values of a key, numbers rising and others in the order of the study."""
        found = list(dict.fromkeys(cell.values[place] for cell in self.cells))
        return sorted(found) if all(is_number(value) for value in found) else found

    @property
    def best(self) -> Cell:
        """The cell with the best estimate."""
        choose = max if self.measure.better == "higher" else min
        return choose(self.cells, key=lambda cell: cell.estimate.value)

    @property
    def undecided(self) -> list[Cell]:
        """The other cells whose intervals overlap that of the best one."""
        return [cell for cell in self.cells if cell is not self.best and cell.may_equal(self.best)]


def is_number(value: Value) -> TypeGuard[int | float]:
    """Say whether a value is a number: a boolean is a choice."""
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class _Arms:
    """The arms of one server, which differ in the values of a few keys."""

    title: str
    keys: tuple[str, ...]
    values: dict[str, tuple[Value, ...]]
    """By arm."""


def surfaces(
    found: Sequence[Curve],
    points: Sequence[Point],
    varied: Mapping[str, Mapping[str, Value]],
    titles: Mapping[str, str],
    by: Sequence[Measure],
) -> list[Surface]:
    """Return what can be drawn against settings.

    ``varied`` has the settings of each arm, and ``titles`` the server that it is of; ``by`` are measures
    that have a better direction.
    """
    groups = _groups(varied, titles)
    drawn = [one for arms in groups for measure in by if (one := _of_arms(arms, found, measure)) is not None]
    keys = _keys_of_sweep(points)
    if len(keys) == DIMENSIONS_MAX:
        drawn += [
            one for curve in found for measure in by if (one := _of_sweep(curve, keys, measure)) is not None
        ]
    return drawn


def settings_of(
    facts: Mapping[str, Any], load: Mapping[str, Any], common: Mapping[str, Any], model: str | None
) -> dict[str, Value]:
    """Return the settings of an arm that have one value each: its server's, and its load's by their keys.

    ``load`` has the options in which it differs from the ``common`` load.
    """
    keys = keys_of(model)
    of_load = {keys.get(name, name): value for name, value in {**common, **load}.items()}
    both = {**of_load, **(facts.get("settings") or {})}
    return {key: value for key, value in both.items() if isinstance(value, str | bool | int | float)}


def _groups(varied: Mapping[str, Mapping[str, Value]], titles: Mapping[str, str]) -> list[_Arms]:
    by_title: dict[str, list[str]] = {}
    for arm in varied:
        by_title.setdefault(titles[arm], []).append(arm)
    return [
        group
        for title, arms in by_title.items()
        if (group := _group(title, {arm: varied[arm] for arm in arms})) is not None
    ]


def _group(title: str, arms: Mapping[str, Mapping[str, Value]]) -> _Arms | None:
    """Return the keys by which arms can be told apart; ``None`` where they are none, or more than two."""
    keys = dict.fromkeys(key for settings in arms.values() for key in settings)
    differing = [key for key in keys if len({str(settings.get(key)) for settings in arms.values()}) > 1]
    # Other settings may follow from one that was swept, whose value is in the names of arms.
    named = [key for key in differing if all(f"-{key}-" in arm for arm in arms)]
    chosen = tuple(named or differing)
    if not 0 < len(chosen) <= DIMENSIONS_MAX or not all(
        key in one for one in arms.values() for key in chosen
    ):
        return None
    values = {arm: tuple(settings[key] for key in chosen) for arm, settings in arms.items()}
    counts = [len({one[place] for one in values.values()}) for place in range(len(chosen))]
    is_clear = len(set(values.values())) == len(values)
    return _Arms(title, chosen, values) if is_clear and max(counts) <= MOST_VALUES else None


def _of_arms(arms: _Arms, found: Sequence[Curve], measure: Measure) -> Surface | None:
    curves = [curve for curve in found if curve.server in arms.values]
    is_peak = measure.better == "higher"
    at = None if is_peak else _highest_common(curves, measure)
    cells = []
    for curve in curves:
        known = [
            (estimate, one)
            for one in curve.points
            if (estimate := one.estimate(measure)) is not None and (is_peak or one.point == at)
        ]
        if known:
            estimate, one = max(known, key=lambda pair: pair[0].value)
            cells.append(Cell(arms.values[curve.server], estimate, one.point, curve.server))
    lengths = {len(curve.points) for curve in curves}
    several = is_peak and max(lengths, default=0) > 1
    return _surface(arms.title, arms.keys, measure, cells, is_peak=several)


def _highest_common(curves: Sequence[Curve], measure: Measure) -> Point | None:
    """Return the last point of the sweep at which all curves have a figure."""

    def known(curve: Curve) -> dict[object, CurvePoint]:
        return {point_key(one.point): one for one in curve.points if one.estimate(measure) is not None}

    of_curves = [known(curve) for curve in curves]
    common = [
        one for key, one in (of_curves[0] if of_curves else {}).items() if all(key in of for of in of_curves)
    ]
    return max((one.point for one in common), key=lambda point: [*point.values()], default=None)


def _keys_of_sweep(points: Sequence[Point]) -> tuple[str, ...]:
    """Return the keys of the sweep that have several values, that with the most of them first."""
    keys = list(dict.fromkeys(key for point in points for key in point))
    varying = [key for key in keys if len({point.get(key) for point in points}) > 1]
    if len(varying) != DIMENSIONS_MAX or not all(key in point for point in points for key in varying):
        return ()
    axis = slices(list(points))[0].key
    return tuple(sorted(varying, key=lambda key: key != axis))


def _of_sweep(curve: Curve, keys: tuple[str, ...], measure: Measure) -> Surface | None:
    cells = [
        Cell(tuple(one.point[key] for key in keys), estimate, one.point, curve.server)
        for one in curve.points
        if (estimate := one.estimate(measure)) is not None
    ]
    return _surface(curve.server, keys, measure, cells, is_peak=False)


def _surface(
    title: str, keys: tuple[str, ...], measure: Measure, cells: list[Cell], *, is_peak: bool
) -> Surface | None:
    """Return a surface; ``None`` where a key has one value alone, and there is nothing to choose."""
    for place in range(len(keys)):
        if len({cell.values[place] for cell in cells}) < 2:  # noqa: PLR2004 -- a choice
            return None
    return Surface(title, keys, measure, is_peak, cells)
