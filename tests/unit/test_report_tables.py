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


def in_node(expression: str, others: str = "") -> Any:
    """What an expression gives with the functions of ``tables.js``, and others, outside a page."""
    script = (files("loadcurve.report") / "templates" / "tables.js").read_text(encoding="utf-8")
    page = "const document = { querySelectorAll: () => [] };"
    program = f"{page}\n{others}\n{script}\nconsole.log(JSON.stringify({expression}));"
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


def fake_cell(text: str, data: dict[str, str], margin: str | None = None, **parts: str) -> str:
    """A cell in the words of JavaScript, with all that ``tables.js`` asks of one."""
    inner = json.dumps({name: {"textContent": one, "dataset": {"part": name}} for name, one in parts.items()})
    interval = json.dumps(margin and {"textContent": margin})
    return (
        f"(() => {{ const parts = {inner}; return {{ textContent: {json.dumps(text)}, "
        f"dataset: {json.dumps(data)}, querySelectorAll: () => Object.values(parts), "
        f"querySelector: (sought) => sought === '.margin' ? {interval} : "
        """parts[sought.split('"')[1]] ?? null }; })()"""
    )


@pytest.mark.needs("node")
def test_a_cell_that_is_sorted_by_places_leaves_the_page_as_its_figure_with_the_ends_and_the_places():
    texts = ("13,888 (7,500 to 25,719) at rate = 2,000", "unranked — at rate = 2,000", "")
    rows = [
        fake_cell(
            texts[0],
            {"sort": "1.10", "value": "13888.2"},
            "7,500 to 25,719",
            places="1 to 10",
            at="rate = 2,000",
        ),
        fake_cell(texts[1], {"sort": "", "value": ""}, places="—"),
        fake_cell(texts[2], {"sort": ""}),
    ]
    table = f"""{{
        tHead: {{ rows: [{{ cells: [{fake_cell("JSON", {})}] }}] }},
        tBodies: [{{ rows: [{", ".join(f"{{ cells: [{row}] }}" for row in rows)}] }}],
    }}"""
    assert in_node(f"textsOf({table})", "function complete() {}") == [
        ["JSON", "JSON, low", "JSON, high", "JSON, places", "JSON, at"],
        ["13888.2", "7500", "25719", "1 to 10", "rate = 2,000"],
        ["", "", "", "", ""],
        ["", "", "", "", ""],
    ]


def sorted_cells(cells: list[str]) -> list[dict[str, Any]]:
    """Return the cells of a column of texts as a click on its heading sorts them."""
    rows = ", ".join(f"{{ cells: [{one}] }}" for one in cells)
    table = f"{{ tBodies: [{{ rows: [{rows}], append(...sorted) {{ this.rows = sorted; }} }}] }}"
    header = """{
        closest: () => table, cellIndex: 0, getAttribute: () => null, setAttribute() {},
        classList: { contains: () => false }, parentElement: { cells: [] },
    }"""
    found = f"((table) => {{ sortBy({header}); return table.tBodies[0].rows; }})({table})"
    return [row["cells"][0] for row in in_node(found, "function complete() {}")]


@pytest.mark.needs("node")
def test_places_are_sorted_by_the_best_and_then_by_the_worst():
    places = [f"{{ dataset: {{ sort: '{one}' }} }}" for one in ("10.12", "1.10", "2.2", "1.3")]
    in_order = [cell["dataset"]["sort"] for cell in sorted_cells(places)]
    assert in_order == ["1.3", "1.10", "2.2", "10.12"]


@pytest.mark.needs("node")
def test_points_are_sorted_by_whole_numbers_whose_thousands_are_apart():
    rates = ("rate = 2,000", "rate = 500", "rate = 12,500", "rate = 8,000")
    cells = [f"{{ dataset: {{}}, textContent: '{one}' }}" for one in rates]
    in_order = [cell["textContent"] for cell in sorted_cells(cells)]
    assert in_order == ["rate = 500", "rate = 2,000", "rate = 8,000", "rate = 12,500"]
