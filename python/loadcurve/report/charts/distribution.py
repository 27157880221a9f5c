"""The distribution of latency: by percentile, and as density."""

from collections.abc import Mapping, Sequence

import altair

from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import (
    FIGURE_HEIGHT,
    Figure,
    Row,
    colour,
    compact,
    extent,
    latency_axis,
    layered,
    shape,
)
from loadcurve.report.distribution import Quantile

TAIL_TICKS = (1, 2, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000)


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
            "x": compact(quantile.inverse_tail),
            "y": compact(quantile.latency_ms),
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
            y=latency_axis("y", extent(row["y"] for row in rows)),
            color=colour(looks),
            tooltip=[
                altair.Tooltip("server:N", title="server"),
                altair.Tooltip("percentile:N", title="percentile"),
                altair.Tooltip("y:Q", title="latency, ms", format=",.3~r"),
            ],
        )
        .transform_filter("datum.place === point")
        # A text in each of many thousand rows would make the page heavy.
        .transform_calculate(percentile="format(100 - 100 / datum.x, '.7~g') + ' %'")
    )
    marks = [
        base.mark_line(strokeWidth=2),
        base.transform_filter("datum.last")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(shape=shape(looks)),
        # A wide invisible line makes the thin one easy to point at.
        base.mark_line(strokeWidth=14, opacity=0),
    ]
    alternative = (
        "Latency by percentile at the chosen point, one line for each server; the table below has the values."
    )
    return Figure(layered(marks, alternative, FIGURE_HEIGHT, [point]), alternative)
