"""Curves: figures against the axis of the sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import altair

from loadcurve import units
from loadcurve.analysis.curves import Curve, CurvePoint
from loadcurve.analysis.sweep import Slice
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import (
    MAIN_FIGURE_HEIGHT,
    SMALL_FIGURE_HEIGHT,
    Datasets,
    Figure,
    Row,
    axis_from_zero,
    colour,
    compact,
    extent,
    latency_axis,
    layered,
    shape,
    sweep_axis,
    tooltips,
)
from loadcurve.report.charts.intervals import are_far_apart, interval_marks, reach_of
from loadcurve.report.charts.overlay import (
    NOTHING,
    Overlay,
    bound_marks,
    bound_on,
    bound_on_errors,
    capacity_marks,
    ceiling_levels,
    ceiling_marks,
    ceiling_note,
    finding_marks,
)
from loadcurve.result.measures import THROUGHPUT, Measure, point_key
from loadcurve.stats.interval import Estimate
from loadcurve.stats.slo import Limit

SINGLE_TRIALS = "single_trials"
"""The signal that shows single trials; those whose point is invalid are always shown."""

SHOWN_RESOURCES = ("cpu_share", "cpu_per_request_us", "memory_mean_mib")
"""The measures of what a server used that are shown."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What runs along the vertical axis: over the trials of a point, and in each of them."""

    title: str
    from_zero: bool
    """The axis is linear and begins at zero; that of other measures is logarithmic."""
    estimate: Callable[[CurvePoint], Estimate | None]
    values: Callable[[CurvePoint], Sequence[float | None]]
    limit: Limit | None = None
    """A limit on it, which is drawn as a line."""
    per_bound: float = 1.0
    """By how many the bound of a limit is multiplied for its level: 100 where a share is shown in percent."""
    marks_findings: bool = False
    has_ceiling: bool = False

    @property
    def level(self) -> float | None:
        """Where the limit is on the axis; ``None`` without one."""
        return None if self.limit is None else self.per_bound * self.limit.bound


def measure_figure(
    measure: Measure,
    shown: Slice,
    curves: Sequence[Curve],
    looks: Mapping[str, Appearance],
    overlay: Overlay = NOTHING,
    *,
    is_main: bool = False,
) -> Figure | None:
    """Draw a measure against the sweep; ``None`` where nothing was measured.

    A main figure is drawn larger, with findings marked; throughput with the rig's ceiling.
    """
    is_throughput = measure.column == THROUGHPUT.column
    drawn = Drawn(
        title=measure.heading,
        from_zero=measure.from_zero,
        estimate=lambda at: at.estimate(measure),
        values=lambda at: at.values(measure),
        limit=bound_on(overlay, measure),
        marks_findings=is_main,
        has_ceiling=is_throughput,
    )
    height = MAIN_FIGURE_HEIGHT if drawn.marks_findings else SMALL_FIGURE_HEIGHT
    return _curve_figure(drawn, shown, curves, looks, height, overlay=overlay)


def errors_figure(
    shown: Slice,
    curves: Sequence[Curve],
    looks: Mapping[str, Appearance],
    load: LoadKind = WEB,
    overlay: Overlay = NOTHING,
) -> Figure | None:
    """Draw the share of requests that got no right answer, in percent; ``None`` where all of them did.

    A point's share is that of all its trials together, the invalid ones too, and has no interval.
    """

    def estimate(at: CurvePoint) -> Estimate | None:
        share = _percent(sum(at.requests.wrong), sum(at.requests.due))
        return None if share is None else Estimate(share, None, None, len(at.trials), "all trials together")

    if not any(any(at.requests.wrong) for curve in curves for at in curve.points):
        return None
    drawn = Drawn(
        title=f"{load.requests} without a correct answer, %",
        from_zero=True,
        estimate=estimate,
        values=lambda at: [*map(_percent, at.requests.wrong, at.requests.due)],
        limit=bound_on_errors(overlay),
        per_bound=100,
    )
    return _curve_figure(drawn, shown, curves, looks, SMALL_FIGURE_HEIGHT, overlay=overlay)


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _curve_figure(
    measure: Drawn,
    shown: Slice,
    curves: Sequence[Curve],
    looks: Mapping[str, Appearance],
    height: int,
    *,
    overlay: Overlay = NOTHING,
) -> Figure | None:
    wanted = {point_key(point) for point in shown.points}
    # The place in the list of all points is what the page finds the point's trials by.
    placed = [
        (curve.server, place, point)
        for curve in curves
        for place, point in enumerate(curve.points)
        if point_key(point.point) in wanted
    ]
    at = [(server, point) for server, _, point in placed]
    means = [_mean_row(server, point, measure, shown) | {"place": place} for server, place, point in placed]
    trials = [
        row | {"place": place}
        for server, place, point in placed
        for row in _trial_rows(server, point, measure, shown)
    ]
    if not trials:
        return None
    if not measure.from_zero or are_far_apart(means):
        measure = replace(measure, from_zero=False)
        _keep_above_zero(means, trials)
    alternative = f"{measure.title} by {text.axis_title(shown.key)}. {_alternative(measure, shown, at)}"
    datasets = Datasets()
    marks = _marks(measure, shown, looks, means, trials, overlay=overlay, datasets=datasets)
    highest = extent(row["y"] for row in (*means, *trials) if row["y"] is not None)[1]
    note = ceiling_note(overlay, shown, highest) if measure.has_ceiling else None
    single = altair.param(name=SINGLE_TRIALS, value=False)
    return Figure(layered(marks, alternative, height, [single], datasets), alternative, note)


def _marks(
    measure: Drawn,
    shown: Slice,
    looks: Mapping[str, Appearance],
    means: list[Row],
    trials: list[Row],
    *,
    overlay: Overlay,
    datasets: Datasets,
) -> list[altair.Chart]:
    level = measure.level
    bound = [level] if level else []
    highest = extent(row["y"] for row in (*means, *trials) if row["y"])[1]
    ceiling = ceiling_levels(overlay, shown, highest) if measure.has_ceiling else []
    of_trials_too = (row["y"] for row in trials if row["y"])
    reach = reach_of((row for row in means if row["y"]), [*of_trials_too, *bound, *ceiling])

    def vertical(field: str = "y") -> altair.Y:
        return axis_from_zero(field) if measure.from_zero else latency_axis(field, reach)

    def base(rows: list[Row], field: str) -> altair.Chart:
        along = sweep_axis(shown, list(looks))
        return altair.Chart(datasets.named(rows)).encode(x=along, y=vertical(field), color=colour(looks))

    titles = {"server": "server", "at": text.axis_title(shown.key), "value": measure.title}
    of_means = base(means, "y").encode(tooltip=tooltips(**titles, n="trials"))

    def of_trials(rows: list[Row]) -> altair.Chart:
        shown_on_hover = tooltips(**titles, trial="trial", verdict="verdict")
        return base(rows, "y").encode(shape=shape(looks), tooltip=shown_on_hover)

    bounded = [row for row in means if row["y"] is not None and row["low"] is not None]
    usable = [row for row in trials if row["verdict"] != "invalid"]
    invalid = [row for row in trials if row["verdict"] == "invalid"]
    # A layer without rows would have no extent for its axes, so it is left out.
    each_chose = shown.key is not None and each_trial_chose(trials)
    # Loads at which several trials of a search happen to meet have no band between them.
    as_bands = shown.key is not None and not each_chose
    marks = interval_marks(base, bounded, reach, as_bands=as_bands, from_zero=measure.from_zero)
    if usable:
        if each_chose:
            lines = of_trials(usable).encode(detail="trial:N", shape=altair.ShapeValue("circle"))
            marks.append(lines.mark_line(strokeWidth=1, opacity=0.8))
        elif shown.key:
            marks.append(of_means.mark_line(strokeWidth=2))
        singles = of_trials(usable).transform_filter(SINGLE_TRIALS)
        marks.append(singles.mark_point(filled=True, size=16, opacity=0.5))
        marks.append(of_means.mark_point(filled=True, size=60, opacity=1).encode(shape=shape(looks)))
    if invalid:
        marks.append(of_trials(invalid).mark_point(filled=False, size=45, opacity=1))
    if measure.has_ceiling:
        marks += ceiling_marks(overlay, shown, highest, vertical(), looks)
    if measure.marks_findings:
        marks += finding_marks(overlay, shown, means, vertical(), looks)
    if measure.limit is not None and level is not None:
        marks += bound_marks(measure.limit, level, vertical())
    if level is not None or measure.has_ceiling:
        marks += capacity_marks(overlay, shown, looks)
    return marks


def each_trial_chose(trials: Sequence[Row]) -> bool:
    """Say whether trials chose their own loads, as in a search for a capacity, rather than having the same.

    A line through the loads of all trials would then go from one trial to another and back.
    """
    loads: dict[tuple[str, float], set[int]] = {}
    for row in trials:
        loads.setdefault((row["server"], row["x"]), set()).add(row["trial"])
    several = {
        server for server, _ in loads if len({row["trial"] for row in trials if row["server"] == server}) > 1
    }
    alone = sum(len(found) == 1 for (server, _), found in loads.items() if server in several)
    return 2 * alone > sum(server in several for server, _ in loads)


def _mean_row(server: str, at: CurvePoint, measure: Drawn, shown: Slice) -> Row:
    estimate = measure.estimate(at)
    return {
        "server": server,
        **_place(server, at.point, shown),
        "y": compact(estimate.value) if estimate else None,
        "low": compact(estimate.low) if estimate else None,
        "high": compact(estimate.high) if estimate else None,
        "value": text.estimate(estimate),
        "n": estimate.n if estimate else 0,
    }


def _trial_rows(server: str, at: CurvePoint, measure: Drawn, shown: Slice) -> list[Row]:
    return [
        {
            "server": server,
            **_place(server, at.point, shown),
            "y": compact(value),
            "value": units.number(value),
            "trial": trial,
            "verdict": verdict,
        }
        for trial, verdict, value in zip(at.trials, at.verdicts, measure.values(at), strict=True)
        if value is not None
    ]


def _place(server: str, point: Point, shown: Slice) -> Row:
    if shown.key is None:
        return {"x": server, "at": server}
    return {"x": point[shown.key], "at": units.setting(point[shown.key])}


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


def _alternative(measure: Drawn, shown: Slice, at: Sequence[tuple[str, CurvePoint]]) -> str:
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
                f"{server}: {units.number(first[1].value)} at {first[0]}, {units.number(last[1].value)} at "
                f"{last[0]}, highest {units.number(highest[1].value)} at {highest[0]}."
            )
    return " ".join(sentences)
