"""The index page of ``loadcurve runs --html``: what it lists and where it leads."""

from pathlib import Path

from loadcurve.report.runs import list_runs
from loadcurve.report.runs_page import write_index
from support import synthetic_run as synthetic
from support.opened_report import OpenReport
from support.run_pages import HOSTILE, HOSTILE_FOLDER


def test_the_runs_stand_newest_first_with_question_answer_and_what_was_measured(
    open_report: OpenReport, index: Path
):
    page = open_report(index).page
    rows = page.locator("table.runs tbody tr")
    assert [row.locator(".started").inner_text() for row in rows.all()] == [
        "2026-03-15 08:00", "2026-03-14 09:26", "2026-01-02 23:10",
    ]  # fmt: skip
    first = rows.nth(1)
    assert first.locator("a").inner_text() == synthetic.Texts().title
    assert first.locator(".asked").inner_text() == synthetic.Texts().question
    assert "nginx has" in first.locator("td").nth(1).inner_text()
    # Nine trials of eight points, but for the three that the failed trial did not reach.
    counted = first.locator("li").all_inner_texts()
    assert counted[:4] == ["9 trials", "67 valid", "1 suspect", "1 invalid"]
    assert rows.nth(0).locator("li").first.inner_text() == "incomplete"
    assert page.locator("dl.facts dt").all_inner_texts() == ["no run"]


def test_the_report_of_a_run_opens_by_keyboard(open_report: OpenReport, index: Path):
    page = open_report(index).page
    assert page.locator("a").count() == 1
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == (index.parent / "first" / "report.html").as_uri()
    assert page.locator("h1").inner_text() == synthetic.Texts().title


def test_a_link_leads_to_a_folder_of_any_name(open_report: OpenReport, browser: object, tmp_path: Path):
    report = synthetic.write_run(tmp_path / HOSTILE_FOLDER) / "report.html"
    report.write_text("<title>arrived</title>", encoding="utf-8")
    page = open_report(write_index(list_runs(tmp_path))).page
    with page.expect_navigation():
        page.locator("table.runs a").click()
    assert page.title() == "arrived"


def test_hostile_text_is_shown_and_never_run(open_report: OpenReport, index: Path):
    opened = open_report(index)
    page = opened.page
    row = page.locator("table.runs tbody tr").first
    assert HOSTILE in row.locator("th").inner_text().splitlines()
    assert row.locator(".asked").inner_text() == HOSTILE
    assert HOSTILE_FOLDER in row.locator("th").inner_text()
    assert page.evaluate("typeof stolen") == "undefined"
    assert page.locator("img, script, svg, [onerror], [onload]").count() == 0


def test_nothing_is_said_on_the_console_and_nothing_is_asked_for(open_report: OpenReport, index: Path):
    opened = open_report(index)
    opened.page.wait_for_load_state("networkidle")
    assert opened.complaints == []
    assert opened.requests == [index.as_uri()]
