"""The first screen of the report on a small laptop: question, answer and main curves without scrolling."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from support.opened_report import PHONE, reports_in

LAPTOP = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Iterator[Page]:
    with reports_in(browser) as open_report:
        opened = open_report(report, width=LAPTOP["width"])
        opened.page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
        opened.figures()
        yield opened.page


@pytest.fixture(scope="module")
def boxes(page: Page) -> dict[str, dict[str, float]]:
    """Where the parts of the first screen stand, in CSS pixels, by their selectors."""
    parts = ("h1", ".question", ".lead", "#throughput-1 svg.marks", "#latency-1-3 svg.marks", ".overview")
    found = {part: page.locator(part).first.bounding_box() for part in parts}
    return {part: {**box} for part, box in found.items() if box is not None}


def test_everything_that_answers_is_in_the_first_screen(boxes: dict[str, dict[str, float]]):
    for part, box in boxes.items():
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= LAPTOP["height"], part
        assert box["x"] >= 0, part
        assert box["x"] + box["width"] <= LAPTOP["width"], part


def test_latency_stands_beside_throughput(boxes: dict[str, dict[str, float]]):
    throughput, latency = boxes["#throughput-1 svg.marks"], boxes["#latency-1-3 svg.marks"]
    assert latency["x"] >= throughput["x"] + throughput["width"]
    assert latency["y"] == pytest.approx(throughput["y"], abs=1)
    assert min(throughput["width"], latency["width"]) > 300
    assert min(throughput["height"], latency["height"]) > 200


def test_the_contents_name_every_section_and_stay_in_sight(page: Page):
    named = page.locator(".contents a").all_inner_texts()
    assert named == page.locator("main h2").all_inner_texts()
    page.locator(".contents a", has_text="How to repeat it").click()
    page.wait_for_function("scrollY > 2000")
    contents, heading = page.locator(".contents ul").bounding_box(), page.locator("#repeat").bounding_box()
    assert contents is not None
    assert heading is not None
    assert contents["y"] >= 0
    assert contents["x"] + contents["width"] < heading["x"]


def test_on_a_phone_the_contents_are_folded_and_a_choice_folds_them_again(page: Page):
    page.set_viewport_size({"width": PHONE, "height": 844})
    folded = page.locator(".contents details:not([open])")
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    link = page.locator(".contents a", has_text="Ranking")
    link.focus()
    page.keyboard.press("Enter")
    folded.wait_for()
    above, heading = page.locator(".contents").bounding_box(), page.locator("#ranking").bounding_box()
    assert above is not None
    assert heading is not None
    assert above["y"] == 0
    assert heading["y"] >= above["height"]
