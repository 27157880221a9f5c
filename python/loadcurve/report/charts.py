"""The figures as Vega-Lite specifications.

Colours of paper, ink and grid are left to the page, which knows whether it is light or dark; a specification
holds only the colours of the servers. Field names are fixed, so that no name of a server is ever read as an
expression.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair

from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.distribution import Quantile
from loadcurve.result.records import Point, PointRecord
from loadcurve.stats.curves import (
    Curve,
    CurvePoint,
    LatencyStatistic,
    ResourceStatistic,
    point_key,
    resource,
)
from loadcurve.stats.interval import Estimate
from loadcurve.stats.sweep import Slice

Specification = dict[str, Any]
Row = dict[str, Any]

RESOURCE_TITLES: dict[ResourceStatistic, str] = {
    "cpu_share": "CPUs in use",
    "cpu_per_request_us": "CPU per request, µs",
    "memory_mean_mib": "resident memory, MiB",
}

MOST_LABELLED_VALUES = 12
"""An axis labels each swept value up to this many; beyond, it chooses its own ticks."""

LONG_SPAN = 10_000
"""A logarithmic axis that spans more than this factor has ticks at its decades only."""
SHORT_SPAN = 10
"""A logarithmic axis that spans less than this factor has more ticks than at 1, 2 and 5."""

FIGURE_HEIGHT = 340
SMALL_FIGURE_HEIGHT = 210
TAIL_TICKS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)


@dataclass(frozen=True, slots=True)
class Measure:
    """What runs along the vertical axis: over the trials of a point, and in one of them."""

    title: str
    from_zero: bool
    """The axis is linear and begins at zero; that of other measures is logarithmic."""
    estimate: Callable[[CurvePoint], Estimate | None]
    value: Callable[[PointRecord], float | None]


@dataclass(frozen=True, slots=True)
class Figure:
    """A specification with the text that stands for it where it cannot be seen."""

    specification: Specification
    alternative: str


def throughput_figure(
    shown: Slice, curves: Sequence[Curve], looks: Mapping[str, Appearance]
) -> Figure | None:
    """Draw throughput against the sweep, from zero; ``None`` where nothing was measured."""
    measure = Measure(
        title="requests/s",
        from_zero=True,
        estimate=lambda at: at.throughput_rps,
        value=lambda trial: trial.load.rate_rps.answered,
    )
    return _curve_figure(measure, shown, curves, looks, FIGURE_HEIGHT)


def latency_figure(
    statistic: LatencyStatistic, shown: Slice, curves: Sequence[Curve], looks: Mapping[str, Appearance]
) -> Figure | None:
    """Draw one statistic of latency against the sweep; ``None`` where nothing was measured."""
    measure = Measure(
        title=f"latency {statistic}, ms",
        from_zero=False,
        estimate=lambda at: at.latency_ms[statistic],
        value=lambda trial: getattr(trial.load.latency_ms, statistic),
    )
    return _curve_figure(measure, shown, curves, looks, SMALL_FIGURE_HEIGHT)


def resource_figure(
    statistic: ResourceStatistic, shown: Slice, curves: Sequence[Curve], looks: Mapping[str, Appearance]
) -> Figure | None:
    """Draw what the server used against the sweep, from zero; ``None`` where nothing was measured."""
    measure = Measure(
        title=RESOURCE_TITLES[statistic],
        from_zero=True,
        estimate=lambda at: at.resources[statistic],
        value=lambda trial: resource(trial, statistic),
    )
    return _curve_figure(measure, shown, curves, looks, SMALL_FIGURE_HEIGHT)


def distribution_figure(
    distributions: Sequence[Mapping[str, list[Quantile]]], chosen: int, looks: Mapping[str, Appearance]
) -> Figure | None:
    """Draw latency by percentile for every server at the point that the signal ``point`` chooses.

    ``distributions`` holds the quantiles by server for each place in the list of points. The axis is that of
    HdrHistogram's plots: each decade is one more nine.
    """
    rows: list[Row] = [
        {
            "place": place,
            "server": server,
            "x": _compact(quantile.inverse_tail),
            "percentile": f"{quantile.percentile:.7g} %",
            "y": _compact(quantile.latency_ms),
            "value": f"{text.number(quantile.latency_ms)} ms",
            "last": quantile is quantiles[-1],
        }
        for place, by_server in enumerate(distributions)
        for server, quantiles in by_server.items()
        for quantile in quantiles
        if quantile.latency_ms > 0
    ]
    if not rows:
        return None
    point = altair.param(name="point", value=chosen)
    smallest_tail = max(row["x"] for row in rows)
    base = (
        altair.Chart(altair.InlineData(values=rows))
        .encode(
            x=altair.X(
                "x:Q",
                title="percentile",
                scale=altair.Scale(type="log", nice=False, padding=8),
                axis=altair.Axis(
                    values=[tick for tick in TAIL_TICKS if tick <= smallest_tail],
                    labelExpr="format(100 - 100 / datum.value, '.8~g') + ' %'",
                    labelOverlap="greedy",
                    labelSeparation=8,
                ),
            ),
            y=_latency_axis("y", _extent(row["y"] for row in rows)),
            color=_colour(looks),
            tooltip=_tooltips(server="server", percentile="percentile", value="latency"),
        )
        .transform_filter("datum.place === point")
    )
    marks = [
        base.mark_line(strokeWidth=2),
        base.transform_filter("datum.last")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(shape=_shape(looks)),
        # A wide invisible line makes the thin one easy to point at.
        base.mark_line(strokeWidth=14, opacity=0),
    ]
    alternative = (
        "Latency by percentile, in ms. One line for each server at the chosen point; "
        "the table below has the values."
    )
    return Figure(_specification(marks, alternative, FIGURE_HEIGHT, [point]), alternative)


def _curve_figure(
    measure: Measure, shown: Slice, curves: Sequence[Curve], looks: Mapping[str, Appearance], height: int
) -> Figure | None:
    wanted = {point_key(point) for point in shown.points}
    at = [
        (curve.server, point)
        for curve in curves
        for point in curve.points
        if point_key(point.point) in wanted
    ]
    means = [_mean_row(server, point, measure, shown) for server, point in at]
    trials = [row for server, point in at for row in _trial_rows(server, point, measure, shown)]
    if not trials:
        return None
    if not measure.from_zero:
        _keep_above_zero(means, trials)
    alternative = f"{measure.title} by {text.axis_title(shown.key)}. {_alternative(measure, shown, at)}"
    marks = _marks(measure, shown, looks, means, trials)
    return Figure(_specification(marks, alternative, height, []), alternative)


def _marks(
    measure: Measure, shown: Slice, looks: Mapping[str, Appearance], means: list[Row], trials: list[Row]
) -> list[altair.Chart]:
    extent = _extent(
        row[field] for row in (*means, *trials) for field in ("y", "low", "high") if row.get(field)
    )

    def base(rows: list[Row], field: str) -> altair.Chart:
        vertical = _axis_from_zero(field) if measure.from_zero else _latency_axis(field, extent)
        data = altair.InlineData(values=rows)
        return altair.Chart(data).encode(x=_sweep_axis(shown, list(looks)), y=vertical, color=_colour(looks))

    titles = {"server": "server", "at": text.axis_title(shown.key), "value": measure.title}
    of_means = base(means, "y").encode(tooltip=_tooltips(**titles, n="trials"))

    def of_trials(rows: list[Row]) -> altair.Chart:
        tooltips = _tooltips(**titles, trial="trial", verdict="verdict")
        return base(rows, "y").encode(shape=_shape(looks), tooltip=tooltips)

    bounded = [row for row in means if row["low"] is not None]
    usable = [row for row in trials if row["verdict"] != "invalid"]
    invalid = [row for row in trials if row["verdict"] == "invalid"]
    # A layer without rows would have no extent for its axes, so it is left out.
    marks = []
    if bounded:
        interval = base(bounded, "low").encode(y2="high:Q")
        marks.append(interval.mark_area(opacity=0.18) if shown.key else interval.mark_rule(strokeWidth=2))
    if usable:
        if shown.key:
            marks.append(of_means.mark_line(strokeWidth=2))
        marks.append(of_trials(usable).mark_point(filled=True, size=16, opacity=0.4))
        marks.append(of_means.mark_point(filled=True, size=60, opacity=1).encode(shape=_shape(looks)))
    if invalid:
        marks.append(of_trials(invalid).mark_point(filled=False, size=45, opacity=1))
    return marks


def _mean_row(server: str, at: CurvePoint, measure: Measure, shown: Slice) -> Row:
    estimate = measure.estimate(at)
    return {
        "server": server,
        **_place(server, at.point, shown),
        "y": _compact(estimate.value) if estimate else None,
        "low": _compact(estimate.low) if estimate else None,
        "high": _compact(estimate.high) if estimate else None,
        "value": text.estimate(estimate),
        "n": estimate.n if estimate else 0,
    }


def _trial_rows(server: str, at: CurvePoint, measure: Measure, shown: Slice) -> list[Row]:
    return [
        {
            "server": server,
            **_place(server, at.point, shown),
            "y": _compact(value),
            "value": text.number(value),
            "trial": trial.trial,
            "verdict": trial.load.verdict.status,
        }
        for trial in at.trials
        if (value := measure.value(trial)) is not None
    ]


def _place(server: str, point: Point, shown: Slice) -> Row:
    if shown.key is None:
        return {"x": server, "at": server}
    return {"x": point[shown.key], "at": text.setting(point[shown.key])}


def _keep_above_zero(means: list[Row], trials: list[Row]) -> None:
    """Cut a band that reaches to zero or below at half the least value: a logarithmic axis has no zero."""
    positive = [row["y"] for row in (*means, *trials) if row["y"] is not None and row["y"] > 0]
    floor = min(positive, default=1) / 2
    for row in means:
        if row["low"] is not None:
            row["low"] = max(row["low"], floor)
    for row in (*means, *trials):
        if row["y"] is not None and row["y"] <= 0:
            row["y"] = None


def _sweep_axis(shown: Slice, servers: list[str]) -> altair.X:
    if shown.key is None:
        return altair.X("x:N", title=None, sort=servers, axis=altair.Axis(labelAngle=0))
    if shown.logarithmic:
        scale = altair.Scale(type="log", nice=False, padding=12)
    else:
        scale = altair.Scale(type="linear", zero=False, nice=False, padding=12)
    few = len(shown.values) <= MOST_LABELLED_VALUES
    axis = altair.Axis(format=",", labelOverlap="greedy", values=shown.values if few else altair.Undefined)
    return altair.X("x:Q", title=text.axis_title(shown.key), scale=scale, axis=axis)


def _axis_from_zero(field: str) -> altair.Y:
    return altair.Y(f"{field}:Q", title=None, scale=altair.Scale(zero=True), axis=altair.Axis(tickCount=6))


def _latency_axis(field: str, extent: tuple[float, float]) -> altair.Y:
    low, high = extent
    scale = altair.Scale(type="log", nice=False, domain=[low * 0.9, high * 1.1])
    axis = altair.Axis(format=",~r", values=_log_ticks(low * 0.9, high * 1.1), labelOverlap="greedy")
    return altair.Y(f"{field}:Q", title=None, scale=scale, axis=axis)


def _extent(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the greatest of the values that a logarithmic axis can show."""
    positive = sorted(value for value in values if value > 0)
    return (positive[0], positive[-1]) if positive else (1, 1)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return ticks at 1, 2 and 5 of each decade, fewer in a long span and more in a short one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if high / low > LONG_SPAN:
        factors: tuple[float, ...] = (1,)
    elif high / low > SHORT_SPAN:
        factors = (1, 2, 5)
    else:
        factors = (1, 1.5, 2, 3, 4, 5, 6, 8)
    ticks = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def _colour(looks: Mapping[str, Appearance]) -> altair.Color:
    scale = altair.Scale(domain=list(looks), range=[look.colour for look in looks.values()])
    return altair.Color("server:N", scale=scale, legend=None)


def _shape(looks: Mapping[str, Appearance]) -> altair.Shape:
    scale = altair.Scale(domain=list(looks), range=[look.shape for look in looks.values()])
    return altair.Shape("server:N", scale=scale, legend=None)


def _tooltips(**titles: str) -> list[altair.Tooltip]:
    return [altair.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def _specification(
    marks: list[altair.Chart], description: str, height: int, parameters: list[altair.Parameter]
) -> Specification:
    chart = altair.layer(*marks).properties(
        width="container",
        height=height,
        description=description,
        autosize=altair.AutoSizeParams(type="fit-x", contains="padding"),
    )
    specification: Specification = chart.add_params(*parameters).to_dict()
    return specification


def _alternative(measure: Measure, shown: Slice, at: Sequence[tuple[str, CurvePoint]]) -> str:
    """Say in words where each server's curve begins, ends and is highest."""
    sentences = []
    for server in dict.fromkeys(name for name, _ in at):
        known = [
            (_place(server, point.point, shown)["at"], estimate)
            for name, point in at
            if name == server and (estimate := measure.estimate(point)) is not None
        ]
        if not known:
            sentences.append(f"{server}: no usable trial.")
        elif shown.key is None:
            sentences.append(f"{server}: {text.estimate(known[0][1])}.")
        else:
            first, last = known[0], known[-1]
            highest = max(known, key=lambda pair: pair[1].value)
            sentences.append(
                f"{server}: {text.number(first[1].value)} at {first[0]}, "
                f"{text.number(last[1].value)} at {last[0]}, "
                f"highest {text.number(highest[1].value)} at {highest[0]}."
            )
    return " ".join(sentences)


def _compact(value: float | None) -> float | None:
    """Round to six significant digits: more would only make the page heavier."""
    return None if value is None else float(f"{value:.6g}")
