"""What is drawn over curves: limits and what keeps them, the rig's ceiling, and where findings are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import altair

from loadcurve import units
from loadcurve.analysis.sweep import Slice
from loadcurve.explain.finding import Finding
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Row, at_pixel, colour, compact, shape, sweep_axis, tooltips
from loadcurve.result.measures import LATENCIES, MESSAGE_MEASURES, Measure
from loadcurve.result.rig import CeilingCurve
from loadcurve.stats.slo import ERRORS, LATENCY_FIELDS, OF_MESSAGES, Limit, Objective

SOFT = "#808080"
FAR_ABOVE = 2.0
"""A ceiling this many times above the highest curve is stated and not drawn: it would press them flat."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """What may be drawn over the curves of one slice; what there is not is ``None`` or empty."""

    ceiling: CeilingCurve | None = None
    """Only that of the loads that were measured: closed loops over connections that speak the same."""
    objective: Objective | None = None
    capacities: Mapping[str, float] = field(default_factory=dict)
    """The load up to which a server keeps the limits, where the trials bound it on both sides."""
    findings: Sequence[Finding] = ()


NOTHING = Overlay()


def bound_on(overlay: Overlay, measure: Measure) -> Limit | None:
    """Return the limit on a measure: a latency of all requests or of one, or a figure of messages."""
    limits = overlay.objective.limits if overlay.objective else ()
    column = measure.column_of_operation or measure.column
    return next(
        (one for one in limits if one.operation == measure.operation and _column(one) == column), None
    )


def bound_on_errors(overlay: Overlay) -> Limit | None:
    """Return the limit on the errors of the whole load."""
    limits = overlay.objective.limits if overlay.objective else ()
    return next((one for one in limits if one.measure == ERRORS and one.operation is None), None)


def _column(limit: Limit) -> str | None:
    """Return the column of the measure that a limit is on; ``None`` where no curve is of it alone."""
    if limit.measure in OF_MESSAGES:
        return next(one.column for one in MESSAGE_MEASURES if one.name == limit.measure)
    latency = LATENCY_FIELDS.get(limit.measure)
    return None if latency is None else LATENCIES[latency].column


def bound_marks(limit: Limit, level: float, vertical: altair.Y) -> list[altair.Chart]:
    """Draw a limit as a horizontal line at its level on the axis, with its value."""
    bound = f"{units.number(limit.bound)} ms" if limit.is_on_time else f"{100 * limit.bound:g} %"
    base = altair.Chart(altair.InlineData(values=[{"y": level, "label": f"limit {bound}"}]))
    return [
        base.mark_rule(strokeDash=[5, 3], color=SOFT).encode(y=vertical),
        base.mark_text(align="left", dx=4, dy=-6).encode(
            y=vertical, x=at_pixel(altair.XValue, 0), text=altair.Text("label:N")
        ),
    ]


def capacity_marks(overlay: Overlay, shown: Slice, looks: Mapping[str, Appearance]) -> list[altair.Chart]:
    """Draw each server's capacity as a vertical line in its colour, with its mark at the upper end."""
    rows: list[Row] = [
        {
            "server": server,
            "x": compact(load),
            "value": f"{units.number(load)} {text.load_unit(shown.key)}",
        }
        for server, load in overlay.capacities.items()
        if shown.key and shown.values[0] <= load <= shown.values[-1]
    ]
    if not rows:
        return []
    base = altair.Chart(altair.InlineData(values=rows)).encode(
        x=sweep_axis(shown, list(looks)),
        color=colour(looks),
        tooltip=tooltips(server="server", value="keeps the limits up to"),
    )
    return [
        base.mark_rule(strokeDash=[2, 3], strokeWidth=1.5),
        base.mark_point(filled=True, size=45, opacity=1).encode(
            shape=shape(looks), y=at_pixel(altair.YValue, 0)
        ),
    ]


def ceiling_marks(
    overlay: Overlay, shown: Slice, highest_rps: float, vertical: altair.Y, looks: Mapping[str, Appearance]
) -> list[altair.Chart]:
    """Draw the rig's ceiling, where it is near enough to the curves."""
    rows = _ceiling_rows(overlay, shown)
    if not rows or _is_far(rows, highest_rps):
        return []

    def base(shown_rows: list[Row]) -> altair.Chart:
        chart = altair.Chart(altair.InlineData(values=shown_rows))
        along = sweep_axis(shown, list(looks))
        return chart.encode(x=along, y=vertical, tooltip=tooltips(at="at", value="the rig's ceiling"))

    name = base(rows[-1:]).encode(text=altair.TextValue("the rig's ceiling"))
    return [
        base(rows).mark_line(strokeDash=[6, 4], strokeWidth=1.5, color=SOFT),
        name.mark_text(align="right", dy=-8),
    ]


def ceiling_levels(overlay: Overlay, shown: Slice, highest_rps: float) -> list[float]:
    """Return the levels of the rig's ceiling, where it is near enough to the curves to be drawn."""
    rows = _ceiling_rows(overlay, shown)
    return [] if not rows or _is_far(rows, highest_rps) else [row["y"] for row in rows]


def ceiling_note(overlay: Overlay, shown: Slice, highest_rps: float) -> str | None:
    """Say where the rig's ceiling is, if it is too far above the curves to be drawn."""
    rows = _ceiling_rows(overlay, shown)
    if not rows or not _is_far(rows, highest_rps):
        return None
    low, high = (units.number(choose(row["y"] for row in rows)) for choose in (min, max))
    return f"The rig's ceiling is far above these curves: {low} to {high} requests/s."


def _ceiling_rows(overlay: Overlay, shown: Slice) -> list[Row]:
    if overlay.ceiling is None or shown.key != "connections":
        return []
    levels = {load: overlay.ceiling.requests_per_s_at(int(load)) for load in shown.values}
    return [
        {
            "x": load,
            "at": units.setting(load),
            "y": compact(level),
            "value": f"{units.number(level)} requests/s",
        }
        for load, level in levels.items()
    ]


def _is_far(rows: Sequence[Row], highest_rps: float) -> bool:
    return bool(max(row["y"] for row in rows) > FAR_ABOVE * highest_rps)


def finding_marks(
    overlay: Overlay, shown: Slice, means: Sequence[Row], vertical: altair.Y, looks: Mapping[str, Appearance]
) -> list[altair.Chart]:
    """Draw a ring around the points of each finding; one that holds over the whole sweep marks no place."""
    seen: dict[tuple[str, float], list[str]] = {}
    for finding in overlay.findings:
        loads = {point[shown.key] for point in finding.points if shown.key in point} if shown.key else set()
        if len(loads) < len(shown.values):
            for load in loads:
                seen.setdefault((finding.server, load), []).append(finding.seen)
    rows: list[Row] = [
        {**{name: row[name] for name in ("server", "x", "at", "y", "place")}, "seen": " · ".join(found)}
        for row in means
        if row["y"] is not None and (found := seen.get((row["server"], row["x"])))
    ]
    if not rows:
        return []
    rings = (
        altair.Chart(altair.InlineData(values=rows))
        .mark_point(filled=False, shape="circle", size=260, strokeWidth=1.5, opacity=0.9)
        .encode(
            x=sweep_axis(shown, list(looks)),
            y=vertical,
            color=colour(looks),
            tooltip=tooltips(server="server", at=text.axis_title(shown.key), seen="finding"),
        )
    )
    return [rings]
