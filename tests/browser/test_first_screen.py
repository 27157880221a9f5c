"""The first screen of the report on a small laptop: question, answer and main curves without scrolling."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support.opened_report import reports_in

LAPTOP = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def boxes(browser: Browser, report: Path) -> dict[str, dict[str, float]]:
    """Where the parts of the first screen stand, in CSS pixels, by their selectors."""
    parts = ("h1", ".question", ".lead", "#throughput-1 svg.marks", "#latency-1-3 svg.marks", ".overview")
    with reports_in(browser) as open_report:
        opened = open_report(report)
        opened.page.set_viewport_size(LAPTOP)
        opened.figures()
        found = {part: opened.page.locator(part).first.bounding_box() for part in parts}
        assert None not in found.values()
        return {part: dict(box) for part, box in found.items() if box is not None}


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
