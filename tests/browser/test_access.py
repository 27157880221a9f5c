"""The pages can be read by everybody: by keyboard, on a phone, in the dark, on paper, without colour."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.colours import contrast, luminance
from support.opened_report import DESK, PHONE, Opened, OpenReport, reports_in
from support.readable import (
    LEAST_CONTRAST,
    PAPER,
    cut_off,
    lay_on_paper,
    lay_open,
    looked_at,
    pale_words,
    scrolls_sideways,
    serious_violations,
    sticking_out,
    walk_by_tab,
)

WORDS_ON_PAPER = {
    "report": ("h1", ".caption"),
    "index": ("h1", ".runs th", ".runs .started", ".asked", ".suspect", "dt"),
    "comparison": ("h1", ".caption", ".verdict.invalid", ".finding summary small"),
    "published_run_page": ("h1", ".caption", ".verdict.suspect", ".places .place"),
    "published_server": ("h1", ".margin", "h3 small", ".bars th", ".settings td"),
}
"""Each page by the fixture that writes it, and words of it that have their own ink."""


@pytest.fixture(params=WORDS_ON_PAPER)
def page_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page_file(request: pytest.FixtureRequest, page_name: str) -> Path:
    return Path(request.getfixturevalue(page_name))


@pytest.fixture(scope="module", params=WORDS_ON_PAPER)
def on_a_desk(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Opened]:
    """A page as it is opened at a desk by day, for the tests that use it one after the other."""
    file: Path = request.getfixturevalue(str(request.param))
    with reports_in(browser) as open_report:
        yield open_report(file, width=DESK, color_scheme="light")


def test_the_tab_key_reaches_everything_once_in_the_order_of_reading(on_a_desk: Opened):
    walk_by_tab(on_a_desk)


def test_axe_finds_nothing_serious_on_a_desk_and_only_tables_scroll_sideways(on_a_desk: Opened):
    assert_that_it_can_be_used(on_a_desk, DESK)


@pytest.mark.parametrize("on_a_desk", ["report"], indirect=True)
def test_turning_dark_while_it_is_open_draws_the_figures_for_the_dark(on_a_desk: Opened):
    background = "getComputedStyle(document.body).backgroundColor"
    light = on_a_desk.page.evaluate(background)
    on_a_desk.redrawn(lambda: on_a_desk.page.emulate_media(color_scheme="dark"))
    assert luminance(on_a_desk.page.evaluate(background)) < luminance(light)
    assert_that_figures_can_be_read(on_a_desk)
    on_a_desk.page.emulate_media(color_scheme="light")


@looked_at((PHONE, "dark"), without=(DESK, "light"))
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways_but_tables_in_their_frames(
    open_report: OpenReport, page_file: Path, width: int, colour_scheme: str
):
    assert_that_it_can_be_used(open_report(page_file, width=width, color_scheme=colour_scheme), width)


def assert_that_it_can_be_used(opened: Opened, width: int) -> None:
    lay_open(opened)
    assert serious_violations(opened) == []
    assert not scrolls_sideways(opened, width)
    assert sticking_out(opened, width) == []
    assert_that_figures_can_be_read(opened)


def assert_that_figures_can_be_read(opened: Opened) -> None:
    """The words of all figures stand out from the paper, in its colours of the moment."""
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    for figure in opened.figures():
        inks = opened.page.locator(f"#{figure} svg.marks text").evaluate_all(
            "(words) => words.map((word) => getComputedStyle(word).fill)"
        )
        assert inks
        for ink in set(inks):
            assert contrast(ink, paper) >= LEAST_CONTRAST, (figure, ink, paper)


@looked_at((DESK, "dark"))
def test_on_paper_nothing_is_cut_off_and_ink_is_dark(
    open_report: OpenReport, page_name: str, page_file: Path, width: int, colour_scheme: str
):
    opened = open_report(page_file, width=width, color_scheme=colour_scheme)
    lay_on_paper(opened)
    assert sticking_out(opened, PAPER, but_within="svg") == []
    assert cut_off(opened) == []
    figures = (f"#{figure} svg.marks text" for figure in opened.figures())
    assert pale_words(opened, *WORDS_ON_PAPER[page_name], *figures) == []


@pytest.fixture(scope="module")
def used_by_keyboard(browser: Browser, report: Path) -> Iterator[Opened]:
    """One page for the tests that each use another part of it by keyboard."""
    with reports_in(browser) as open_report:
        yield open_report(report)


def test_a_table_is_sorted_by_keyboard_up_and_down(used_by_keyboard: Opened):
    page = used_by_keyboard.page
    header = page.locator("table.sortable th", has_text="requests/s")
    rates = "(table) => [...table.tBodies[0].rows].map((row) => row.cells[2].dataset.sort)"

    def shown() -> list[float]:
        """The rates in the order of the rows, those that are absent left out."""
        return [float(rate) for rate in page.locator("table.sortable").evaluate(rates) if rate]

    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert shown() == sorted(shown())
    page.keyboard.press(" ")
    assert header.get_attribute("aria-sort") == "descending"
    assert shown() == sorted(shown(), reverse=True)
    assert page.locator("th[aria-sort]").count() == 1


def test_the_point_of_the_distribution_is_chosen_by_keyboard(used_by_keyboard: Opened):
    opened = used_by_keyboard
    [before] = {mark["datum"]["place"] for mark in opened.marks("distribution-figure")}
    opened.page.locator("#point").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.evaluate(
        "(place) => until(() => marksOf('distribution-figure').every((mark) => mark.datum.place === place))",
        before + 1,
    )


def test_what_is_folded_opens_by_keyboard(used_by_keyboard: Opened):
    page = used_by_keyboard.page
    folded = page.locator("main details:not([open]):has(pre)").filter(visible=True)
    summary = folded.first.locator("summary").element_handle()
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.evaluate("(one) => one.parentElement.open")
