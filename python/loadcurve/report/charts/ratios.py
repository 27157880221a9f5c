"""By how much each of several measures is worse than in the base: intervals under one another."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import altair

from loadcurve.analysis.change import Change
from loadcurve.report.charts.figure import Figure, Row, compact, layered, tooltips
from loadcurve.report.comparison import ratio_in_words

Side = Literal["worse", "better", "neither"]
"""What is shown of a measure."""
COLOURS: dict[Side, str] = {"worse": "#c2410c", "better": "#2f855a", "neither": "#6b7280"}
ROW_STEP = 28
"""The height that each measure has, with the room between two."""
AXIS_HEIGHT = 40
ROWS_MAX = 24
"""More measures are not drawn under one another."""
REACH_LEAST = 10.0
"""The axis reaches at least this many per cent to either side."""
REACH_OF_VALUES = 2.5
"""It reaches this many times as far as the farthest value: what is wider than that is cut off."""
TITLE = "worse by, % (to the right)"


@dataclass(frozen=True, slots=True)
class WorseBy:
    """By which share a measure is worse, such as 0.05, below 0 where it is better; an end may be missing."""

    label: str
    value: float
    low: float | None
    high: float | None
    side: Side
    words: str
    """The figures as text."""


def rows_of(changes: Sequence[Change]) -> list[WorseBy]:
    """Return changes over whole curves as rows: of many, those that are shown, the greatest first."""
    several = len({one.server for one in changes}) > 1
    drawn = list(changes)
    if len(drawn) > ROWS_MAX:
        drawn = sorted((one for one in drawn if one.shown), key=lambda one: -abs(one.ratio.logarithm))[
            :ROWS_MAX
        ]
    return [_of_change(one, several=several) for one in drawn if math.isfinite(one.worse_by)]


def _of_change(change: Change, *, several: bool) -> WorseBy:
    ratio, name = change.estimate, change.measure.title
    ends = (None, None) if ratio is None else (ratio.low, ratio.high)
    low, high = (None if end is None else end - 1 for end in ends)
    if change.measure.better == "higher":
        low, high = (None if high is None else -high), (None if low is None else -low)
    side: Side = "neither" if not change.shown else "worse" if change.worse_by > 0 else "better"
    label = f"{change.server}: {name}" if several else name
    return WorseBy(label, change.worse_by, low, high, side, ratio_in_words(change))


def worse_figure(rows: Sequence[WorseBy], least: float | None = None) -> Figure | None:
    """Draw the measures in their order, with a line at 0 and one at ``least``; ``None`` without any."""
    if not rows:
        return None
    reach = max(REACH_LEAST, *(REACH_OF_VALUES * 100 * abs(one.value) for one in rows), 200 * (least or 0.0))
    low = max(-reach, min(0.0, *(100 * _low(one) for one in rows)) - reach / 20)
    high = min(reach, max(100 * (least or 0.0), *(100 * _high(one) for one in rows)) + reach / 20)
    upright = altair.Y(
        "label:N", title=None, sort=[one.label for one in rows], axis=altair.Axis(labelLimit=240)
    )
    scale = altair.Scale(domain=[compact(low), compact(high)], nice=False)

    def along(field: str) -> altair.X:
        return altair.X(f"{field}:Q", title=TITLE, scale=scale, axis=altair.Axis(tickCount=6))

    marks = [
        altair.Chart(altair.InlineData(values=[{"x": compact(100 * at)}]))
        .mark_rule(color="#808080", strokeDash=dash, strokeWidth=1)
        .encode(x=along("x"))
        for at, dash in ((0.0, [1, 0]), *(((least, [4, 3]),) if least else ()))
    ]
    for side, colour in COLOURS.items():
        of_side = [_row(one) for one in rows if one.side == side]
        if of_side:
            marks += _marks(of_side, upright, along, colour)
    alternative = f"By how much each measure is worse than in the base: {'; '.join(_said(rows))}."
    height = ROW_STEP * len(rows) + AXIS_HEIGHT
    return Figure(layered(marks, alternative, height, []), alternative)


def _marks(
    rows: list[Row], upright: altair.Y, along: Callable[[str], altair.X], colour: str
) -> list[altair.Chart]:
    drawn = altair.Chart(altair.InlineData(values=rows)).encode(
        y=upright, tooltip=tooltips(label="measure", said="figures")
    )
    interval = drawn.mark_rule(strokeWidth=3, opacity=0.5, color=colour, clip=True)
    return [
        interval.encode(x=along("low"), x2=altair.X2("high:Q")),
        drawn.mark_point(filled=True, size=60, opacity=1, color=colour, clip=True).encode(x=along("x")),
    ]


def _row(one: WorseBy) -> Row:
    return {
        "label": one.label,
        "x": compact(100 * one.value),
        "low": compact(100 * _low(one)),
        "high": compact(100 * _high(one)),
        "said": one.words,
    }


def _low(one: WorseBy) -> float:
    return one.value if one.low is None else one.low


def _high(one: WorseBy) -> float:
    return one.value if one.high is None else one.high


def _said(rows: Sequence[WorseBy]) -> Iterator[str]:
    return (f"{one.label} {one.words}" for one in rows)
