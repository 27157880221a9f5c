"""The tables of the page, and what is taken out of them."""

import csv
import io
import json
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from support import synthetic_run as synthetic
from support.report_pages import render_report


class Tables(HTMLParser):
    """How many cells each row of each table has, the heads of its columns first."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[int]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("th", "td"):
            self.tables[-1][-1] += 1


def in_node(expression: str) -> Any:
    """What an expression gives with the functions of ``tables.js``, outside a page."""
    script = (files("loadcurve.report") / "templates" / "tables.js").read_text(encoding="utf-8")
    page = "const document = { querySelectorAll: () => [] };"
    program = f"{page}\n{script}\nconsole.log(JSON.stringify({expression}));"
    return json.loads(subprocess.run(["node", "-e", program], check=True, capture_output=True).stdout)


def test_every_row_of_a_table_has_a_cell_for_each_of_its_columns(tmp_path: Path):
    tables = Tables(render_report(synthetic.write_run(tmp_path))).tables
    assert len(tables) > 5
    for heads, *rows in tables:
        assert set(rows) <= {heads}


@pytest.mark.needs("node")
@pytest.mark.parametrize("field", ["plain", 'with "quotes"', "with, comma", "two\nlines", "-5"])
def test_a_field_of_csv_is_read_again_as_it_was(field: str):
    written = in_node(f"csvField({json.dumps(field)})")
    [[read]] = list(csv.reader(io.StringIO(written + "\r\n"))) or [[""]]
    assert read == field


@pytest.mark.needs("node")
@pytest.mark.parametrize("formula", ["=1+1", "@SUM(A1)", "+cmd|'/c calc'!A1", "-2+3"])
def test_what_a_spreadsheet_would_compute_stays_a_text(formula: str):
    assert in_node(f"csvField({json.dumps(formula)})") == f"'{formula}"


@pytest.mark.needs("node")
def test_numbers_leave_the_page_without_separators_and_texts_as_they_are():
    assert in_node('["4,200", "0.084", "limit, 2", "200, not reached"].map(plain)') == [
        "4200",
        "0.084",
        "limit, 2",
        "200, not reached",
    ]
