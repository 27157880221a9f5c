"""Bars: one figure of each server, or of each machine, beside the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Figure, Row, colour, compact, layered, tooltips
from loadcurve.stats.interval import Estimate

BAR_STEP = 30
"""The height that each bar has, with the room between two."""
AXIS_HEIGHT = 40
ROOM_FOR_NUMBERS = 1.2
"""How many times as far as the longest bar the axis reaches."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A server's figure; ``label`` names it, with its machine where it stood for one."""

    server: str
    label: str
    value: Estimate


def bar_figure(title: str, bars: Sequence[Bar], looks: Mapping[str, Appearance]) -> Figure | None:
    """Draw bars from zero, the longest first, with their intervals; ``None`` for fewer than two."""
    if len(bars) < 2:  # noqa: PLR2004 - a comparison has two sides
        return None
    ordered = sorted(bars, key=lambda bar: bar.value.value, reverse=True)
    rows: list[Row] = [
        {
            "server": bar.server,
            "label": bar.label,
            "x": compact(bar.value.value),
            "low": compact(bar.value.low),
            "high": compact(bar.value.high),
            # Where the bar and its interval end, so that its number stands clear of both.
            "end": compact(bar.value.value if bar.value.high is None else bar.value.high),
            "value": text.estimate(bar.value),
            "short": units.number(bar.value.value),
        }
        for bar in ordered
    ]
    upright = altair.Y("label:N", title=None, sort=[bar.label for bar in ordered])
    room = ROOM_FOR_NUMBERS * max(row["end"] for row in rows)
    scale = altair.Scale(zero=True, nice=False, domainMax=room)
    along = altair.X("x:Q", title=title, scale=scale, axis=altair.Axis(tickCount=6))

    def base(of_rows: list[Row]) -> altair.Chart:
        shown = tooltips(label="server", value=title)
        return altair.Chart(altair.InlineData(values=of_rows)).encode(y=upright, tooltip=shown)

    marks = [base(rows).mark_bar(size=16).encode(x=along, color=colour(looks))]
    bounded = [row for row in rows if row["low"] is not None]
    if bounded:
        # Drawn in the page's own grey, for it must be seen on the bar and beside it.
        interval = base(bounded).encode(x=altair.X("low:Q", title=title), x2=altair.X2("high:Q"))
        marks.append(interval.mark_rule(strokeWidth=2, color="#808080"))
    number = base(rows).encode(x=altair.X("end:Q", title=title), text=altair.Text("short:N"))
    marks.append(number.mark_text(align="left", dx=6))
    alternative = f"{title}: " + "; ".join(f"{bar.label} {text.estimate(bar.value)}" for bar in ordered) + "."
    height = BAR_STEP * len(rows) + AXIS_HEIGHT
    return Figure(layered(marks, alternative, height, []), alternative)
