"""The table of all figures: its first rows as they are on the page, the others as data until asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, CurvePoint, VerdictStatus
from loadcurve.report import text
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Row
from loadcurve.report.charts.sweep import SHOWN_RESOURCES
from loadcurve.report.column import (
    DOCUMENTS,
    MARKDOWN,
    NO_TABLE,
    PAGE,
    SERVER_WIDTH,
    SERVERS,
    WRAPPED,
    WRAPPED_FIGURES,
    Cell,
    Column,
    Form,
    Layout,
    Tabulated,
)
from loadcurve.report.columns import Columns
from loadcurve.report.columns import columns as stored_columns
from loadcurve.report.figures import SHOWN_LATENCIES
from loadcurve.report.judged import LATE_WORDS, Judged, left_out_words, limits_words
from loadcurve.report.markdown import table_of_words
from loadcurve.report.percentile_marks import Mark, marked, marks_of
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import column_table, point_column
from loadcurve.result.distribution import PERCENTILES, samples_needed
from loadcurve.result.measures import MEASURES, THROUGHPUT, Measure, measures, point_key

MOST_ROWS = 100
"""This many rows are on the page from the first; a longer table would keep the browser busy unread."""
MOST_IN_TERMINAL, MOST_IN_MARKDOWN = 6, 8
"""There a server has at most this many rows, or more if more points are next to a capacity."""
SHOWN_PERCENTILES = ("p50", "p99")
"""The percentiles in the terminal."""
ALL_PERCENTILES = tuple(name for name in SHOWN_LATENCIES if name != "max")
"""Those of the page and of Markdown."""

_STYLES: dict[VerdictStatus | None, str] = {
    "valid": "green",
    "suspect": "yellow",
    "invalid": "red",
    None: "dim",
}


class _Figure(NamedTuple):
    """A column of figures."""

    heading: str
    cell: Callable[[str, CurvePoint], Cell]
    """What it has of a server at a point."""
    forms: Sequence[Form] = DOCUMENTS


@dataclass(frozen=True, slots=True)
class TableRow:
    """One server at one point."""

    server: str
    place: int
    """The place of its point in the list of all points."""
    figures: list[Cell]
    """The cells between the server and the trials, in the order of the columns."""
    trials: Cell
    verdict: VerdictStatus | None


def _figures(report: Report) -> list[_Figure]:
    """Return the columns of figures: settings, throughput, latencies, limits, resources, failed requests."""
    kind = report.run.kind
    judged = Judged(report.analysis)
    limits = [_Figure("limits", partial(_limits_cell, judged))] if judged else []
    return [
        *(_Figure(text.key_title(key), _of_point(_setting_cell, key)) for key in report.analysis.keys),
        _Figure(kind.per_second, _of_point(measure_cell, THROUGHPUT)),
        *(_Figure(f"{name}, ms", _of_point(_percentile_cell, name)) for name in ALL_PERCENTILES),
        _Figure("longest, ms", _of_point(_longest_cell)),
        *limits,
        *(
            _Figure(measures(kind)[name].heading, _of_point(measure_cell, MEASURES[name]), forms=PAGE)
            for name in SHOWN_RESOURCES
        ),
        _Figure(f"failed {kind.requests}", _of_point(_failed_cell), forms=PAGE),
    ]


def _of_point(cell: Callable[..., Cell], *of_what: object) -> Callable[[str, CurvePoint], Cell]:
    """Return what a column has of a point, whichever server it is of."""
    return lambda _, at: cell(*of_what, at)


def _longest_cell(at: CurvePoint) -> Cell:
    return Cell(units.number(at.latency_max_ms), at.latency_max_ms)


def _limits_cell(judged: Judged, server: str, at: CurvePoint) -> Cell:
    one = judged.at(server, at)
    trials = one and one.held + one.failed
    return Cell(limits_words(one), one.held / trials if one and trials else None)


def _setting_cell(key: str, at: CurvePoint) -> Cell:
    return Cell(units.setting(at.point[key]), at.point[key]) if key in at.point else Cell(units.ABSENT, None)


def measure_cell(measure: Measure, at: CurvePoint) -> Cell:
    """Return the estimate of a measure at a point, with its interval as the margin."""
    estimate = at.estimate(measure)
    value = estimate.value if estimate else None
    # A line may break before the upper end, in narrow columns, but not within two words of it.
    ends = text.interval(estimate)
    return Cell(units.number(value), value, ends and ends.replace(" to ", "\N{NO-BREAK SPACE}to "))


def _percentile_cell(statistic: str, at: CurvePoint) -> Cell:
    cell = measure_cell(MEASURES[statistic], at)
    return replace(cell, shown=marked(cell.shown, at, statistic))


def _failed_cell(at: CurvePoint) -> Cell:
    failed = at.failed_requests
    return Cell(units.ABSENT if failed is None else f"{failed:,}", failed)


def rest_of(rows: Sequence[TableRow], looks: Mapping[str, Appearance]) -> dict[str, Any] | None:
    """Return the rows that are not on the page, for ``long_table.js``; ``None`` where all do."""
    rest = rows[MOST_ROWS:]
    if not rest:
        return None
    stored: Columns = stored_columns([_row(row) for row in rest])
    servers = dict.fromkeys(row.server for row in rest)
    symbols = {name: {"outline": looks[name].outline, "colour": looks[name].colour} for name in servers}
    return {"figures": len(rest[0].figures), "symbols": symbols, "rows": stored}


def _row(row: TableRow) -> Row:
    cells = {
        f"{name}-{number}": value for number, cell in enumerate(row.figures) for name, value in _cell(cell)
    }
    trials = {f"{name}-trials": value for name, value in _cell(row.trials)}
    return {"server": row.server, "place": row.place, "verdict": row.verdict, **cells, **trials}


def _cell(cell: Cell) -> list[tuple[str, str | float | None]]:
    return [("shown", cell.shown), ("sort", cell.sort), ("margin", cell.margin)]


def _columns(figures: Sequence[_Figure]) -> list[Column[TableRow]]:
    return [
        Column("server", lambda row: row.server, on_page="server"),
        *(
            Column(one.heading, partial(_figure_of, place), on_page="figure", forms=one.forms)
            for place, one in enumerate(figures)
        ),
        Column("usable trials", lambda row: row.trials, on_page="trials", forms=PAGE),
        Column("worst verdict", lambda row: row.verdict or "not measured", on_page="verdict", forms=PAGE),
        Column("verdict", lambda row: row.verdict or units.ABSENT, forms=MARKDOWN),
    ]


def _figure_of(place: int, row: TableRow) -> Cell:
    return row.figures[place]


def _rows(analysis: Analysis, figures: Sequence[_Figure]) -> list[TableRow]:
    return [
        TableRow(
            curve.server,
            place,
            [one.cell(curve.server, at) for one in figures],
            Cell(_usable_trials(at), len(at.usable)),
            at.verdict,
        )
        for curve in analysis.curves
        for place, at in enumerate(curve.points)
        if at.trials or not at.ended_before
    ]


def _usable_trials(at: CurvePoint) -> str:
    ended = len(at.ended_before)
    return f"{len(at.usable)} of {len(at.trials)}" + (f", {ended} ended before" if ended else "")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The table of all figures."""

    table: Tabulated[TableRow]
    rest: dict[str, Any] | None
    """The rows that the page holds as data, of a long table."""
    marks: list[Mark]
    """Those of percentiles in the table."""
    limits_words: str | None = None
    """What the cells of the limits mean; ``None`` without limits."""


def _numbers(report: Report) -> Numbers:
    figures = _figures(report)
    rows = _rows(report.analysis, figures)
    return Numbers(
        Tabulated(_columns(figures), rows),
        rest_of(rows, report.looks),
        marks_of((at for curve in report.analysis.curves for at in curve.points), ALL_PERCENTILES),
        limits_words=LATE_WORDS if Judged(report.analysis) else None,
    )


def _in_terminal(report: Report, _found: Numbers) -> Sequence[RenderableType]:
    return [summary_table(report.analysis), *_marks(report.analysis)]


def _in_short(analysis: Analysis, judged: Judged) -> list[tuple[Curve, list[CurvePoint]]]:
    """Return each curve with the points of it that the terminal shows."""
    return [(curve, judged.shown(curve, MOST_IN_TERMINAL)) for curve in analysis.curves]


def _marks(analysis: Analysis) -> list[Text]:
    """Return what the table leaves out, and what the marks at its percentiles mean, where there are any."""
    judged = Judged(analysis)
    shown = _in_short(analysis, judged)
    points = [at for _, of_curve in shown for at in of_curve]
    left_out = left_out_words(judged, shown)
    marks = [left_out] if left_out else []
    if any((one := judged.at(curve.server, at)) and one.was_late for curve, row in shown for at in row):
        marks.append(LATE_WORDS)
    if lacking := [name for name in SHOWN_PERCENTILES if any(_has_too_few(at, name) for at in points)]:
        required = units.listing(f"{name} requires {_required(name)}" for name in lacking)
        marks.append(f"{units.ABSENT} too few answers: {required} in a trial; a longer load gives more")
    marks += map(str, marks_of(points, SHOWN_PERCENTILES))
    return [Text(mark, style="dim") for mark in marks]


def _required(percentile: str) -> int:
    return samples_needed(PERCENTILES[percentile])


def _has_too_few(at: CurvePoint, percentile: str) -> bool:
    """Say whether a percentile has no figure because the trials of a point have too few answers for it."""
    if at.estimate(MEASURES[percentile]) is not None or at.estimate(THROUGHPUT) is None:
        return False
    return min(at.requests.due, default=0) < _required(percentile)


def as_wide_as(word: str) -> Layout:
    """Return a layout of words that break between them, and not within this one."""
    return {**WRAPPED, "min_width": len(word)}


def summary_table(analysis: Analysis) -> Table:
    """Return throughput with its interval, median and p99 of each server at a few points; 80 columns.

    A server without a measured point has one row that says so. Names are shown as they are, not as markup.
    """
    names = text.shortened(analysis.run.servers, SERVER_WIDTH)
    judged = Judged(analysis)
    shown = {curve.server: points for curve, points in _in_short(analysis, judged)}
    failed = {one.server for one in analysis.failures}
    rows: list[_Summary] = []
    for name, server in analysis.run.servers.items():
        points = shown.get(name, [])
        if not points:
            reason = (
                "failed" if name in failed else "missing" if server.status == "missing" else "not measured"
            )
            rows.append(_Summary(names[name], name, None, Text(reason, style="dim")))
        for place, at in enumerate(points):
            rows.append(_Summary(names[name] if place == 0 else "", name, at, _verdict(at)))
    columns: list[Column[_Summary]] = [
        Column("server", lambda row: row.shown_name, SERVERS),
        point_column(
            analysis.keys, lambda row: row.shown(lambda at: text.point_values(at.point, analysis.keys))
        ),
        Column(
            analysis.load_kind.per_second,
            lambda row: row.shown(lambda at: text.short_estimate(at.estimate(THROUGHPUT))),
            WRAPPED_FIGURES,
        ),
        *(Column(f"{name} ms", partial(_percentile_of_row, name)) for name in SHOWN_PERCENTILES),
        *([Column("limits", partial(_limits_of_row, judged), as_wide_as("failed"))] if judged else []),
        Column("verdict", lambda row: row.verdict, as_wide_as("suspect")),
    ]
    return column_table(rows, columns)


def _verdict(at: CurvePoint) -> Text:
    words, status = text.verdict(at.verdicts)
    return Text(words, style=_STYLES[status])


class _Summary(NamedTuple):
    """A row in the terminal; without a point, of a server that was not measured."""

    shown_name: str
    """Empty in all rows of a server but its first."""
    server: str
    at: CurvePoint | None
    verdict: Text

    def shown(self, words: Callable[[CurvePoint], str]) -> str:
        return units.ABSENT if self.at is None else words(self.at)


def _percentile_of_row(statistic: str, row: _Summary) -> str:
    return row.shown(lambda at: _percentile_cell(statistic, at).shown)


def _limits_of_row(judged: Judged, row: _Summary) -> str:
    return row.shown(lambda at: limits_words(judged.at(row.server, at)))


def _in_markdown(report: Report, found: Numbers) -> Sequence[str]:
    judged = Judged(report.analysis)
    tables = [(curve, judged.shown(curve, MOST_IN_MARKDOWN)) for curve in report.analysis.curves]
    chosen = {(curve.server, point_key(at.point)) for curve, points in tables for at in points}
    all_points = report.analysis.points
    shown = [row for row in found.table.rows if (row.server, point_key(all_points[row.place])) in chosen]
    if not shown:
        return []
    explained = (
        "Geometric means over the usable trials, with their 95 % intervals in brackets; the longest "
        "latency is that of all trials together."
    )
    explained += "".join(f" {mark.sign}: {mark.words}." for mark in found.marks)
    if left_out := left_out_words(judged, tables):
        explained += f" {left_out} in its other formats."
    return [table_of_words(shown, found.table.on("markdown")), explained]


NUMBERS = Section(
    "numbers",
    "the table of all figures",
    _numbers,
    Numbers(NO_TABLE, None, []),
    page="numbers",
    terminal=_in_terminal,
    markdown=_in_markdown,
    heading="The numbers",
    markdown_heading="Curve",
)
