"""The charts of the workbook: throughput and p99 against the sweep, drawn by Excel from its own cells.

Names are references to cells, too: one that is given as text is read as a formula where it begins like one.
"""

from dataclasses import dataclass
from typing import Any

import polars
import xlsxwriter
from xlsxwriter.chart import Chart
from xlsxwriter.utility import xl_range_abs
from xlsxwriter.worksheet import Worksheet

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.report import text
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.formats.workbook_print import print_charts

SHEET = "estimates"
SIZE = {"width": 760, "height": 400}
NO_LINES = {"visible": False}
ROWS_OF_A_CHART = 21
"""Rows of usual height that a chart covers, with one between it and the next."""
MARKERS = {
    "circle": "circle",
    "square": "square",
    "triangle-up": "triangle",
    "diamond": "diamond",
    "cross": "x",
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A measure that has a chart for each slice of the sweep."""

    measure: str
    title: str
    is_logarithmic: bool


def add_charts(
    book: xlsxwriter.Workbook, sheet: Worksheet, analysis: Analysis, estimates: polars.DataFrame
) -> None:
    """Draw each measure along each slice of the sweep; the error bars are the intervals."""
    looks = appearances(analysis.run.servers)
    throughput = f"Throughput, {analysis.load_kind.per_second}"
    measures = (
        Drawn("throughput_rps", throughput, is_logarithmic=False),
        Drawn("latency_p99_ms", "Latency p99, ms", is_logarithmic=True),
    )
    rows = estimates.with_row_index("row", offset=1)
    place = 0
    for part in slices(analysis.points):
        for drawn in measures:
            chart = _chart(book, drawn, part, rows, looks)
            if chart is not None:
                sheet.insert_chart(place * ROWS_OF_A_CHART, 0, chart)
                place += 1
    print_charts(sheet, place, ROWS_OF_A_CHART)


def _chart(
    book: xlsxwriter.Workbook,
    drawn: Drawn,
    part: Slice,
    estimates: polars.DataFrame,
    looks: dict[str, Appearance],
) -> Chart | None:
    """Return a chart; ``None`` where nothing of it was measured."""
    rows = _rows(estimates, drawn, part)
    if rows["value"].null_count() == rows.height:
        return None
    if part.key is None:
        chart: Chart = book.add_chart({"type": "column"})
        chart.add_series(_bars(rows, estimates.columns, looks))
        chart.set_legend({"none": True})
    else:
        chart = book.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
        for server in rows["server"].unique(maintain_order=True):
            of_server = rows.filter(polars.col("server") == server)
            if of_server["value"].null_count() < of_server.height:
                chart.add_series(_line(of_server, estimates.columns, part.key, looks[server]))
        chart.set_legend({"position": "top"})
    note = f", {text.point(part.fixed)}" if part.fixed else ""
    chart.set_title({"name": drawn.title + note, "overlay": False, "name_font": {"size": 13, "bold": True}})
    chart.set_x_axis(
        {"name": [SHEET, 0, _place(estimates.columns, part.key or "server")], "major_gridlines": NO_LINES}
        | ({"log_base": 10} if part.logarithmic else {})
    )
    chart.set_y_axis(
        {"major_gridlines": {"visible": True, "line": {"color": "#dcdcd6"}}, "num_format": "#,##0.###"}
        | ({"log_base": 10, "crossing": "min"} if drawn.is_logarithmic and part.key else {"min": 0})
    )
    chart.set_size(SIZE)
    return chart


def _rows(estimates: polars.DataFrame, drawn: Drawn, part: Slice) -> polars.DataFrame:
    """Return the rows of a measure in one slice; those of a server follow one another in the sheet."""
    of_measure = estimates.filter(polars.col("measure") == drawn.measure)
    for key, value in part.fixed.items():
        of_measure = of_measure.filter(polars.col(key) == value)
    return of_measure


def _bars(rows: polars.DataFrame, columns: list[str], looks: dict[str, Appearance]) -> dict[str, Any]:
    return {
        "categories": _cells(rows, columns, "server"),
        "values": _cells(rows, columns, "value"),
        "points": [{"fill": {"color": looks[server].colour}} for server in rows["server"]],
        "y_error_bars": _error_bars(rows, columns, "#1c1d1f"),
    }


def _line(rows: polars.DataFrame, columns: list[str], key: str, look: Appearance) -> dict[str, Any]:
    first = rows["row"].item(0)
    return {
        "name": [SHEET, first, _place(columns, "server")],
        "categories": _cells(rows, columns, key),
        "values": _cells(rows, columns, "value"),
        "line": {"color": look.colour, "width": 1.75},
        "marker": {
            "type": MARKERS[look.shape],
            "size": 6,
            "fill": {"color": look.colour},
            "border": {"color": look.colour},
        },
        "y_error_bars": _error_bars(rows, columns, look.colour),
    }


def _error_bars(rows: polars.DataFrame, columns: list[str], colour: str) -> dict[str, Any]:
    return {
        "type": "custom",
        "plus_values": _reference(_cells(rows, columns, "above")),
        "minus_values": _reference(_cells(rows, columns, "below")),
        "line": {"color": colour},
    }


def _cells(rows: polars.DataFrame, columns: list[str], name: str) -> list[Any]:
    """Return cells of a column as xlsxwriter names them: sheet, first row and column, last row and column."""
    column = _place(columns, name)
    return [SHEET, rows["row"].item(0), column, rows["row"].item(-1), column]


def _reference(cells: list[Any]) -> str:
    sheet, *ends = cells
    return f"={sheet}!{xl_range_abs(*ends)}"


def _place(columns: list[str], name: str) -> int:
    """Return the number of a column in the sheet, which has no column of row numbers."""
    return [column for column in columns if column != "row"].index(name)
