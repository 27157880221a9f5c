"""The figures of single trials, from which the page makes the table of a point that is chosen."""

from collections.abc import Iterator
from dataclasses import dataclass

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.charts.figure import Figure, Row
from loadcurve.report.charts.time import panel_figure
from loadcurve.report.columns import Columns, columns
from loadcurve.report.section import Report, Section
from loadcurve.report.timeline import Timeline, timeline
from loadcurve.result.measures import MEASURES, point_key

TRIAL_MEASURES = (
    *("throughput", "p50", "p90", "p99", "max"),
    *("cpu_share", "cpu_per_request_us", "memory_mean_mib"),
)
"""The measures in the table of trials."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Every point of every trial, for the reader to choose from, and some of them over time."""

    rows: Columns
    points: list[str]
    findings: list[Row]
    """Where each finding was seen, in their order."""
    timeline: Timeline | None
    panels: dict[str, Figure]
    """The figures over time by the titles of their panels, the uppermost first."""


def trial_titles(load: LoadKind) -> dict[str, str]:
    """Return the columns of the table of trials, with their titles."""
    return {
        "trial": "trial",
        "throughput": load.per_second,
        "p50": "p50, ms",
        "p90": "p90, ms",
        "p99": "p99, ms",
        "max": "longest, ms",
        "cpu_share": "CPUs in use",
        "cpu_per_request_us": f"CPU per {load.request}, µs",
        "memory_mean_mib": "memory, MiB",
        "failed": f"failed {load.requests}",
        "verdict": "verdict",
    }


def findings_of_trials(analysis: Analysis) -> list[Row]:
    """Return where each finding was seen, in their order: its server, trials, the places of its points."""
    places = {point_key(point): place for place, point in enumerate(analysis.points)}
    return [
        {
            "server": finding.server,
            "trials": finding.trials,
            "places": [places[key] for point in finding.points if (key := point_key(point)) in places],
            "seen": finding.seen,
        }
        for finding in analysis.findings
    ]


def trial_columns(analysis: Analysis) -> Columns:
    """Return every measured point of every trial: its server, the place of its point, and its figures."""
    return columns(
        [
            row
            for curve in analysis.curves
            for place, at in enumerate(curve.points)
            for row in _rows(curve.server, place, at)
        ]
    )


def _rows(server: str, place: int, at: CurvePoint) -> Iterator[Row]:
    figures = {name: at.values(MEASURES[name]) for name in TRIAL_MEASURES}
    for number, (trial, verdict) in enumerate(zip(at.trials, at.verdicts, strict=True)):
        yield {
            "server": server,
            "place": place,
            "trial": str(trial),
            **{name: units.number(values[number]) for name, values in figures.items()},
            "failed": units.ABSENT if (failed := at.requests.failed[number]) is None else f"{failed:,}",
            "verdict": verdict,
        }


def _trials(report: Report) -> Trials | None:
    run, analysis, shown = report.run, report.analysis, report.of(TIMELINE)
    if not run.points:
        return None
    panels = shown.panels if shown else []
    return Trials(
        rows=trial_columns(analysis),
        points=[text.point(point) for point in run.sweep_points],
        findings=findings_of_trials(analysis),
        timeline=shown,
        panels={
            panel.title: panel_figure(panel, is_lowest=panel is panels[-1], load=run.kind) for panel in panels
        },
    )


TIMELINE: Section[Timeline | None] = Section(
    "timeline",
    "single trials over time",
    lambda report: timeline(report.run, report.analysis.findings),
    None,
)
TRIALS: Section[Trials | None] = Section("trials", "single trials", _trials, None, page="trials")
