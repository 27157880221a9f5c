"""Published curves beside measured ones, and both over each other, each divided by its greatest value.

A published curve has the colour of the server that it stands for, and is dashed; one that stands for no
server of the run is grey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair

from loadcurve import units
from loadcurve.analysis.sweep import Slice
from loadcurve.report import text
from loadcurve.report.charts.figure import (
    SMALL_FIGURE_HEIGHT,
    Figure,
    Row,
    axis_from_zero,
    compact,
    latency_axis,
    layered,
    sweep_axis,
    tooltips,
)
from loadcurve.report.charts.intervals import interval_marks, reach_of
from loadcurve.stats.interval import Estimate

Origin = Literal["published", "measured"]

NO_SERVER = "#808080"
"""The colour of a published curve that stands for no server of the run."""
LONG_NAME = 16
"""Two names in a line of the legend have at most this many characters each."""
DASHES: dict[Origin, list[int]] = {"published": [6, 4], "measured": [1, 0]}


@dataclass(frozen=True, slots=True)
class Line:
    """A curve under the name that it has in the legend."""

    name: str
    origin: Origin
    colour: str
    shape: str
    values: Mapping[float, Estimate]
    """By the place along the axis; a published value has no interval."""
    greatest: float
    """What it is divided by to be laid over others: its greatest value at the places that they share."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What curves that are laid beside one another have in common."""

    along: Slice
    """The places of all of them, so that their axes are alike."""
    from_zero: bool
    """The vertical axis is linear and begins at zero; otherwise it is logarithmic."""


def lines_figure(title: str, lines: Sequence[Line], axes: Axes) -> Figure | None:
    """Draw curves on a separate scale; ``None`` where there is no value."""
    rows = [_row(line, place, estimate) for line in lines for place, estimate in sorted(line.values.items())]
    return _drawn(title, rows, lines, axes)


def relative_figure(title: str, lines: Sequence[Line], axes: Axes) -> Figure | None:
    """Draw curves over one another, each divided by its own greatest value."""
    rows = [
        _row(
            line, place, Estimate(one.value / line.greatest, None, None, one.n, "share of the greatest value")
        )
        for line in lines
        for place, one in sorted(line.values.items())
    ]
    return _drawn(title, rows, lines, axes)


def _row(line: Line, place: float, estimate: Estimate) -> Row:
    return {
        "line": line.name,
        "origin": line.origin,
        "x": place,
        "at": units.setting(place),
        "y": compact(estimate.value),
        "low": compact(estimate.low),
        "high": compact(estimate.high),
        "value": text.estimate(estimate),
    }


def _drawn(title: str, rows: list[Row], lines: Sequence[Line], axes: Axes) -> Figure | None:
    if not rows:
        return None
    reach = reach_of(rows)

    def base(data: list[Row], field: str) -> altair.Chart:
        return altair.Chart(altair.InlineData(values=data)).encode(
            x=_along(axes.along),
            y=axis_from_zero(field) if axes.from_zero else latency_axis(field, reach),
            color=_colour(lines),
        )

    titles = {"line": "curve", "origin": "origin", "at": text.axis_title(axes.along.key), "value": title}
    curves = base(rows, "y").encode(tooltip=tooltips(**titles))
    bounded = [row for row in rows if row["low"] is not None]
    intervals = interval_marks(base, bounded, reach, as_bands=True, from_zero=axes.from_zero, curve="line")
    dash = altair.StrokeDash(
        "origin:N", scale=altair.Scale(domain=list(DASHES), range=list(DASHES.values())), legend=None
    )
    marks = [
        *intervals,
        curves.mark_line(strokeWidth=2).encode(strokeDash=dash),
        curves.mark_point(filled=True, size=50, opacity=1).encode(shape=_shape(lines)),
    ]
    alternative = f"{title} by {text.axis_title(axes.along.key)}. {_in_words(rows)}"
    return Figure(layered(marks, alternative, SMALL_FIGURE_HEIGHT, []), alternative)


def _along(shown: Slice) -> altair.X:
    """Return the axis of the sweep from its first value to its last, whatever a single curve reaches."""
    along = sweep_axis(shown, [])
    along["scale"]["domain"] = [shown.values[0], shown.values[-1]]
    return along


def _colour(lines: Sequence[Line]) -> altair.Color:
    scale = altair.Scale(domain=[line.name for line in lines], range=[line.colour for line in lines])
    return altair.Color("line:N", scale=scale, legend=_legend(lines))


def _shape(lines: Sequence[Line]) -> altair.Shape:
    scale = altair.Scale(domain=[line.name for line in lines], range=[line.shape for line in lines])
    return altair.Shape("line:N", scale=scale, legend=_legend(lines))


def _legend(lines: Sequence[Line]) -> altair.Legend:
    """Return the legend, in one column where two would not fit a phone."""
    columns = 1 if any(len(line.name) > LONG_NAME for line in lines) else 2
    return altair.Legend(title=None, orient="top", columns=columns, symbolOpacity=1, labelLimit=260)


def _in_words(rows: Sequence[Row]) -> str:
    """Say where each curve begins and ends."""
    sentences = []
    for name in dict.fromkeys(row["line"] for row in rows):
        of_line = [row for row in rows if row["line"] == name]
        ends = of_line[:1] if len(of_line) == 1 else [of_line[0], of_line[-1]]
        values = units.listing(f"{row['value']} at {row['at']}" for row in ends)
        sentences.append(f"{name}: {values}.")
    return " ".join(sentences)
