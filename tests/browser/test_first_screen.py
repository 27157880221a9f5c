"""The first screen of the report on a small laptop: question, answer and main curves without scrolling."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from loadcurve.analysis.analysis import analyse
from loadcurve.explain.all import FINDINGS
from loadcurve.explain.finding import Finding
from loadcurve.report.html import write_page
from loadcurve.report.section import Report
from support import synthetic_run as synthetic
from support.findings import finding
from support.large_run import large_run
from support.opened_report import PHONE, OpenReport, reports_in

LAPTOP = {"width": 1280, "height": 800}
PHONE_HEIGHT = 844
CAUSE = (
    "844 connections took about 1 s to establish, because the server's listen queue (backlog 5) overflowed"
)

CAUSED = ("listen_queue_overflow", "connections_retried", "stall")
BOTTOM_OF_STRIP = "document.querySelector('.overview').getBoundingClientRect().bottom"
LEAST_HEIGHT = 200
"""Of a main curve with its axes, in CSS pixels, so that it can be read."""
DOUBTFUL = ("wrong_answers", "ports_exhausted")


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Iterator[Page]:
    with reports_in(browser) as open_report:
        opened = open_report(report, width=LAPTOP["width"])
        opened.page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
        opened.figures()
        yield opened.page


@pytest.fixture(scope="module")
def boxes(page: Page) -> dict[str, dict[str, float]]:
    """Where the parts of the first screen are, in CSS pixels, by their selectors."""
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


def caused(code: str) -> Finding:
    """A finding whose cause the answer names in a sentence."""
    return finding(20, 40, server="server-1", code=code, certainty="shown", briefly=CAUSE)


def report_of(folder: Path, servers: int, *, measured: bool, others: Sequence[Finding] = ()) -> Path:
    """Write the report of a run of servers with long answers: a shown cause, and findings of many kinds."""
    made = large_run(servers=servers, points=4, trials=2)
    run = dataclasses.replace(made, records=made.records if measured else [])
    synthetic.write_run(folder, run.run, run.points)
    codes = [code for code in FINDINGS if code not in (*CAUSED, *DOUBTFUL)][:6]
    odd = [finding(10, server="server-1", code=code, weight="distorts") for code in codes]
    found = [caused(CAUSED[0]), *odd, *others]
    analysis = dataclasses.replace(analyse(run), findings=found if measured else [])
    return write_page(Report(dataclasses.replace(run, folder=folder), analysis))


def bottom(page: Page, part: str) -> float:
    box = page.locator(part).first.bounding_box()
    assert box is not None, part
    return box["y"] + box["height"]


@pytest.mark.parametrize("servers", [1, pytest.param(6, marks=pytest.mark.long), 12])
def test_a_report_of_any_number_of_servers_answers_in_the_first_screen(
    open_report: OpenReport, tmp_path: Path, servers: int
):
    page = open_report(report_of(tmp_path / "run", servers, measured=True), width=LAPTOP["width"]).page
    page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
    curves = ["#throughput-1 svg.marks", "#latency-1-3 svg.marks"]
    for curve in curves:
        page.locator(curve).wait_for()
    assert "(" in page.locator(".lead").first.inner_text()
    page.evaluate(f"until(() => {BOTTOM_OF_STRIP} <= {LAPTOP['height']})")
    for part in ("h1", ".question", ".lead", ".cause", ".answer .legend", *curves, ".overview"):
        assert bottom(page, part) <= LAPTOP["height"], part
    page.set_viewport_size({"width": PHONE, "height": PHONE_HEIGHT})
    first_curve = f"document.querySelector('{curves[0]}').getBoundingClientRect()"
    # It has its new width before its new height.
    page.evaluate(f"until(() => {first_curve}.width < {PHONE} && {first_curve}.bottom <= {PHONE_HEIGHT})")
    for part in ("h1", ".question", ".lead", ".cause", ".answer .legend", curves[0]):
        assert bottom(page, part) <= PHONE_HEIGHT, part
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    hidden = "(names) => names.map((name) => name.scrollWidth - name.clientWidth)"
    names = page.locator(".answer .legend li").evaluate_all(hidden)
    assert names == [0] * servers


def test_a_caution_and_three_causes_leave_room_for_curves_and_findings(
    open_report: OpenReport, tmp_path: Path
):
    doubtful = [finding(10, 30, server="server-1", code=code, weight="invalidates") for code in DOUBTFUL]
    others = [*map(caused, CAUSED[1:]), *doubtful]
    path = report_of(tmp_path / "run", 12, measured=True, others=others)
    opened = open_report(path, width=LAPTOP["width"])
    opened.figures()
    opened.page.set_viewport_size({"width": LAPTOP["width"], "height": LAPTOP["height"]})
    assert opened.page.locator(".cause").count() == len(CAUSED)
    assert "Do not rely on the figures of server-1" in opened.page.locator(".notice").first.inner_text()
    opened.page.evaluate(f"until(() => {BOTTOM_OF_STRIP} <= {LAPTOP['height']})")
    for curve in ("#throughput-1 svg.marks", "#latency-1-3 svg.marks"):
        box = opened.page.locator(curve).bounding_box()
        assert box is not None
        assert box["height"] >= LEAST_HEIGHT
    opened.page.set_viewport_size({"width": PHONE, "height": PHONE_HEIGHT})
    first_curve = "document.querySelector('#throughput-1').getBoundingClientRect()"
    opened.page.evaluate(
        f"until(() => {first_curve}.width < {PHONE} && {first_curve}.bottom <= {PHONE_HEIGHT})"
    )
    first, second = (opened.page.locator(".cause").nth(place).bounding_box() for place in (0, 1))
    curve = opened.page.locator("#throughput-1 svg.marks").bounding_box()
    assert curve is not None
    assert first is not None
    assert second is not None
    assert first["y"] < curve["y"] < second["y"]
    assert curve["height"] >= LEAST_HEIGHT


def test_a_report_of_nothing_measured_says_so_in_the_first_screen(open_report: OpenReport, tmp_path: Path):
    page = open_report(report_of(tmp_path / "run", 3, measured=False), width=PHONE).page
    page.set_viewport_size({"width": PHONE, "height": PHONE_HEIGHT})
    assert page.locator(".lead").inner_text() == "Nothing was measured."
    assert bottom(page, ".notice") <= PHONE_HEIGHT
    assert page.locator(".chart").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
