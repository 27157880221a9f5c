"""What comes out of the printer: the report as Chromium prints it to PDF, read by another library."""

import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import pytest
from playwright.sync_api import Browser
from pypdf import PageObject, PdfReader

from support import synthetic_run as synthetic
from support.opened_report import Opened, reports_in

POINTS_PER_MM = 72 / 25.4
A4_MM = (210, 297)

LEAST_TEXT_POINTS = 7.9
"""Text of 8 pt, less what is lost in rounding."""

AXES = {
    "Requests answered per second": "connections",
    "Median, ms": "connections",
    "90th percentile, ms": "connections",
    "Resident memory, MiB": "connections",
    "Latency by percentile, ms": "99.9 %",
    "Share of requests by latency": "latency, ms",
}
"""The heading of figures, and words below their axes."""


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    with reports_in(browser) as open_report:
        opened = open_report(report)
        opened.figures()
        yield opened


@dataclass
class Printed:
    """What a printed page holds, as its reader finds it."""

    words: str
    """All of them, between single blanks and without ligatures."""
    lefts: list[float]
    """Where pieces of text begin, in points from the left."""
    sizes: dict[str, float]
    """The least height of each piece of text, in points."""


@pytest.fixture(scope="module")
def printed(opened: Opened) -> list[Printed]:
    """Each printed page, read once: reading takes longer than printing."""
    reader = PdfReader(io.BytesIO(opened.page.pdf(format="A4")))
    return [read(page) for page in reader.pages]


def read(page: PageObject) -> Printed:
    size = (float(page.mediabox.width), float(page.mediabox.height))
    assert size == pytest.approx([POINTS_PER_MM * length for length in A4_MM], abs=2)
    lefts: list[float] = []
    sizes: dict[str, float] = {}

    def note(words: str, current: list[float], text: list[float], _font: object, size: float) -> None:
        if words.strip():
            lefts.append(current[4] + current[0] * text[4])
            height = size * math.hypot(*text[2:4]) * math.hypot(*current[2:4])
            sizes[words.strip()] = min(height, sizes.get(words.strip(), height))

    words = page.extract_text(visitor_text=note)
    return Printed(" ".join(normalize("NFKC", words).split()), lefts, sizes)


@pytest.fixture(scope="module")
def pages(printed: list[Printed]) -> list[str]:
    """The words of each printed page."""
    return [page.words for page in printed]


def test_the_first_page_has_the_question_and_the_answer(pages: list[str]):
    for words in (
        synthetic.Texts().title,
        synthetic.Texts().question,
        "Over the curve, nginx has",
        "What was found, and why",
    ):
        assert words in pages[0]


@pytest.mark.parametrize(("heading", "axis"), AXES.items())
def test_a_figure_is_on_one_page_from_its_heading_to_its_axis(pages: list[str], heading: str, axis: str):
    [page] = [page for page in pages if heading in page]
    assert axis in page.partition(heading)[2]


def test_no_heading_stands_alone_at_the_foot_of_a_page(opened: Opened, pages: list[str]):
    links = opened.page.locator("main a").all_inner_texts()
    headings = set(opened.page.locator("h2, h3").filter(visible=True).all_inner_texts()) - {*links}
    assert len(headings) > 8
    for page in pages:
        for heading in headings:
            assert not page.endswith(" ".join(heading.split())), heading


def test_every_point_is_in_the_table(pages: list[str]):
    words = " ".join(pages).partition("The numbers")[2]
    # All trials of this server are usable, so that its means are the truth itself.
    truth = synthetic.SERVERS["nginx"]
    for connections in synthetic.CONNECTIONS:
        assert re.search(rf"nginx {connections} {truth.throughput_rps(connections):,.0f}\b", words), (
            connections
        )


def test_the_heading_of_a_table_is_on_each_of_its_pages(pages: list[str]):
    with_rows = [page for page in pages if re.search(r"(nginx|apache|tiny) \d+ [\d,]+ [\d,]+ to", page)]
    assert len(with_rows) > 1
    for page in with_rows:
        assert "usable trials" in page
        assert "requests/s" in page


def test_every_page_has_a_margin(printed: list[Printed]):
    for page in printed:
        assert min(page.lefts) >= 9 * POINTS_PER_MM


def test_figures_and_tables_have_no_smaller_text_than_papers_have(printed: list[Printed]):
    sizes = [size for page in printed for size in page.sizes.items()]
    words_of_figures = {"40,000", "connections", "percentile", "latency, ms"}
    assert words_of_figures <= {words for words, _ in sizes}
    assert [size for size in sizes if size[1] < LEAST_TEXT_POINTS] == []


def test_what_is_folded_away_from_a_finding_is_on_paper(opened: Opened, pages: list[str]):
    assert opened.page.locator("details.finding:not([open])").count() > 0
    for advice in opened.page.locator("details.finding p").all_text_contents():
        if not advice.startswith("See it"):
            assert " ".join(advice.split()) in " ".join(pages)


def test_the_paper_says_which_point_and_which_trial_it_shows(pages: list[str]):
    words = " ".join(pages)
    assert "At connections = " in words.partition("Distribution of latency")[2]
    assert "Trials of nginx at connections = " in words


def test_after_printing_the_figures_fit_the_window_again(opened: Opened):
    width = "document.querySelector('#throughput-1 svg').clientWidth"
    before = opened.page.evaluate(width)
    opened.page.pdf(format="A4")
    opened.page.evaluate(f"until(() => {width} === {before})")
