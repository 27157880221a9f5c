"""The page of several runs side by side: its figures are the runs'."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from loadcurve.report.side_by_side import write_side_by_side
from support import synthetic_run as synthetic
from support.opened_report import Opened, OpenReport, reports_in
from support.run_pages import HALF, HOSTILE

LOOKS_OF_MARKS = """(marks) => marks.map(
  (one) => [one.__data__.datum.run, one.__data__.shape, one.getAttribute("fill")])"""
"""The run, the shape and the colour of each mark."""

MEASURES = {
    1: lambda truth, connections: truth.throughput_rps(connections),
    2: lambda truth, connections: truth.latency_ms(connections, 0.499),
    3: lambda truth, connections: truth.latency_ms(connections, 0.989),
    4: lambda truth, connections: truth.cpu_us,
}
"""What each figure of a server shows: the samples are the middles of 500 equal shares."""


@pytest.fixture(scope="module")
def opened(browser: Browser, comparison: Path) -> Iterator[Opened]:
    """One page for all tests that only read what is drawn."""
    with reports_in(browser) as open_report:
        yield open_report(comparison)


def figures_of_curves(opened: Opened) -> list[str]:
    """The figures with curves: others say by how much each measure is worse."""
    return [figure for figure in opened.figures() if not figure.startswith("worse-")]


def points(opened: Opened, figure: str) -> list[dict[str, Any]]:
    return [mark for mark in opened.marks(figure) if mark["kind"] == "symbol"]


def test_each_server_has_four_figures_with_marks_that_can_be_seen(opened: Opened):
    figures = figures_of_curves(opened)
    wanted = [f"curve-{server}-{measure}" for server in (1, 2, 3) for measure in MEASURES]
    assert figures == wanted
    for figure in figures:
        box = opened.page.locator(f"#{figure} svg.marks").bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 100
        assert {mark["datum"]["run"] for mark in points(opened, figure)} == {"A", "B", "C"}


@pytest.mark.parametrize("measure", MEASURES)
def test_the_means_that_stand_in_a_figure_are_the_truth(opened: Opened, measure: int):
    drawn = {
        (mark["datum"]["run"], mark["datum"]["x"]): mark["datum"]["y"]
        for mark in points(opened, f"curve-1-{measure}")
    }
    truth = synthetic.SERVERS["nginx"]
    for connections in synthetic.CONNECTIONS:
        expected = MEASURES[measure](truth, connections)
        assert drawn["A", connections] == pytest.approx(expected, rel=1e-3)
        of_half = HALF * expected if measure == 1 else expected
        assert drawn["B", connections] == pytest.approx(of_half, rel=1e-3)


def test_marks_stand_where_the_axes_say(opened: Opened):
    for figure in figures_of_curves(opened):
        for mark in points(opened, figure):
            assert (mark["x"], mark["y"]) == pytest.approx((mark["expected"]["x"], mark["expected"]["y"]))


def test_a_server_has_one_colour_and_runs_are_distinguished_by_dash_and_mark(opened: Opened):
    symbols = opened.page.locator("section[aria-labelledby='curves'] h3 path")
    for place, colour in enumerate(
        symbols.evaluate_all("(all) => all.map((one) => one.getAttribute('fill'))")
    ):
        for measure in MEASURES:
            figure = f"#curve-{place + 1}-{measure} svg.marks"
            marks = opened.page.locator(f"{figure} .mark-symbol path").evaluate_all(LOOKS_OF_MARKS)
            # A ring around a suspect point has no colour inside.
            assert {fill for *_, fill in marks} - {"transparent"} == {colour}
            assert {run: shape for run, shape, _ in marks} == {
                "A": "circle", "B": "square", "C": "triangle-up",
            }  # fmt: skip
            lines = opened.page.locator(f"{figure} .mark-line path").evaluate_all(
                "(all) => all.map((one) => one.getAttribute('stroke-dasharray'))"
            )
            assert len(set(lines)) == len(lines) == 3


def test_the_ratios_are_those_of_the_runs(opened: Opened):
    rows = opened.page.locator("section[aria-labelledby='pair-B'] table").first.locator("tbody tr")
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        assert cells[0] == "all points"
        assert cells[1].startswith("0.50 (")
        assert cells[1].endswith("worse")
        assert [cell.split()[0] for cell in cells[2:]] == ["1.00"] * 4
    named = [server.strip() for server in rows.locator("th").all_inner_texts()]
    assert named == list(synthetic.SERVERS)


def test_what_is_not_comparable_is_said_before_any_figure(opened: Opened):
    said = opened.page.locator("header .notice").first.inner_text()
    assert "Not measured under the same conditions" in said
    assert "kernel: Linux 6.1.0 → Linux 7" in said
    assert opened.page.locator("header dd", has_text="incomplete").count() == 1


def test_nothing_is_said_on_the_console_and_nothing_is_asked_for(opened: Opened, comparison: Path):
    opened.figures()
    opened.page.wait_for_load_state("networkidle")
    assert opened.complaints == []
    assert opened.requests == [comparison.as_uri()]


def test_what_is_folded_opens_by_keyboard_and_the_report_of_a_run_is_reached(
    open_report: OpenReport, comparison: Path
):
    page = open_report(comparison).page
    summary = page.locator("summary", has_text="The ratios at each point").first
    summary.focus()
    page.keyboard.press("Enter")
    table = page.locator("section[aria-labelledby='pair-B'] details table")
    # Eight points of three servers, but for one whose three trials were not all usable in either run.
    assert table.locator("tbody tr").count() == 3 * len(synthetic.CONNECTIONS)
    assert table.is_visible()
    link = page.locator("header a")
    assert link.all_inner_texts() == ["base"]
    link.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == (comparison.parent / "base" / "report.html").as_uri()


def test_hostile_text_is_shown_and_never_run(open_report: OpenReport, browser: object, tmp_path: Path):
    texts = synthetic.Texts(title=HOSTILE, question=HOSTILE)
    runs = [
        synthetic.write_renamed_run(
            tmp_path / f"{place}<img src=x onerror='stolen = 1'>",
            "tiny",
            HOSTILE,
            texts,
            host={"kernel": kernel},
        )
        for place, kernel in enumerate(("Linux 6.1.0", HOSTILE))
    ]
    page_path, _ = write_side_by_side(runs, tmp_path)
    opened = open_report(page_path)
    opened.figures()
    page = opened.page
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator(".question").all_inner_texts() == [HOSTILE]
    # A long value is shortened there.
    assert HOSTILE[:50] in page.locator("header .notice").first.inner_text()
    assert HOSTILE in page.locator("section[aria-labelledby='curves'] h3").last.inner_text()
    assert page.evaluate("typeof stolen") == "undefined"
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert opened.complaints == []
    assert opened.requests == [page_path.as_uri()]
