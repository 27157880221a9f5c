"""All pages of a site as assistive technology reads them: headers, labels, names, headings and contrast."""

import itertools
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from loadcurve.report.page import template_text
from support import synthetic_run as synthetic
from support.colours import contrast
from support.published_pages import published_site
from support.readable import LEAST_CONTRAST


class Elements(HTMLParser):
    """The elements of a page with their attributes, each with those that it is within."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}, [*self._open]))
        if tag not in {"meta", "input", "path", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def of(self, *tags: str) -> list[tuple[str, dict[str, str], list[str]]]:
        return [one for one in self.found if one[0] in tags]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Elements]:
    """Every kind of page, by its path in the site."""
    folder = synthetic.write_run(tmp_path_factory.mktemp("runs") / "run")
    site = published_site(folder, tmp_path_factory.mktemp("site"))
    return {str(path.relative_to(site)): Elements(path.read_text()) for path in Path(site).rglob("*.html")}


def wrong(pages: dict[str, Elements], *tags: str, without: str) -> list[tuple[str, str]]:
    """The elements that lack an attribute, each with its page."""
    return [
        (page, tag) for page, one in pages.items() for tag, own, _ in one.of(*tags) if not own.get(without)
    ]


def test_the_site_has_all_kinds_of_pages(pages):
    assert {page.split("/")[0] for page in pages} == {"index.html", "machines", "servers", "three-servers"}


def test_every_header_of_a_table_says_what_it_is_the_header_of(pages):
    assert wrong(pages, "th", without="scope") == []


def test_every_table_is_named_by_its_caption_or_by_the_region_that_scrolls_it(pages):
    for page, one in pages.items():
        tables = len(one.of("table"))
        regions = [own for _, own, _ in one.of("div") if own.get("role") == "region"]
        assert all(own.get("aria-label") and own.get("tabindex") == "0" for own in regions), page
        assert len(one.of("caption")) + len(regions) == tables, page


def test_every_drawing_and_group_has_a_name_and_every_choice_a_label(pages):
    for page, one in pages.items():
        for tag, own, within in one.found:
            if own.get("role") in {"img", "group"}:
                assert own.get("aria-label"), (page, tag)
            if tag in {"input", "select"}:
                assert "label" in within, (page, own)
        assert len(one.of("legend")) == len(one.of("fieldset")), page


def test_headings_follow_each_other_without_a_level_left_out_and_names_of_elements_are_unique(pages):
    for page, one in pages.items():
        levels = [int(tag[1]) for tag, _, _ in one.of("h1", "h2", "h3", "h4")]
        assert levels[0] == 1, page
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), page
        ids = Counter(own["id"] for _, own, _ in one.found if "id" in own)
        assert [name for name, count in ids.items() if count > 1] == [], page
        sections = [own["aria-labelledby"] for _, own, _ in one.of("section")]
        assert set(sections) <= set(ids), page


def colours_of(sheets: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the style by day and by night, by their names."""
    rules = re.findall(r"(prefers-color-scheme: dark\)\s*\{\s*)?:root\s*\{([^}]*)\}", sheets)
    day: dict[str, str] = {}
    night: dict[str, str] = {}
    for dark, body in rules:
        (night if dark else day).update(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", body))
    return day, day | night


@pytest.mark.parametrize("when", [0, 1])
def test_words_on_bars_and_on_a_chosen_filter_can_be_read_by_day_and_by_night(when):
    # What is drawn behind words by the style is beyond what a browser's checks compare.
    colours = colours_of("\n".join(map(template_text, ("report.css", "site.css"))))[when]
    pairs = [("ink", "bar"), ("soft", "bar"), ("paper", "ink"), ("ink", "paper"), ("soft", "paper")]
    assert [pair for pair in pairs if contrast(*(colours[one] for one in pair)) < LEAST_CONTRAST] == []
