"""What happened during one trial's point: panels over one another on the same axis of time.

A panel is drawn for any trial: its data are named, and the page fills in those of the trial that is chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair

from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.report.charts.figure import Figure, at_pixel, layered, tooltips

Source = Literal["load", "probe"]

PANEL_HEIGHT = 110
PAUSE_HEIGHT = 9
PAUSE_COLOUR = "#c77a00"
LEFT_MARGIN = 62
"""Room for the labels of every panel's vertical axis, so that the panels' times are aligned."""
LINES = (
    ("#8e72bd", [1, 0]),
    ("#b0782a", [6, 3]),
    ("#b0455f", [2, 2]),
    ("#4f8a8b", [8, 2, 2, 2]),
    ("#808080", [1, 3]),
)
"""Colour and dashes of the lines of a panel; none is a server's, for a panel has one server only."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines that share a vertical axis; ``lines`` has their titles by their column in the source."""

    name: str
    title: str
    source: Source
    lines: Mapping[str, str]
    logarithmic: bool = False


PROBE_PANELS = (
    Panel(
        "cpu",
        "CPUs in use",
        "probe",
        {
            "cpu_user_share": "server, user",
            "cpu_system_share": "server, system",
            "busiest_thread_share": "its busiest thread",
            "busy_cpus": "whole machine",
            "steal_cpus": "withheld by the host (steal)",
        },
    ),
    Panel(
        "memory",
        "Memory of the server, MiB",
        "probe",
        {"memory_mib": "resident", "proportional_memory_mib": "shared pages divided"},
    ),
    Panel("processes", "Processes and threads", "probe", {"processes": "processes", "threads": "threads"}),
    Panel("queue", "Connections waiting to be accepted", "probe", {"listen_queue": "listen queue"}),
    Panel(
        "kernel",
        "Kernel events per sample",
        "probe",
        {
            "listen_overflows": "listen overflows",
            "listen_drops": "listen drops",
            "syn_retransmits": "SYNs retransmitted",
            "retransmits": "segments retransmitted",
            "connections_reset": "connections reset",
        },
    ),
    Panel("throttled", "Throttled by the CPU limit, ms per sample", "probe", {"throttled_ms": "throttled"}),
)


def panels(load: LoadKind) -> tuple[Panel, ...]:
    """Return the panels of a trial, the uppermost first."""
    return (
        Panel(
            "rate",
            f"{load.requests.capitalize()} per second",
            "load",
            {"answered": "answered", "failed": "failed"},
        ),
        Panel(
            "latency",
            "Latency, ms",
            "load",
            {"p50": "median", "p90": "p90", "p99": "p99", "max": "longest"},
            logarithmic=True,
        ),
        *PROBE_PANELS,
    )


def panel_figure(panel: Panel, *, is_lowest: bool, load: LoadKind = WEB) -> Figure:
    """Draw a panel; its data are named ``load`` or ``probe``, ``slowest``, ``silences`` and ``pauses``.

    ``t_s`` counts from the start of the measured window, and the signal ``end_s`` is its end.
    """
    axis = altair.Axis(
        labels=is_lowest, title="seconds from the start of the measured window" if is_lowest else None,
        ticks=is_lowest, grid=True, tickCount=10,
    )  # fmt: skip
    scale = altair.Scale(domain=[0, altair.ExprRef("end_s")], nice=False, clamp=True)
    along = altair.X("t_s:Q", scale=scale, axis=axis)
    upright = altair.Y(
        "value:Q",
        title=None,
        scale=altair.Scale(type="log", nice=True) if panel.logarithmic else altair.Scale(zero=True),
        axis=altair.Axis(
            minExtent=LEFT_MARGIN, maxExtent=LEFT_MARGIN, tickCount=4, labelOverlap="greedy",
            format="~s" if panel.name == "rate" else ",~r",
        ),
    )  # fmt: skip
    silences = (
        altair.Chart(altair.NamedData("silences"))
        .mark_rect(opacity=0.25, color="#808080")
        .encode(
            x=altair.X("t_s:Q", scale=scale, axis=axis),
            x2=altair.X2("end_s:Q"),
            tooltip=tooltips(length="nothing was answered for"),
        )
    )
    values = (
        altair.Chart(altair.NamedData(panel.source))
        .transform_fold(list(panel.lines), as_=["column", "value"])
        .transform_filter("isValid(datum.value)" + (" && datum.value > 0" if panel.logarithmic else ""))
        .encode(
            x=along,
            y=upright,
            color=_line_colour(panel),
            strokeDash=_line_dashes(panel),
            tooltip=[
                altair.Tooltip("t_s:Q", title="seconds", format=".2f"),
                altair.Tooltip("value:Q", title=panel.title, format=",.4~r"),
                altair.Tooltip("column:N", title="line"),
            ],
        )
    )
    drawn = (
        values.mark_line(strokeWidth=1.6, interpolate="step-after")
        if panel.source == "load"
        else values.mark_line(strokeWidth=1.6, point=altair.OverlayMarkDef(size=8))
    )
    marks = [silences, drawn]
    if panel.name == "latency":
        marks += [_pauses(altair.X("t_s:Q", scale=scale, axis=axis)), _slowest(along, load)]
    alternative = (
        f"{panel.title} over time in the chosen trial: {', '.join(panel.lines.values())}. Grey bands are "
        "stretches in which nothing was answered."
    )
    end = altair.param(name="end_s", value=1)
    return Figure(layered(marks, alternative, PANEL_HEIGHT, [end]), alternative)


def _pauses(along: altair.X) -> altair.Chart:
    """Draw pauses of the platform at the foot of a panel; short ones are strokes."""
    chart: altair.Chart = (
        altair.Chart(altair.NamedData("pauses"))
        .mark_rect(color=PAUSE_COLOUR, stroke=PAUSE_COLOUR, strokeWidth=1.5)
        .encode(
            x=along,
            x2=altair.X2("end_s:Q"),
            y=at_pixel(altair.YValue, PANEL_HEIGHT - PAUSE_HEIGHT),
            y2=at_pixel(altair.Y2Value, PANEL_HEIGHT),
            tooltip=tooltips(side="paused: the CPUs of the", length="for"),
        )
    )
    return chart


def _slowest(along: altair.X, load: LoadKind) -> altair.Chart:
    """Draw the slowest requests where they fell due."""
    chart: altair.Chart = (
        altair.Chart(altair.NamedData("slowest"))
        .mark_point(shape="cross", filled=True, size=36, color="#b0455f", opacity=0.9)
        .encode(
            x=along,
            y=altair.Y("latency_ms:Q", title=None),
            tooltip=tooltips(
                operation=f"slow {load.request}", latency="latency", sent_again="SYNs retransmitted"
            ),
        )
    )
    return chart


def _line_colour(panel: Panel) -> altair.Color:
    return altair.Color(
        "column:N",
        scale=altair.Scale(domain=list(panel.lines), range=[colour for colour, _ in _lines(panel)]),
        legend=_legend(panel),
    )


def _line_dashes(panel: Panel) -> altair.StrokeDash:
    return altair.StrokeDash(
        "column:N",
        scale=altair.Scale(domain=list(panel.lines), range=[dashes for _, dashes in _lines(panel)]),
        legend=_legend(panel),
    )


def _lines(panel: Panel) -> Sequence[tuple[str, list[int]]]:
    return LINES[: len(panel.lines)]


def _legend(panel: Panel) -> altair.Legend | None:
    """Return the legend of several lines; their titles are ours, so they may be in an expression."""
    if len(panel.lines) == 1:
        return None
    titles = ", ".join(f"'{column}': '{title}'" for column, title in panel.lines.items())
    return altair.Legend(
        orient="top", title=None, symbolType="stroke", symbolSize=260, labelExpr=f"{{{titles}}}[datum.value]",
        offset=2, columns=0,
    )  # fmt: skip
