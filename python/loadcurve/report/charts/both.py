"""Throughput and latency on one figure with two axes."""

from collections.abc import Mapping, Sequence

import altair

from loadcurve import units
from loadcurve.analysis.curves import Curve, points_in
from loadcurve.analysis.sweep import Slice
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import (
    FIGURE_HEIGHT,
    Datasets,
    Figure,
    Row,
    colour,
    compact,
    layered,
    shape,
    sweep_axis,
    tooltips,
)
from loadcurve.result.measures import MEASURES, THROUGHPUT
from loadcurve.stats.interval import Estimate


def throughput_latency_figure(
    shown: Slice,
    curves: Sequence[Curve],
    looks: Mapping[str, Appearance],
    load: LoadKind = WEB,
) -> Figure | None:
    """Draw throughput as full lines on the left axis and p99 as dashed lines on the right one.

    Where no p99 is bounded by its samples the median stands for it. ``None`` where nothing varies but the
    server, and where one of the two was not measured.
    """
    if shown.key is None:
        return None
    at = [(curve.server, point) for curve in curves for point in points_in(curve, shown.points)]
    has_p99 = any(point.estimate(MEASURES["p99"]) for _, point in at)
    statistic, title = ("p99", "99th percentile, ms") if has_p99 else ("p50", "median, ms")
    sides = [
        [
            row
            for server, point in at
            if (row := _row(server, point.point[shown.key], point.estimate(measure)))
        ]
        for measure in (THROUGHPUT, MEASURES[statistic])
    ]
    if not all(sides):
        return None
    axis = altair.Axis(title=load.per_second, orient="left", tickCount=6)
    datasets = Datasets()
    left = _side(datasets.named(sides[0]), shown, looks, axis, [1, 0])
    # Only the left axis has a grid: two of them would not fall on one another.
    axis = altair.Axis(title=title, orient="right", grid=False, tickCount=6)
    right = _side(datasets.named(sides[1]), shown, looks, axis, [5, 3])
    alternative = (
        f"Throughput and latency {statistic} by {text.axis_title(shown.key)}. Throughput has solid lines "
        "and the left axis, latency dashed lines and the right one; the two previous figures show the same "
        "values."
    )
    specification = layered([*left, *right], alternative, FIGURE_HEIGHT, [], datasets)
    marks = specification["layer"]
    specification["layer"] = [{"layer": marks[: len(left)]}, {"layer": marks[len(left) :]}]
    specification["resolve"] = {"scale": {"y": "independent"}}
    return Figure(specification, alternative)


def _row(server: str, load: float, estimate: Estimate | None) -> Row | None:
    if estimate is None:
        return None
    shown = {
        "x": load,
        "at": units.setting(load),
        "y": compact(estimate.value),
        "value": text.estimate(estimate),
    }
    return {"server": server, **shown}


def _side(
    rows: altair.NamedData,
    shown: Slice,
    looks: Mapping[str, Appearance],
    axis: altair.Axis,
    dashes: list[int],
) -> list[altair.Chart]:
    """Return the marks of one side, which share its axis."""
    base = altair.Chart(rows).encode(
        x=sweep_axis(shown, list(looks)),
        y=altair.Y("y:Q", axis=axis),
        color=colour(looks),
        tooltip=tooltips(server="server", at=text.axis_title(shown.key), value=axis["title"]),
    )
    points = base.mark_point(filled=True, size=40, opacity=1).encode(shape=shape(looks))
    return [base.mark_line(strokeWidth=2, strokeDash=dashes), points]
