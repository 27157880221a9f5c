"""The rows of a long table come when they are wanted: shown, sorted, or taken along."""

from pathlib import Path

import pytest

from support import synthetic_run as synthetic
from support.opened_report import Opened, OpenReport
from support.report_pages import render_report

FIRST, ALL = 5, 24
"""Rows that are on the page from the first, and all: three servers at eight points."""
TABLE = "table.sortable"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The report of the same run with a whole table, and with one that is cut short."""
    folder = tmp_path_factory.mktemp("long-table")
    run = synthetic.write_run(folder / "run")
    paths = (folder / "whole.html", folder / "short.html")
    for path, most in zip(paths, (100, FIRST), strict=True):
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr("loadcurve.report.long_table.MOST_ROWS", most)
            monkeypatch.setattr("loadcurve.report.html.MOST_ROWS", most)
            path.write_text(render_report(run), encoding="utf-8")
    return paths


def body(opened: Opened) -> str:
    """All texts, elements and attributes of the table, in their order, but the blanks between elements."""
    found: str = opened.page.locator(f"{TABLE} tbody").evaluate(
        """(body) => {
          const said = ({ name, value }) =>
            // A number may be written with a zero behind its point, or without.
            `${name}=${name === "data-sort" && value !== "" ? Number(value) : value}`;
          const described = (node) => {
            if (node.nodeType === Node.TEXT_NODE) return [node.textContent.trim()];
            const attributes = [...node.attributes].map(said).sort().join(" ");
            return [`${node.localName} ${attributes}`, ...[...node.childNodes].flatMap(described)];
          };
          return described(body).filter((one) => one !== "").join("\\n");
        }"""
    )
    return found


def test_all_rows_become_the_same_as_if_they_had_stood_there(
    open_report: OpenReport, reports: tuple[Path, Path]
):
    whole, short = map(open_report, reports)
    assert short.page.locator(f"{TABLE} tbody tr").count() == FIRST
    short.page.get_by_role("button", name="Show all of them").click()
    assert short.page.locator(f"{TABLE} tbody tr").count() == ALL
    assert body(short) == body(whole)
    assert short.page.locator("#rest-notice").count() == 0
    # A row that came later leads to its trials, too.
    short.page.locator(f"{TABLE} tbody tr").last.locator("button").click()
    assert short.page.locator("#trial-server").input_value() == "tiny"
    assert short.page.locator("#trial-point").input_value() == str(len(synthetic.CONNECTIONS) - 1)
    assert short.complaints == []


def test_sorting_and_taking_along_have_all_rows(open_report: OpenReport, reports: tuple[Path, Path]):
    _, path = reports
    sorted_page, taken = open_report(path).page, open_report(path).page
    sorted_page.locator(f"{TABLE} th button", has_text="requests/s").click()
    assert sorted_page.locator(f"{TABLE} tbody tr").count() == ALL
    with taken.expect_download() as download:
        taken.locator("section[aria-labelledby=numbers] .tools button", has_text="CSV").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + ALL
