"""The figures of each operation: of requests by their labels, or of the kinds of operations on databases."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.column import DOCUMENTS, SERVER_WIDTH, SERVERS, WORDS, Cell, Column, Tabulated
from loadcurve.report.load_operations import LATENCIES, MOST_IN_TERMINAL, slowest_first
from loadcurve.report.long_table import measure_cell
from loadcurve.report.markdown import tabulated
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import column_table, point_column
from loadcurve.result.operations import errors_of, latency_of, throughput_of

MOST_POINTS = 4
"""The page has each operation at this many points of a server at most: the first, the last, some between."""
MOST_ROWS = 100
"""The page has this many rows at most, with fewer points where there are many operations or servers."""


class Row(NamedTuple):
    """One operation of one server at one point."""

    server: str
    at: CurvePoint
    operation: str


@dataclass(frozen=True, slots=True)
class ByOperation:
    """The table of operations, and what of it a terminal shows."""

    table: Tabulated[Row]
    last: list[Row]
    """Each operation at the last usable point of each server, the slowest of a server first."""
    shortened: bool
    """Whether points or rows are left out."""


def _by_operation(report: Report) -> ByOperation | None:
    """Return the table; ``None`` where no operation has figures that are not the load's."""
    analysis = report.analysis
    usable = {
        curve.server: [at for at in curve.points if at.usable and _labels_at(analysis, at)]
        for curve in analysis.curves
    }
    measured = {server: points for server, points in usable.items() if points}
    if not measured:
        return None
    each = MOST_ROWS // (len(measured) * len(analysis.labels))
    chosen = {
        server: text.evenly(points, min(each, MOST_POINTS)) if each > 1 else points[-1:]
        for server, points in measured.items()
    }
    rows = [
        Row(server, at, label)
        for server, points in chosen.items()
        for at in points
        for label in _labels_at(analysis, at)
    ]
    last = [
        row
        for server, points in measured.items()
        for row in slowest_first(
            [Row(server, points[-1], label) for label in _labels_at(analysis, points[-1])],
            partial(_latency_ms, analysis.load_kind),
        )
    ]
    left_out = len(rows) > MOST_ROWS or sum(map(len, chosen.values())) < sum(map(len, measured.values()))
    return ByOperation(Tabulated(_columns(analysis), rows[:MOST_ROWS]), last, left_out)


def _labels_at(analysis: Analysis, at: CurvePoint) -> list[str]:
    kind = analysis.load_kind
    return [label for label in analysis.labels if at.estimate(throughput_of(kind, label)) is not None]


def _latency_ms(kind: LoadKind, row: Row, statistic: str) -> float | None:
    found = row.at.estimate(latency_of(kind, row.operation, statistic))
    return None if found is None else found.value


def _columns(analysis: Analysis) -> list[Column[Row]]:
    kind = analysis.load_kind
    return [
        Column("server", lambda row: row.server, on_page="server", forms=DOCUMENTS),
        *(
            Column(text.key_title(key), partial(_setting, key), on_page="figure", forms=DOCUMENTS)
            for key in analysis.keys
        ),
        Column(kind.request, lambda row: row.operation, WORDS, on_page="code"),
        Column(
            kind.per_second,
            lambda row: measure_cell(throughput_of(kind, row.operation), row.at),
            on_page="figure",
        ),
        *(Column(f"{name}, ms", partial(_latency_cell, kind, name), on_page="figure") for name in LATENCIES),
        Column("longest, ms", lambda row: _longest(kind, row), on_page="figure", forms=DOCUMENTS),
        *([] if kind.by_operation else [Column("errors", _errors, on_page="figure")]),
    ]


def _setting(key: str, row: Row) -> Cell:
    return Cell(text.point_values(row.at.point, [key]), row.at.point.get(key))


def _latency_cell(kind: LoadKind, statistic: str, row: Row) -> Cell:
    return measure_cell(latency_of(kind, row.operation, statistic), row.at)


def _longest(kind: LoadKind, row: Row) -> Cell:
    """Return the longest latency of any usable trial: a maximum merges by taking the greatest."""
    values = row.at.values(latency_of(kind, row.operation, "max"))
    known = [value for place in row.at.usable if (value := values[place]) is not None]
    longest = max(known, default=None)
    return Cell(units.number(longest), longest)


def _errors(row: Row) -> Cell:
    known = [value for value in row.at.values(errors_of(row.operation)) if value is not None]
    return Cell(f"{sum(known):,.0f}", sum(known)) if known else Cell(units.ABSENT, None)


def _in_terminal(report: Report, found: ByOperation | None) -> Iterable[RenderableType]:
    if found is None:
        return
    analysis, servers = report.analysis, list(dict.fromkeys(row.server for row in found.last))
    each = max(1, MOST_IN_TERMINAL // len(servers))
    by_server = {server: [row for row in found.last if row.server == server] for server in servers}
    shown = [row for rows in by_server.values() for row in rows[:each]]
    names = text.shortened(servers, SERVER_WIDTH)
    firsts = {id(rows[0]) for rows in by_server.values()}
    columns: list[Column[Row]] = [
        Column("server", lambda row: names[row.server] if id(row) in firsts else "", SERVERS),
        point_column(
            analysis.keys,
            lambda row: text.point_values(row.at.point, analysis.keys) if id(row) in firsts else "",
        ),
        *found.table.on("terminal"),
    ]
    at = " at the last point" if analysis.keys else ""
    yield Text(f"\neach {analysis.load_kind.request}{at}, the slowest first", style="bold")
    yield column_table(shown, columns)
    if len(found.last) > len(shown):
        more = units.plural(len(found.last) - len(shown), "more row")
        yield Text(f"{more}, faster than these, in the report", style="dim")


def _heading(report: Report, _found: ByOperation | None) -> str:
    return "Kinds of operations" if report.analysis.load_kind.by_operation else _heading_of_each(report)


def _heading_of_each(report: Report, _found: ByOperation | None = None) -> str:
    return f"Each {report.analysis.load_kind.request}"


BY_OPERATION: Section[ByOperation | None] = Section(
    "by_operation",
    "the table of operations",
    _by_operation,
    None,
    page="operations",
    terminal=_in_terminal,
    markdown=lambda _, found: [tabulated(found.table)] if found else [],
    heading=_heading,
    markdown_heading=_heading_of_each,
)
