"""A measure of a soak against time: a line for each server and point, with a mark for each trial."""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Final

import altair

from loadcurve import units
from loadcurve.explain.soak import OverTime
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import (
    SMALL_FIGURE_HEIGHT,
    Figure,
    Row,
    axis_from_zero,
    compact,
    latency_axis,
    layered,
    tooltips,
)
from loadcurve.report.charts.intervals import reach_of

MOST_LINES: Final = 8
"""Nobody can follow more lines than these; those with a trend come first."""
LABEL_PX: Final = 11
ABOVE_PX: Final = 9
"""How far a label's middle is above the end of its line."""
SCALES: Final = (("days", 86_400.0, 172_800.0), ("hours", 3600.0, 7200.0), ("minutes", 60.0, 120.0))
"""Units of time with their seconds, each from how many seconds on."""


def over_time_figure(
    figures: Sequence[OverTime], looks: Mapping[str, Appearance], starts_s: Sequence[float]
) -> Figure:
    """Draw one measure; ``starts_s`` are the servers' starts after the first, as vertical lines."""
    shown = sorted(figures, key=lambda one: not one.is_trend)[:MOST_LINES]
    unit, unit_s = _unit(max(one.times_s[-1] for one in shown))
    lines = [_rows(one, looks, unit_s) for one in shown]
    rows = [row for line in lines for row in line]
    reach = reach_of(rows)
    from_zero = shown[0].measure.from_zero or reach[0] <= 0
    vertical = axis_from_zero("y") if from_zero else latency_axis("y", reach)
    axis = altair.Axis(tickCount=8, grid=False)
    along = altair.X("x:Q", title=f"{unit} from the start of the run", axis=axis)
    base = altair.Chart(altair.InlineData(values=rows)).encode(
        x=along,
        y=vertical,
        color=altair.Color("colour:N", scale=None),
        detail="line:N",
        tooltip=tooltips(server="server", at="at", when="after", value=shown[0].measure.title),
    )
    marks = [base.mark_line(strokeWidth=1.5, opacity=0.8), base.mark_point(filled=True, size=22, opacity=1)]
    # Colours tell servers apart, and labels the points of each.
    if len({text.point(one.point) for one in shown}) > 1:
        ends = [line[-1] for line in lines]
        colour = altair.Color("colour:N", scale=None)
        for end, shift_px in zip(
            ends, _shifts([end["y"] for end in ends], reach, from_zero=from_zero), strict=True
        ):
            label = altair.Chart(altair.InlineData(values=[end]))
            marks.append(
                label.mark_text(align="right", dy=shift_px, fontSize=LABEL_PX).encode(
                    x=along, y=vertical, color=colour, text="at:N"
                )
            )
    if starts_s:
        starts = altair.Chart(altair.InlineData(values=[{"x": compact(at_s / unit_s)} for at_s in starts_s]))
        marks.insert(0, starts.mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=along))
    said = _in_words(shown, unit, unit_s)
    left_out = len(figures) - len(shown)
    note = f"{units.plural(left_out, 'more line')} not drawn." if left_out else None
    return Figure(layered(marks, said, SMALL_FIGURE_HEIGHT, []), said, note)


def _shifts(values: Sequence[float], reach: tuple[float, float], *, from_zero: bool) -> list[float]:
    """Return how many pixels below its line's end each label is: above it, and above those that are there."""

    def at(value: float) -> float:
        return value if from_zero else log(max(value, reach[0] * 0.9))

    low, high = (0.0, reach[1]) if from_zero else (at(reach[0] * 0.9), at(reach[1] * 1.1))
    heights = [SMALL_FIGURE_HEIGHT * (at(value) - low) / (high - low or 1.0) for value in values]
    shifts, free_from = [0.0] * len(values), -inf
    for place in sorted(range(len(values)), key=heights.__getitem__):
        height = max(heights[place] + ABOVE_PX, free_from)
        shifts[place] = round(heights[place] - height, 1)
        free_from = height + LABEL_PX + 1
    return shifts


def _unit(longest_s: float) -> tuple[str, float]:
    found = next(((name, unit_s) for name, unit_s, least_s in SCALES if longest_s >= least_s), None)
    return found or ("seconds", 1.0)


def _rows(one: OverTime, looks: Mapping[str, Appearance], unit_s: float) -> list[Row]:
    return [
        {
            "x": compact(at_s / unit_s),
            "y": compact(value),
            "low": None,
            "high": None,
            "server": one.server,
            "at": text.point(one.point),
            "line": f"{one.server} {text.point(one.point)}",
            "colour": looks[one.server].colour,
            "when": units.clock(at_s),
            "value": units.number(value),
        }
        for at_s, value in zip(one.times_s, one.values, strict=True)
    ]


def _in_words(shown: Sequence[OverTime], unit: str, unit_s: float) -> str:
    lines = [
        f"{one.server} at {text.point(one.point)}: from {units.number(one.values[0])} to "
        f"{units.number(one.values[-1])} in {units.number(one.times_s[-1] / unit_s)} {unit}"
        for one in shown
    ]
    return f"{shown[0].measure.heading} over time. {'; '.join(lines)}."
