"""The report can be read by everybody: by keyboard, on a phone, in the dark, on paper, without colour."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from support.colours import contrast, luminance
from support.opened_report import Opened, OpenReport

PHONE, DESK = 390, 1440
PAPER = 718
"""A page of A4 between margins of one centimetre, in CSS pixels of 1/96 inch."""

LEAST_CONTRAST = 4.5
"""WCAG 2.2, success criterion 1.4.3, level AA, for text that is not large."""

NEXT_BY_TAB = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  return at === document.body ? null : {
    place: stops.indexOf(at),
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
    html: at.outerHTML.slice(0, 120),
  };
}"""


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_axe_finds_nothing_serious(open_report: OpenReport, report: Path, width: int, colour_scheme: str):
    opened = open_report(report, width=width, color_scheme=colour_scheme)
    opened.figures()
    unfold(opened)
    found = Axe().run(opened.page).response["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {node['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
    assert serious == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_scrolls_sideways_but_tables_in_their_frames(
    open_report: OpenReport, report: Path, width: int
):
    opened = open_report(report, width=width)
    opened.figures()
    unfold(opened)
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert sticking_out(opened, width) == []


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_the_words_of_figures_stand_out_from_the_paper(
    open_report: OpenReport, report: Path, colour_scheme: str
):
    opened = open_report(report, color_scheme=colour_scheme)
    figures = opened.figures()
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    for figure in figures:
        inks = opened.page.locator(f"#{figure} svg.marks text").evaluate_all(
            "(words) => words.map((word) => getComputedStyle(word).fill)"
        )
        assert inks
        for ink in set(inks):
            assert contrast(ink, paper) >= LEAST_CONTRAST, (figure, ink, paper)


def test_turning_dark_while_it_is_open_draws_the_figures_for_the_dark(open_report: OpenReport, report: Path):
    opened = open_report(report, color_scheme="light")
    [figure, *_] = opened.redrawn(lambda: opened.page.emulate_media(color_scheme="dark"))
    ink = opened.page.locator(f"#{figure} svg.marks text").first.evaluate(
        "(word) => getComputedStyle(word).fill"
    )
    paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert contrast(ink, paper) >= LEAST_CONTRAST
    assert luminance(paper) < luminance(ink)


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_on_paper_nothing_is_cut_off_and_ink_is_dark(
    open_report: OpenReport, report: Path, colour_scheme: str
):
    opened = open_report(report, color_scheme=colour_scheme)
    figures = opened.figures()
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": PAPER, "height": 1000})
    assert sticking_out(opened, PAPER, but_within="svg") == []
    # What could be scrolled on the screen must lie open: paper does not scroll.
    cut_off = opened.page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter((one) => getComputedStyle(one).overflowX !== "visible" && !one.closest("svg"))
          .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
          .filter((one) => one.checkVisibility())
          .map((one) => one.outerHTML.slice(0, 100))"""
    )
    assert cut_off == []
    # Browsers leave backgrounds out when they print: the paper is white.
    for words in ("h1", ".caption", *(f"#{figure} svg.marks text" for figure in figures)):
        ink = opened.page.locator(words).first.evaluate(
            "(one) => getComputedStyle(one)[one.closest('svg') ? 'fill' : 'color']"
        )
        assert contrast(ink, "rgb(255, 255, 255)") >= LEAST_CONTRAST, words


def test_the_tab_key_reaches_everything_once_in_the_order_of_reading(open_report: OpenReport, report: Path):
    opened = open_report(report)
    opened.figures()
    opened.page.evaluate(
        """() => {
          const wanted = "a[href], button, select, input, summary, [tabindex='0']";
          window.stops = [...document.querySelectorAll(wanted)].filter((one) => one.checkVisibility());
        }"""
    )
    count = opened.page.evaluate("stops.length")
    reached = []
    for _ in range(count):
        opened.page.keyboard.press("Tab")
        reached.append(opened.page.evaluate(NEXT_BY_TAB))
    assert [one["place"] for one in reached] == list(range(count))
    assert [one["html"] for one in reached if not one["outlined"]] == []


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_table_is_sorted_by_keyboard_up_and_down(open_report: OpenReport, report: Path, key: str):
    page = open_report(report).page
    header = page.locator("table.sortable th", has_text="requests/s")
    rates = "(table) => [...table.tBodies[0].rows].map((row) => row.cells[2].dataset.sort)"

    def shown() -> list[float]:
        """The rates in the order of the rows, those that are absent left out."""
        return [float(rate) for rate in page.locator("table.sortable").evaluate(rates) if rate]

    header.locator("button").focus()
    page.keyboard.press(key)
    assert header.get_attribute("aria-sort") == "ascending"
    assert shown() == sorted(shown())
    page.keyboard.press(key)
    assert header.get_attribute("aria-sort") == "descending"
    assert shown() == sorted(shown(), reverse=True)
    assert page.locator("th[aria-sort]").count() == 1


def test_the_point_of_the_distribution_is_chosen_by_keyboard(open_report: OpenReport, report: Path):
    opened = open_report(report)
    [before] = {mark["datum"]["place"] for mark in opened.marks("distribution-figure")}
    opened.page.locator("#point").focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.evaluate(
        "(place) => until(() => marksOf('distribution-figure').every((mark) => mark.datum.place === place))",
        before + 1,
    )


def test_what_is_folded_opens_by_keyboard(open_report: OpenReport, report: Path):
    page = open_report(report).page
    folded = page.locator("main details:not([open]):has(pre)").filter(visible=True)
    summary = folded.first.locator("summary").element_handle()
    summary.focus()
    page.keyboard.press("Enter")
    assert summary.evaluate("(one) => one.parentElement.open")


def unfold(opened: Opened) -> None:
    """Open everything that is folded but the menus of the figures."""
    opened.page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open ||= !one.closest('.chart'); })"
    )


def sticking_out(opened: Opened, width: int, but_within: str = "svg, .scroller") -> list[str]:
    """What reaches beyond the sides of the page; tables may do so within frames that scroll."""
    found: list[str] = opened.page.evaluate(
        """([width, butWithin]) => [...document.querySelectorAll("body *")]
          .filter((one) => !one.parentElement.closest(butWithin) && one.checkVisibility())
          .filter((one) => {
            const box = one.getBoundingClientRect();
            return box.left < -0.5 || box.right > width + 0.5;
          })
          .map((one) => one.outerHTML.slice(0, 100))""",
        [width, but_within],
    )
    return found
