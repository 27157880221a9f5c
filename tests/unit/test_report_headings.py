"""Headings of sections and of columns are named in Python, where every form of the report has them from."""

import re
from importlib.resources import files

from loadcurve.report.column import DOCUMENTS, Cell, Column, Tabulated, words_of
from loadcurve.report.markdown import tabulated

TEMPLATES = files("loadcurve.report") / "templates" / "report"
HEADING = re.compile(r"<(h2|th)\b[^>]*>(.*?)</\1>", re.DOTALL)
FILLED_IN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<[^>]*>", re.DOTALL)


def test_no_template_of_the_report_has_a_heading_of_its_own():
    found = {
        template.name: words
        for template in TEMPLATES.iterdir()
        for _, inner in HEADING.findall(template.read_text(encoding="utf-8"))
        if (words := FILLED_IN.sub("", inner).strip())
    }
    assert found == {}


def test_a_form_has_the_columns_that_are_for_it():
    columns = [
        Column[int]("n", str),
        Column[int]("twice, ms", lambda row: Cell(str(2 * row), margin="1 to 9"), forms=DOCUMENTS),
        Column[int]("page alone", str, forms=("page",)),
    ]
    table = Tabulated(columns, [1, 3])
    assert [one.heading for one in table.on("terminal")] == ["n"]
    assert [words_of(one.cell(3)) for one in table.on("page")] == ["3", "6 (1 to 9)", "3"]
    assert tabulated(table).splitlines()[0] == "| n | twice, ms |"
    assert not Tabulated(columns, [])
