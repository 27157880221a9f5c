"""Figures against settings: points with intervals along one, and a map of two with the best value marked."""

import math
from collections.abc import Sequence
from typing import Final

import altair

from loadcurve import units
from loadcurve.analysis.settings import Cell, Surface, Value, is_number
from loadcurve.report import text
from loadcurve.report.charts.figure import (
    ALL_DIGITS,
    MOST_LABELLED_VALUES,
    SMALL_FIGURE_HEIGHT,
    Figure,
    Row,
    axis_from_zero,
    compact,
    extent,
    latency_axis,
    layered,
    tooltips,
)
from loadcurve.report.charts.intervals import interval_marks, reach_of

CELL_HEIGHT: Final = 34
AXIS_HEIGHT: Final = 60
LINE: Final = "#0b5c8f"
BEST: Final = "#b3261e"
LIGHT, DARK = "#eef4f8", "#0b4a73"
"""The colours of the least and the greatest value of a map."""
DARK_FROM: Final = 0.5
"""From this share of a map's colours on, numbers on them are white."""
ROWS_HAVE_LABELS: Final = 12
"""With more values of the horizontal key a map has no numbers in its cells."""
LOG_SPAN: Final = 20


def setting_words(value: Value) -> str:
    """Return a value of a setting as a study has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return units.setting(value) if isinstance(value, int | float) else value


def surface_figure(surface: Surface) -> Figure:
    """Draw a surface: of one key as points with their intervals, of two as a map."""
    return _map(surface) if len(surface.keys) > 1 else _line(surface)


def _alternative(surface: Surface) -> str:
    along = " and ".join(map(text.key_title, surface.keys))
    cells = "; ".join(
        f"{settings_words(surface, one)}: {text.estimate(one.estimate)}" for one in surface.cells
    )
    return f"{surface.measure.heading} of {surface.title} by {along}. {cells}."


def settings_words(surface: Surface, cell: Cell) -> str:
    """Return the values of a cell as ``workers = 2, sendfile = true``."""
    pairs = zip(surface.keys, cell.values, strict=True)
    return ", ".join(f"{key} = {setting_words(value)}" for key, value in pairs)


def _row(surface: Surface, cell: Cell) -> Row:
    return {
        "where": settings_words(surface, cell),
        "value": text.estimate(cell.estimate),
        "at": text.point(cell.point),
        "n": cell.estimate.n,
    }


def _shown_on_hover(surface: Surface) -> list[altair.Tooltip]:
    titles = {"where": "settings", "value": surface.measure.title, "at": "at", "n": "trials"}
    return tooltips(**titles)


def _line(surface: Surface) -> Figure:
    """Draw a measure against one setting, its intervals as lines, with the best value in another colour."""
    (key,), values = surface.keys, surface.values(0)
    numbers = [value for value in values if is_number(value)]
    along = _number_axis(key, numbers) if len(numbers) == len(values) else _choice_axis(key, values)
    rows = [
        _row(surface, one)
        | {
            "x": one.values[0] if len(numbers) == len(values) else setting_words(one.values[0]),
            "y": compact(one.estimate.value),
            "low": compact(one.estimate.low),
            "high": compact(one.estimate.high),
        }
        for one in surface.cells
    ]
    reach = reach_of(rows)
    is_linear = surface.measure.from_zero or any(row["y"] <= 0 for row in rows)

    def vertical(field: str) -> altair.Y:
        return axis_from_zero(field) if is_linear else latency_axis(field, reach)

    def base(of_rows: list[Row], field: str = "y") -> altair.Chart:
        chart = altair.Chart(altair.InlineData(values=of_rows))
        drawn = chart.encode(x=along, y=vertical(field), color=altair.value(LINE))
        return drawn.encode(tooltip=_shown_on_hover(surface))

    best = [row for row, cell in zip(rows, surface.cells, strict=True) if cell is surface.best]
    bounded = [row for row in rows if row["low"] is not None]
    marks = interval_marks(base, bounded, reach, as_bands=False, from_zero=is_linear, curve="where")
    if len(numbers) == len(values):
        marks.append(base(rows).mark_line(strokeWidth=1.5, opacity=0.5))
    marks += [
        base(rows).mark_point(filled=True, size=70, opacity=1),
        base(best)
        .encode(color=altair.value(BEST))
        .mark_point(filled=True, size=150, opacity=1, shape="diamond"),
    ]
    alternative = _alternative(surface)
    return Figure(layered(marks, alternative, SMALL_FIGURE_HEIGHT, []), alternative)


def _number_axis(key: str, values: Sequence[float]) -> altair.X:
    low, high = values[0], values[-1]
    is_logarithmic = low > 0 and high / low > LOG_SPAN
    scale = altair.Scale(type="log" if is_logarithmic else "linear", zero=False, nice=False, padding=20)
    few = len(values) <= MOST_LABELLED_VALUES
    axis = altair.Axis(
        format=ALL_DIGITS, values=list(values) if few else altair.Undefined, labelOverlap="greedy"
    )
    return altair.X("x:Q", title=text.key_title(key), scale=scale, axis=axis)


def _choice_axis(key: str, values: Sequence[Value], field: str = "x") -> altair.X:
    names = [*map(setting_words, values)]
    return altair.X(f"{field}:N", title=text.key_title(key), sort=names, axis=altair.Axis(labelAngle=0))


def _map(surface: Surface) -> Figure:
    """Draw a map of two settings: the darker, the greater; the best cell has a frame and a star."""
    across, upwards = (surface.values(place) for place in range(2))
    low, high = extent(cell.estimate.value for cell in surface.cells)
    is_logarithmic = not surface.measure.from_zero and high > low
    rows = []
    for cell in surface.cells:
        share = _share(cell.estimate.value, low, high, is_logarithmic=is_logarithmic)
        is_best = cell is surface.best
        rows.append(
            _row(surface, cell)
            | {
                "x": setting_words(cell.values[0]),
                "y": setting_words(cell.values[1]),
                "share": compact(share),
                "label": f"{'★ ' if is_best else ''}{units.number(cell.estimate.value)}",
                "best": is_best,
            }
        )
    # The greatest value of the vertical key is at the top.
    names = [setting_words(value) for value in reversed(upwards)]
    vertical = altair.Y("y:N", title=text.key_title(surface.keys[1]), sort=names)
    horizontal = _choice_axis(surface.keys[0], across)

    def base(of_rows: list[Row]) -> altair.Chart:
        chart = altair.Chart(altair.InlineData(values=of_rows))
        return chart.encode(x=horizontal, y=vertical, tooltip=_shown_on_hover(surface))

    colours = altair.Scale(domain=[0, 1], range=[LIGHT, DARK])
    marks = [base(rows).mark_rect().encode(color=altair.Color("share:Q", scale=colours, legend=None))]
    marks.append(
        base([row for row in rows if row["best"]]).mark_rect(filled=False, stroke=BEST, strokeWidth=3)
    )
    labelled = rows if len(across) <= ROWS_HAVE_LABELS else [row for row in rows if row["best"]]
    for ink, is_on_dark in (("#ffffff", True), ("#1b1b1b", False)):
        of_ink = [row for row in labelled if (row["share"] >= DARK_FROM) == is_on_dark]
        if of_ink:
            marks.append(base(of_ink).mark_text(fontSize=12, color=ink).encode(text=altair.Text("label:N")))
    alternative = _alternative(surface)
    height = CELL_HEIGHT * len(upwards) + AXIS_HEIGHT
    return Figure(layered(marks, alternative, height, []), alternative)


def _share(value: float, low: float, high: float, *, is_logarithmic: bool) -> float:
    """Return where a value lies between the least and the greatest one; 1 where these are equal."""
    if value <= 0 or high <= low:
        return 1.0 if high <= low else 0.0
    if is_logarithmic:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)
