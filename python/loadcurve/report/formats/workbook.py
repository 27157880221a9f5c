"""The tables as a workbook for Excel: typed cells, a sheet for each table, and charts of its own."""

import contextlib
import io
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from loadcurve.analysis.analysis import Analysis, RunFacts
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.formats.workbook_charts import add_charts

ESTIMATES = "estimates"
REACHES = ("below", "above")
"""Columns of the estimates that only the workbook has: its error bars are lengths, not ends."""
LONGEST_TEXT = 32_767
"""Characters that a cell holds."""
WIDEST_COLUMN = 44

UNITS = {
    "_usd_per_hour": ("$/hour", "0.0000"),
    "_rps": ("requests/s", "#,##0.0"),
    "_bytes": ("bytes", "#,##0"),
    "_share": ("%", "0.0%"),
    "_mib": ("MiB", "#,##0.0"),
    "_ms": ("ms", "#,##0.000"),
    "_us": ("µs", "#,##0.00"),
    "_s": ("s", "#,##0.000"),
}
"""By the end of a column's name: its unit in words, and the number format of its cells."""
FORMATS_BY_UNIT = {
    "requests/s": "#,##0.0",
    "operations/s": "#,##0.0",
    "records/s": "#,##0.0",
    "ms": "#,##0.000",
    "µs": "#,##0.00",
    "MiB": "#,##0.0",
}
"""Number formats of a row of the estimates, which has its unit in a cell."""
COUNT = "#,##0"
PLAIN = "General"


def workbook_bytes(analysis: Analysis, answers: list[str], tables: Mapping[str, polars.DataFrame]) -> bytes:
    """Return the workbook; no text in it is read as a formula or a link, whatever it begins with."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False}) as book:
        _set_properties(book, analysis.run)
        _facts_sheet(book, analysis, answers)
        charts = book.add_worksheet("charts")
        shown = {name: _with_reaches(one) if name == ESTIMATES else one for name, one in tables.items()}
        for name, table in shown.items():
            _table_sheet(book, name, table, analysis.load_kind)
        if ESTIMATES in shown:
            add_charts(book, charts, analysis, shown[ESTIMATES])
    return file.getvalue()


def _set_properties(book: xlsxwriter.Workbook, facts: RunFacts) -> None:
    """Date the workbook by its run, so that the same run gives the same file."""
    properties: dict[str, Any] = {"title": facts.title, "comments": f"Loadcurve {facts.loadcurve_version}"}
    with contextlib.suppress(ValueError):
        properties["created"] = datetime.fromisoformat(facts.started_at)
    book.set_properties(properties)


def _with_reaches(estimates: polars.DataFrame) -> polars.DataFrame:
    value = polars.col("value")
    below, above = REACHES
    return estimates.with_columns(
        (value - polars.col("low")).alias(below), (polars.col("high") - value).alias(above)
    )


def _facts_sheet(book: xlsxwriter.Workbook, analysis: Analysis, answers: list[str]) -> None:
    facts = analysis.run
    sheet = book.add_worksheet("run")
    bold = book.add_format({"bold": True, "valign": "top"})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    rows = [
        ("title", facts.title),
        ("question", facts.question or text.ABSENT),
        *(("answer", answer) for answer in answers),
        ("started at", facts.started_at),
        ("Loadcurve", facts.loadcurve_version),
        ("complete", "yes" if analysis.complete else "no: the run was interrupted before its end"),
        ("to repeat it", facts.repeat),
        *((f"server {name}", _server(facts, name)) for name in facts.servers),
        *text.flattened(facts.host, "host · "),
    ]
    for row, (name, value) in enumerate(rows):
        sheet.write_string(row, 0, name[:LONGEST_TEXT], bold)
        sheet.write_string(row, 1, value[:LONGEST_TEXT], wrapped)
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 1, 110)


def _server(facts: RunFacts, name: str) -> str:
    server = facts.servers[name]
    return f"{server.title} {server.version or ''}".strip() + (
        ", missing" if server.status == "missing" else ""
    )


def _table_sheet(book: xlsxwriter.Workbook, name: str, table: polars.DataFrame, load: LoadKind) -> None:
    sheet = book.add_worksheet(name)
    heading = book.add_format({"bold": True, "bottom": 1, "valign": "top", "text_wrap": True})
    formats = {code: book.add_format({"num_format": code}) for code in _codes()}
    units = table["unit"].to_list() if "unit" in table.columns else None
    for column, (key, kind) in enumerate(table.schema.items()):
        title = _heading(load, key)
        sheet.write_string(0, column, title[:LONGEST_TEXT], heading)
        longest = len(title)
        for row, value in enumerate(table[key].to_list()):
            code = _code(key, kind, units[row] if units else None)
            _write(sheet, row + 1, column, value, formats[code])
            longest = max(longest, len(str(value))) if isinstance(value, str) else longest
        sheet.set_column(column, column, min(longest, WIDEST_COLUMN) + 3)
    sheet.freeze_panes(1, 0)
    if table.width:
        sheet.autofilter(0, 0, max(table.height, 1), table.width - 1)


def _write(sheet: Worksheet, row: int, column: int, value: object, cell: Format) -> None:
    """Write one value as what it is; a null stays an empty cell."""
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, cell)
    elif isinstance(value, int | float):
        sheet.write_number(row, column, value, cell)
    elif isinstance(value, list):
        sheet.write_string(row, column, " ".join(map(str, value))[:LONGEST_TEXT], cell)
    elif value is not None:
        sheet.write_string(row, column, str(value)[:LONGEST_TEXT], cell)


def _codes() -> set[str]:
    return {PLAIN, COUNT, *(code for _, code in UNITS.values()), *FORMATS_BY_UNIT.values()}


def _heading(load: LoadKind, key: str) -> str:
    """Return a column's name in words, with its unit: ``latency p50, ms``."""
    of_load = {"request": load.request, "requests": load.requests}
    key = "_".join(of_load.get(part, part) for part in key.split("_"))
    for end, (unit, _) in UNITS.items():
        if key.endswith(end):
            words = key.removesuffix(end).replace("p99_9", "p99.9").replace("_", " ")
            return f"{words}, {load.per_second if end == '_rps' else unit}"
    return text.key_title(key)


def _code(key: str, kind: polars.DataType, unit: str | None) -> str:
    """Return the number format of a cell."""
    if unit is not None and key in {"value", "low", "high", *REACHES}:
        return FORMATS_BY_UNIT.get(unit, PLAIN)
    if kind.is_integer():
        return COUNT
    return next((code for end, (_, code) in UNITS.items() if key.endswith(end)), PLAIN)
