"""The figures of a soak over time, in every form of the report."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.explain.soak import MEASURES_IN_ORDER, OverTime, ShownTrend, over_time, shown_trends
from loadcurve.explain.subject import subjects
from loadcurve.report import text
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.over_time import over_time_figure
from loadcurve.report.column import FIGURES, NAMES, Column
from loadcurve.report.markdown import table_lines
from loadcurve.report.section import Grid, Report, Section
from loadcurve.report.terminal_tables import column_table
from loadcurve.stats.trend import LEAST_VALUES

HEADING: Final = "Over time"
NAMES_FIRST: Final = 3
"""The columns of the table of trends that are words; figures follow."""


@dataclass(frozen=True, slots=True)
class MeasureOverTime:
    """A measure of a soak, and its chart."""

    heading: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class Soak:
    """The figures of a soak over time, and those that rise or fall as a table."""

    measures: list[MeasureOverTime]
    conclusion: str
    trends: Grid | None


def _found(report: Report) -> Soak | None:
    every = [one for subject in subjects(report.run) for one in over_time(subject)]
    if not every:
        return None
    by_measure: dict[str, list[OverTime]] = {}
    # A measure that the first point lacks comes in its place all the same.
    for one in sorted(every, key=lambda one: MEASURES_IN_ORDER.index(one.measure.name)):
        by_measure.setdefault(one.measure.heading, []).append(one)
    starts_s = sorted({one.since_s for one in every if one.since_s > one.times_s[0]})
    drawn = [
        MeasureOverTime(heading, over_time_figure(lines, report.looks, starts_s))
        for heading, lines in by_measure.items()
    ]
    trends = shown_trends(every)
    return Soak(drawn, _conclusion(every, len(trends)), _grid(trends) if trends else None)


def _conclusion(every: Sequence[OverTime], trends: int) -> str:
    """Say how many figures have a trend, and whether that could be asked."""
    asked = sum(one.trend is not None for one in every)
    anew = list(dict.fromkeys(one.server for one in every if one.is_of_last_start))
    over = "" if anew else " over the run"
    only = f" Of {units.listing(anew)} only the trials since the last start count." if anew else ""
    if not asked:
        return f"Fewer than {LEAST_VALUES} trials show no trend.{only}"
    if not trends:
        return f"No figure of {asked} rises or falls{over}.{only}"
    verb = "rises or falls" if trends == 1 else "rise or fall"
    return f"{units.plural(trends, 'figure')} of {asked} {verb}{over}.{only}"


def _grid(trends: Sequence[ShownTrend]) -> Grid:
    columns: list[Column[ShownTrend]] = [
        Column("server", lambda one: one.figure.server),
        Column("at", lambda one: text.point(one.figure.point)),
        Column("figure", lambda one: one.figure.measure.heading),
        Column("at first", lambda one: units.number(one.trend.start)),
        Column("at last", lambda one: units.number(one.trend.end)),
        Column("per hour (95 %)", _per_hour),
    ]
    return Grid.of(trends, columns)


def _per_hour(one: ShownTrend) -> str:
    slope = one.trend.slope_per_hour
    value, low, high = map(units.number, (slope.value, slope.low, slope.high))
    return f"{value} ({low} to {high})"


def _in_terminal(_report: Report, soak: Soak | None) -> Iterator[RenderableType]:
    if soak is None:
        return
    yield ""
    yield Text(HEADING.lower(), style="bold")
    yield Text(soak.conclusion)
    if soak.trends is not None:
        # The interval is on the page: a terminal has 80 columns.
        titles = [*soak.trends.titles[:-1], "per hour"]
        columns: list[Column[list[str]]] = [
            Column(
                title,
                lambda row, place=place: row[place].partition(" (")[0],  # type: ignore[misc]
                NAMES if place < NAMES_FIRST else FIGURES,
            )
            for place, title in enumerate(titles)
        ]
        yield column_table(soak.trends.rows, columns)


def _in_markdown(_report: Report, soak: Soak | None) -> Iterable[str]:
    if soak is None:
        return
    yield soak.conclusion
    if soak.trends is not None:
        yield table_lines(soak.trends.titles, soak.trends.rows)


OVER_TIME: Section[Soak | None] = Section(
    "over_time",
    "the figures over time",
    _found,
    None,
    page="over_time",
    terminal=_in_terminal,
    markdown=_in_markdown,
    heading=HEADING,
)
