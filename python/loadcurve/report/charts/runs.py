"""Figures of one server in several runs.

The colour is the server's, as everywhere; runs differ in the dash of their line and the shape of their
marks, so by no colour at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair

from loadcurve import units
from loadcurve.analysis.curves import CurvePoint
from loadcurve.analysis.sweep import Slice
from loadcurve.report import text
from loadcurve.report.appearance import SHAPES
from loadcurve.report.charts.figure import (
    SMALL_FIGURE_HEIGHT,
    Datasets,
    Figure,
    Row,
    axis_from_zero,
    compact,
    latency_axis,
    layered,
    sweep_axis,
    tooltips,
)
from loadcurve.report.charts.intervals import are_far_apart, interval_marks, reach_of
from loadcurve.result.measures import Measure

DASHES: tuple[tuple[int, ...], ...] = ((), (7, 4), (2, 3), (10, 3, 2, 3), (14, 4), (4, 2, 1, 2))
"""Lengths of strokes and gaps in pixels; the first line is drawn through."""
RING_SIZE = 260
"""In square pixels, as the rings around points of findings."""


@dataclass(frozen=True, slots=True)
class RunLook:
    """How the line and the marks of one run are drawn."""

    shape: str
    dash: tuple[int, ...]

    @property
    def outline(self) -> str:
        """The mark's shape as the data of an SVG path in a box of 12 by 12."""
        return SHAPES[self.shape]


def run_look(place: int) -> RunLook:
    """Return the look of a run by its place; the pairs repeat only after 30 runs."""
    shapes = list(SHAPES)
    return RunLook(shapes[place % len(shapes)], DASHES[place % len(DASHES)])


RUN_MEASURES = ("throughput", "p50", "p99", "cpu_per_request_us")
"""What runs are drawn by."""


def runs_figure(
    measure: Measure,
    shown: Slice,
    curves: Mapping[str, Sequence[CurvePoint]],
    looks: Mapping[str, RunLook],
    colour: str,
) -> Figure | None:
    """Draw one measure of one server against the sweep, a line for each run; ``None`` without any value.

    ``curves`` holds the server's points in the slice by the run's letter, ``looks`` those of all runs.
    """
    rows = [
        row for run, points in curves.items() for point in points if (row := _row(run, point, measure, shown))
    ]
    if not rows:
        return None
    from_zero = measure.from_zero and not are_far_apart(rows, "run")
    reach = reach_of(rows)
    datasets = Datasets()

    def base(data: list[Row], field: str) -> altair.Chart:
        vertical = axis_from_zero(field) if from_zero else latency_axis(field, reach)
        along = sweep_axis(shown, list(looks))
        return altair.Chart(datasets.named(data)).encode(x=along, y=vertical, color=altair.ColorValue(colour))

    tooltip = tooltips(run="run", at=text.axis_title(shown.key), value=measure.heading, n="trials")
    means = base(rows, "y").encode(tooltip=tooltip)
    bounded = [row for row in rows if row["low"] is not None]
    swept = shown.key is not None
    marks = interval_marks(base, bounded, reach, as_bands=swept, from_zero=from_zero, curve="run")
    if swept:
        marks.append(means.mark_line(strokeWidth=2).encode(strokeDash=_dash(looks)))
    suspect = [row for row in rows if row["suspect"]]
    if suspect:
        of_suspect = base(suspect, "y").encode(
            tooltip=tooltips(run="run", at=text.axis_title(shown.key), suspect="suspect trials")
        )
        marks.append(of_suspect.mark_point(filled=False, shape="circle", size=RING_SIZE, strokeWidth=1.5))
    marks.append(means.mark_point(filled=True, size=60, opacity=1).encode(shape=_shape(looks)))
    alternative = _alternative(measure, shown, rows)
    return Figure(layered(marks, alternative, SMALL_FIGURE_HEIGHT, [], datasets), alternative)


def _row(run: str, at: CurvePoint, measure: Measure, shown: Slice) -> Row | None:
    estimate = at.estimate(measure)
    if estimate is None or (estimate.value <= 0 and not measure.from_zero):
        return None
    return {
        "run": run,
        "x": at.point[shown.key] if shown.key else run,
        "at": units.setting(at.point[shown.key]) if shown.key else run,
        "y": compact(estimate.value),
        "low": compact(estimate.low),
        "high": compact(estimate.high),
        "value": text.estimate(estimate),
        "n": estimate.n,
        "suspect": at.verdicts.count("suspect"),
    }


def _dash(looks: Mapping[str, RunLook]) -> altair.StrokeDash:
    # Vega takes a line without gaps as a dash whose gap is nothing.
    dashes = [list(look.dash) or [1, 0] for look in looks.values()]
    return altair.StrokeDash("run:N", scale=altair.Scale(domain=list(looks), range=dashes), legend=None)


def _shape(looks: Mapping[str, RunLook]) -> altair.Shape:
    shapes = [look.shape for look in looks.values()]
    return altair.Shape("run:N", scale=altair.Scale(domain=list(looks), range=shapes), legend=None)


def _alternative(measure: Measure, shown: Slice, rows: Sequence[Row]) -> str:
    """Say in words where each run's curve begins and ends."""
    sentences = [f"{measure.heading} by {text.axis_title(shown.key) if shown.key else 'run'}."]
    for run in dict.fromkeys(row["run"] for row in rows):
        of_run = [row for row in rows if row["run"] == run]
        ends = of_run[:1] if len(of_run) == 1 else [of_run[0], of_run[-1]]
        values = units.listing(
            f"{row['value']} at {row['at']}" if shown.key else str(row["value"]) for row in ends
        )
        sentences.append(f"Run {run}: {values}.")
    return " ".join(sentences)
