"""The tables as a workbook for Excel: typed cells, a sheet for each table, and its own charts."""

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from loadcurve import units
from loadcurve.analysis.analysis import Analysis, RunFacts
from loadcurve.loads.kinds import LoadKind
from loadcurve.report import text
from loadcurve.report.formats.tables import TABLES
from loadcurve.report.formats.workbook_charts import add_charts
from loadcurve.report.formats.workbook_print import fit_height, print_facts, print_table
from loadcurve.report.ranking import RANKING
from loadcurve.report.section import Report
from loadcurve.report.servers import title_with_version

ESTIMATES = "estimates"
REACHES = ("below", "above")
"""Columns of the estimates that only the workbook has: its error bars are lengths, not ends."""
LONGEST_TEXT = 32_767
"""Characters that a cell holds."""
LONGEST_LINE = 64
"""Characters of a text that has one line; a longer one has several in a column of ``PROSE_WIDTH``."""
PROSE_WIDTH = 44
NARROWEST_COLUMN = 6
ROOM = 3
"""Characters beside the longest one, for the button of the filter."""

UNITS = {
    "_usd_per_hour": ("$/hour", "0.0000"),
    "_rps": ("requests/s", "#,##0.0"),
    "_per_s": ("per second", "#,##0.0"),
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
    "handshakes/s": "#,##0.0",
    "share": "0.0%",
    "ms": "#,##0.000",
    "µs": "#,##0.00",
    "MiB": "#,##0.0",
}
"""Number formats of a row of the estimates, which has its unit in a cell."""
COUNT = "#,##0"
PLAIN = "General"
ANY_FRACTION = "#,##0.0000"
SMALL = "0.00E+00"
LEAST_FRACTION = 1e-3
"""Smaller numbers without a unit are written with a power of ten."""
FACTS_WIDTHS = (32, 80)
"""Of the names and the values on the first sheet, in characters."""


def workbook_bytes(report: Report) -> bytes:
    """Return the workbook; no text in it is read as a formula or a link, whatever it begins with."""
    file, analysis, ranking = io.BytesIO(), report.analysis, report.of(RANKING)
    answers = ranking.sentences if ranking else []
    with xlsxwriter.Workbook(file, {"in_memory": True, "strings_to_formulas": False}) as book:
        _set_properties(book, analysis.run)
        _facts_sheet(book, analysis, answers)
        charts = book.add_worksheet("charts")
        tables = report.of(TABLES)
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
    bold = book.add_format({"bold": True, "valign": "top", "text_wrap": True})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    rows = [
        ("title", facts.title),
        ("question", facts.question or units.ABSENT),
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
        fit_height(sheet, row, zip(FACTS_WIDTHS, (name, value), strict=True))
    for column, width in enumerate(FACTS_WIDTHS):
        sheet.set_column(column, column, width)
    print_facts(sheet)


def _server(facts: RunFacts, name: str) -> str:
    server = facts.servers[name]
    return title_with_version(server) + (", missing" if server.status == "missing" else "")


def _table_sheet(book: xlsxwriter.Workbook, name: str, table: polars.DataFrame, load: LoadKind) -> None:
    sheet = book.add_worksheet(name)
    numbers = {code: book.add_format({"num_format": code, "valign": "top"}) for code in _codes()}
    # Text is kept off the numbers to its left.
    text_format, prose_format = (
        book.add_format({"valign": "top", "indent": 1, "text_wrap": wraps}) for wraps in (False, True)
    )
    cells = Cells(numbers, text_format, prose_format)
    units = table["unit"].to_list() if "unit" in table.columns else None
    titles = [_heading(load, key) for key in table.columns]
    widths = []
    long_texts: dict[int, list[tuple[int, str]]] = {}
    for column, (key, kind) in enumerate(table.schema.items()):
        longest = max(NARROWEST_COLUMN, *map(len, titles[column].split()))
        for row, value in enumerate(table[key].to_list(), start=1):
            code = _code(key, kind, units[row - 1] if units else None)
            length = cells.write(sheet, row, column, value, code)
            longest = max(longest, length)
            if length > LONGEST_LINE:
                long_texts.setdefault(row, []).append((PROSE_WIDTH, str(value)))
        widths.append((PROSE_WIDTH if longest > LONGEST_LINE else longest) + ROOM)
        sheet.set_column(column, column, widths[-1])
        side = "right" if kind.is_numeric() else "left"
        heading = {"bold": True, "bottom": 1, "valign": "top", "text_wrap": True, "align": side}
        indented = {} if kind.is_numeric() else {"indent": 1}
        sheet.write_string(0, column, titles[column][:LONGEST_TEXT], book.add_format(heading | indented))
    fit_height(sheet, 0, zip(widths, titles, strict=True))
    for row, texts in long_texts.items():
        fit_height(sheet, row, texts)
    sheet.freeze_panes(1, 0)
    print_table(sheet, widths, table.height)
    if table.width:
        sheet.autofilter(0, 0, max(table.height, 1), table.width - 1)


@dataclass(frozen=True, slots=True)
class Cells:
    """Writes values as what they are: numbers in the format of their code, and texts."""

    numbers: Mapping[str, Format]
    text: Format
    prose: Format
    """Of texts that go on in a second line."""

    def write(self, sheet: Worksheet, row: int, column: int, value: object, code: str) -> int:
        """Write one value and return its length in characters; a null stays an empty cell."""
        if value is None:
            return 0
        if isinstance(value, bool):
            sheet.write_boolean(row, column, value, self.numbers[PLAIN])
            return len(str(value))
        if isinstance(value, int | float):
            code = _code_without_unit(value) if code == PLAIN else code
            sheet.write_number(row, column, value, self.numbers[code])
            return _length(value, code)
        words = " ".join(map(str, value)) if isinstance(value, list) else str(value)
        layout = self.prose if len(words) > LONGEST_LINE else self.text
        sheet.write_string(row, column, words[:LONGEST_TEXT], layout)
        return len(words)


def _length(value: float, code: str) -> int:
    if code in (PLAIN, SMALL):
        return len(str(value)) if code == PLAIN else len(f"{value:.2e}")
    decimals = len(code.rstrip("%").partition(".")[2])
    return len(f"{value:,.{decimals}f}")


def _code_without_unit(value: float) -> str:
    """Return the format of a number of any kind, such as a ratio, a count or a p-value."""
    if float(value).is_integer():
        return PLAIN
    return ANY_FRACTION if abs(value) >= LEAST_FRACTION else SMALL


def _codes() -> set[str]:
    of_units = (code for _, code in UNITS.values())
    return {PLAIN, SMALL, ANY_FRACTION, COUNT, *of_units, *FORMATS_BY_UNIT.values()}


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
