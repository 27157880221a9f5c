"""The distribution of latency: by percentile, and as density."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import altair

from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import (
    FIGURE_HEIGHT,
    Datasets,
    Figure,
    Row,
    axis_from_zero,
    colour,
    compact,
    extent,
    latency_axis,
    layered,
    log_ticks,
    shape,
)
from loadcurve.report.distribution import CLASS_RATIO, LatencyDistribution, Quantile
from loadcurve.units import whole_percent

TAIL_TICKS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)

ALL_POINTS = -1
"""The signal ``point`` shows the distributions of all points at once, where it has this value."""
OF_CHOSEN_POINT = f"point === {ALL_POINTS} || datum.place === point"

Distributions = Sequence[tuple[str, Mapping[str, LatencyDistribution]]]
"""For each place in the list of points its name, and the distributions by server."""


def distribution_figure(
    distributions: Distributions, chosen: int, looks: Mapping[str, Appearance]
) -> Figure | None:
    """Draw latency by percentile for every server at the point that the signal ``point`` chooses, or at all.

    The axis is that of HdrHistogram's plots: each decade is one more nine. What pauses of the machine alone
    would have made of the latencies is a dashed line.
    """
    rows = _rows(distributions, lambda found: found.quantiles)
    if not rows:
        return None
    pauses = _rows(distributions, lambda found: found.pauses)
    point = altair.param(name="point", value=chosen)
    datasets = Datasets()
    tails = extent(row["x"] for row in rows)
    heights = extent(row["y"] for row in (*rows, *pauses))
    line = partial(_percentile_line, tails=tails, heights=heights, looks=looks)
    base = line(datasets.named(rows), "latency, ms")
    marks = [
        base.mark_line(strokeWidth=2),
        base.transform_filter("datum.last")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(shape=shape(looks)),
        # A wide invisible line makes the thin one easy to point at.
        base.mark_line(strokeWidth=14, opacity=0),
    ]
    # A layer without rows would have no extent for its axes, so it is left out.
    if pauses:
        waits = line(datasets.named(pauses), "wait for pauses of this machine, ms")
        marks.append(waits.mark_line(strokeWidth=1.5, strokeDash=[4, 3]))
    alternative = (
        "Latency by percentile, in ms. One line for each server at the chosen point; the table below has the "
        "values."
        + (
            " Dashed lines are the latencies that pauses of this machine alone would have caused."
            if pauses
            else ""
        )
    )
    return Figure(layered(marks, alternative, FIGURE_HEIGHT, [point], datasets), alternative)


def _percentile_line(
    drawn: altair.NamedData,
    title: str,
    tails: tuple[float, float],
    heights: tuple[float, float],
    looks: Mapping[str, Appearance],
) -> altair.Chart:
    """Draw what lies at each percentile of a server at a point, without a mark."""
    return (
        altair.Chart(drawn)
        .encode(
            x=altair.X(
                "x:Q",
                title="percentile",
                # That of all points: at the chosen one there may have been no pauses, and so no extent.
                scale=altair.Scale(type="log", nice=False, padding=8, domain=tails),
                axis=altair.Axis(
                    values=[tick for tick in TAIL_TICKS if tick <= tails[1]],
                    labelExpr="format(100 - 100 / datum.value, '.8~g') + ' %'",
                    labelOverlap="greedy",
                    labelSeparation=8,
                ),
            ),
            y=latency_axis("y", heights),
            color=colour(looks),
            detail=altair.Detail("place:N"),
            tooltip=[
                altair.Tooltip("server:N", title="server"),
                altair.Tooltip("of:N", title="at"),
                altair.Tooltip("percentile:N", title="percentile"),
                altair.Tooltip("y:Q", title=title, format=",.3~r"),
            ],
        )
        .transform_filter(OF_CHOSEN_POINT)
        # A text in each of many thousand rows would make the page heavy.
        .transform_calculate(percentile="format(100 - 100 / datum.x, '.7~g') + ' %'")
    )


def _rows(
    distributions: Distributions, quantiles: Callable[[LatencyDistribution], Sequence[Quantile]]
) -> list[Row]:
    return [
        {
            "place": place,
            "of": name,
            "server": server,
            "x": compact(quantile.inverse_tail),
            "y": compact(quantile.latency_ms),
            "last": quantile is quantiles(found)[-1],
        }
        for place, (name, by_server) in enumerate(distributions)
        for server, found in by_server.items()
        for quantile in quantiles(found)
        if quantile.latency_ms > 0
    ]


def density_figure(
    distributions: Distributions,
    chosen: int,
    looks: Mapping[str, Appearance],
    load: LoadKind = WEB,
) -> Figure | None:
    """Draw how many requests had which latency, at the point that the signal ``point`` chooses, or at all."""
    rows: list[Row] = [
        {
            "place": place,
            "of": name,
            "server": server,
            "x": compact(start_ms),
            "y": compact(100 * share),
            "top": step == highest,
        }
        for place, (name, by_server) in enumerate(distributions)
        for server, found in by_server.items()
        for highest in [_highest(found)]
        for step, (start_ms, share) in enumerate(_steps(found))
    ]
    if not rows:
        return None
    point = altair.param(name="point", value=chosen)
    datasets = Datasets()
    low, high = extent(row["x"] for row in rows)
    base = (
        altair.Chart(datasets.named(rows))
        .transform_filter(OF_CHOSEN_POINT)
        .encode(
            x=altair.X(
                "x:Q",
                title="latency, ms",
                scale=altair.Scale(type="log", nice=False, padding=8),
                axis=altair.Axis(format=",~r", values=log_ticks(low, high), labelOverlap="greedy"),
            ),
            y=axis_from_zero("y"),
            color=colour(looks),
            detail=altair.Detail("place:N"),
            tooltip=[
                altair.Tooltip("server:N", title="server"),
                altair.Tooltip("of:N", title="at"),
                altair.Tooltip("x:Q", title="from, ms", format=",.3~r"),
                altair.Tooltip("y:Q", title=f"{load.requests}, %", format=".3~r"),
            ],
        )
    )
    alternative = (
        "Density of latency. One line for each server at the chosen point: the share of its "
        f"{load.requests} in each step of {whole_percent(CLASS_RATIO - 1)} of latency."
    )
    marks = [
        base.mark_line(strokeWidth=1.8, interpolate="step-after"),
        base.transform_filter("datum.top")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(shape=shape(looks)),
    ]
    return Figure(layered(marks, alternative, FIGURE_HEIGHT, [point], datasets), alternative)


def _highest(found: LatencyDistribution) -> int:
    """Return which class has the greatest share; there its line has the server's mark."""
    shares = [one.share for one in found.density]
    return shares.index(max(shares)) if shares else 0


def _steps(found: LatencyDistribution) -> list[tuple[float, float]]:
    """Return where each class begins with its share, and where the last one ends."""
    steps = [(one.from_ms, one.share) for one in found.density]
    return [*steps, (found.density[-1].from_ms * CLASS_RATIO, 0)] if steps else []
