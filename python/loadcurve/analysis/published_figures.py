"""The figures of a published run: in SI units, and each estimate that of the trials as the file has them.

Of two trials that are nearly alike, rounding changes the spread, and with it how far their interval borrows
from those of other servers. So trials have more digits than what is made of them, and the estimates are made
of the trials as they are rounded: whoever computes them from the file finds the same.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from loadcurve import units
from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.result.measures import Measure, PointKey, point_key
from loadcurve.result.publication import (
    LINE_CHARACTERS_MAX,
    PublishedFigure,
    PublishedMeasure,
    PublishedPoint,
)
from loadcurve.stats.interval import Estimate
from loadcurve.stats.servers import estimates_of_servers
from loadcurve.units import BYTES_PER_MIB

DIGITS_OF_TRIALS: Final = 9
DIGITS_OF_ESTIMATES: Final = 6


@dataclass(frozen=True, slots=True)
class SiUnit:
    """How figures of a unit are published: under which name, by which factor, and in which unit."""

    ending: str
    published: str
    factor: float
    unit: Literal["s", "bytes", "1/s", ""]


_UNITS: Final[Mapping[str, SiUnit]] = {
    "ms": SiUnit("_ms", "_s", 1e-3, "s"),
    "µs": SiUnit("_us", "_s", 1e-6, "s"),
    "MiB": SiUnit("_mib", "_bytes", BYTES_PER_MIB, "bytes"),
    "CPUs": SiUnit("_share", "_cpus", 1.0, ""),
}
_PER_SECOND: Final = SiUnit("", "", 1.0, "1/s")
"""Rates are published as they are, whatever is counted."""


def si_of(measure: Measure) -> SiUnit:
    """Return how the figures of a measure are published."""
    return _UNITS.get(measure.unit, _PER_SECOND)


def si_name(measure: Measure) -> str:
    """Return the name of a measure in SI units, such as ``latency_p99_s``."""
    si = si_of(measure)
    return measure.column.removesuffix(si.ending) + si.published


def published_measure(measure: Measure) -> PublishedMeasure:
    """Return a measure as it is published."""
    return PublishedMeasure(
        name=si_name(measure), title=measure.title, unit=si_of(measure).unit, better=measure.better
    )


Late = Collection[tuple[str, PointKey, int]]
"""Servers at points in blocks in which the generator was late."""


def published_points(
    curves: Sequence[Curve], published: Sequence[Measure], late: Late = ()
) -> list[PublishedPoint]:
    """Return the points of a run that have trials, server by server."""
    points = [
        _of_trials(curve.server, at, published, late) for curve in curves for at in curve.points if at.trials
    ]
    figures: list[dict[str, PublishedFigure]] = [{} for _ in points]
    for place, name, estimate in estimates_of_trials(points):
        figures[place][name] = _figure(points[place].figures[name].values, estimate)
    return [
        # In the order of the measures.
        at.model_copy(update={"figures": {name: found[name] for name in at.figures}})
        for at, found in zip(points, figures, strict=True)
    ]


def estimates_of_trials(points: Sequence[PublishedPoint]) -> Iterator[tuple[int, str, Estimate | None]]:
    """Yield what the trials of each figure give: the place of its point, its name and the estimate."""
    by_point: dict[PointKey, list[int]] = {}
    for place, one in enumerate(points):
        by_point.setdefault(point_key(one.point), []).append(place)
    for places in by_point.values():
        for name in dict.fromkeys(name for place in places for name in points[place].figures):
            having = [place for place in places if name in points[place].figures]
            # Two trials borrow the spread of the other servers at their point.
            found = estimates_of_servers([_usable(points[place], name) for place in having])
            for place, estimate in zip(having, found, strict=True):
                yield place, name, estimate


def cut(text: str) -> str:
    """Return a sentence of the run within the length that a published one has."""
    return units.cut(text, LINE_CHARACTERS_MAX)


def _usable(at: PublishedPoint, name: str) -> list[float]:
    """Return the values of the trials that enter a mean."""
    return [
        value
        for value, verdict in zip(at.figures[name].values, at.verdicts, strict=True)
        if value is not None and verdict != "invalid"
    ]


def _of_trials(server: str, at: CurvePoint, published: Collection[Measure], late: Late) -> PublishedPoint:
    """Return a point with the values of its trials and without estimates."""
    values = {
        si_name(one): [_of_trial(value, one) for value in at.values(one)]
        for one in published
        if at.estimate(one) or any(at.values(one))
    }
    return PublishedPoint(
        server=server,
        point=at.point,
        blocks=at.blocks,
        verdicts=at.verdicts,
        reason=at.invalid_because and cut(at.invalid_because),
        figures={name: _figure(of_trials, None) for name, of_trials in values.items()},
        late_blocks=[block for block in at.blocks if (server, point_key(at.point), block) in late],
    )


def _figure(values: list[float | None], estimate: Estimate | None) -> PublishedFigure:
    return PublishedFigure(
        values=values,
        value=None if estimate is None else _rounded(estimate.value, DIGITS_OF_ESTIMATES),
        low=None if estimate is None else _rounded(estimate.low, DIGITS_OF_ESTIMATES),
        high=None if estimate is None else _rounded(estimate.high, DIGITS_OF_ESTIMATES),
        n=0 if estimate is None else estimate.n,
    )


def _of_trial(value: float | None, measure: Measure) -> float | None:
    return None if value is None else _rounded(value * si_of(measure).factor, DIGITS_OF_TRIALS)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
