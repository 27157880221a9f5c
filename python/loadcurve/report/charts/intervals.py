"""Intervals around a curve: bands where they are narrow, and else thin lines, which hide no other curve."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair

from loadcurve.report.charts.figure import Row, compact, extent

WIDE_INTERVAL = 2
"""An interval with an end this many times above or below its value is wide."""

DrawRows = Callable[[list[Row], str], altair.Chart]
"""Begins a layer from rows and the field of the vertical axis."""


FAR_APART = 10
"""Curves whose greatest values differ by more than this factor are drawn on a logarithmic axis."""


def are_far_apart(rows: Iterable[Row], curve: str = "server") -> bool:
    """Say whether curves differ so much that on an axis from zero the lower ones would lie on it.

    Two curves are compared where both have a point: a server that is measured at low loads alone is not
    slower for that.
    """
    curves: dict[str, dict[Any, float]] = {}
    for row in rows:
        if row["y"] is not None:
            curves.setdefault(row[curve], {})[row["x"]] = row["y"]
    if any(value <= 0 for values in curves.values() for value in values.values()):
        return False
    return any(_factor(one, other) > FAR_APART for one, other in itertools.combinations(curves.values(), 2))


def _factor(one: dict[Any, float], other: dict[Any, float]) -> float:
    """Return the factor between the greatest values of two curves, at the places that both have, if any."""
    shared = one.keys() & other.keys()
    low, high = sorted(max(values[x] for x in shared or values) for values in (one, other))
    return high / low


def is_wide(row: Row) -> bool:
    """Say whether a row's interval is so wide that a band of it would cover the other curves."""
    return bool(row["low"] < row["y"] / WIDE_INTERVAL or row["high"] > row["y"] * WIDE_INTERVAL)


def reach_of(rows: Iterable[Row], others: Iterable[float] = ()) -> tuple[float, float]:
    """Return from where to where an axis shows curves with their bands; wide intervals do not stretch it."""
    rows = list(rows)
    bands = (
        row[end] for row in rows if row["low"] is not None and not is_wide(row) for end in ("low", "high")
    )
    return extent([*(row["y"] for row in rows if row["y"]), *bands, *others])


def interval_marks(
    base: DrawRows,
    rows: Sequence[Row],
    reach: tuple[float, float],
    *,
    as_bands: bool,
    from_zero: bool,
    curve: str = "server",
) -> list[altair.Chart]:
    """Draw the intervals of rows in the order of the axis; one that goes beyond ``reach`` ends in a triangle.

    ``curve`` is the field that tells curves apart. Each row gets the number of its ``stretch``: a band does
    not run across a wide interval between two narrow ones.
    """
    bands, lines = bands_and_lines(rows, curve) if as_bands else ([], list(rows))
    cut = [_cut(row, reach, from_zero=from_zero) for row in lines]
    marks = []
    if bands:
        of_one = [altair.Detail(f"{curve}:N"), altair.Detail("stretch:N")]
        marks.append(base(bands, "low").encode(y2=altair.Y2("high:Q"), detail=of_one).mark_area(opacity=0.18))
    if cut:
        marks.append(base(cut, "low").encode(y2=altair.Y2("high:Q")).mark_rule(strokeWidth=1.5, opacity=0.6))
    for end, beyond, triangle in (("high", "is_above", "triangle-up"), ("low", "is_below", "triangle-down")):
        open_ended = [row for row in cut if row[beyond]]
        if open_ended:
            marks.append(base(open_ended, end).mark_point(shape=triangle, size=40, filled=True, opacity=0.8))
    return marks


def bands_and_lines(rows: Sequence[Row], curve: str = "server") -> tuple[list[Row], list[Row]]:
    """Divide rows into those of bands and those of lines: the wide ones, and narrow ones between them."""
    stretches: dict[tuple[str, int], list[Row]] = {}
    wide: dict[str, list[Row]] = {}
    for row in rows:
        of_curve = wide.setdefault(row[curve], [])
        if is_wide(row):
            of_curve.append(row)
        else:
            row["stretch"] = len(of_curve)
            stretches.setdefault((row[curve], len(of_curve)), []).append(row)
    bands = [row for stretch in stretches.values() if len(stretch) > 1 for row in stretch]
    alone = [row for stretch in stretches.values() if len(stretch) == 1 for row in stretch]
    return bands, [*(row for found in wide.values() for row in found), *alone]


def _cut(row: Row, reach: tuple[float, float], *, from_zero: bool) -> Row:
    """Return a row whose interval ends where the axis does, and at which ends it continues."""
    low, high = row["low"] if from_zero else max(row["low"], reach[0]), min(row["high"], reach[1])
    return row | {
        "low": compact(low),
        "high": compact(high),
        "is_below": low > row["low"],
        "is_above": high < row["high"],
    }
