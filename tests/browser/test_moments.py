"""From a finding to the trial that shows it and back, and one moment in all panels over time."""

import dataclasses
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from loadcurve.explain.all import findings
from loadcurve.result.folder import Run
from support.disturbed import pauses
from support.explained_run import CONNECTIONS, Data, planted_run, series
from support.opened_report import Opened, reports_in
from support.report_pages import render_run

STALL_S = 0.6
"""The server stands still from here on."""
QUEUELESS = 3
"""The trial in which the probe could not read the listen queue."""


def stalled(record: Data, trial: int, value: float) -> None:
    """A pause of 400 ms in one trial, at one point, during which a request is under way."""
    queue = {} if trial == QUEUELESS else {"listen_queue": [1.0] * 20}
    record["probe"]["series"] = series(20, **queue)
    if (trial, value) != (2, 25):
        return
    load = record["load"]
    load["silences"] = [{"start_s": STALL_S, "length_ms": 400}]
    load["generator"]["pauses"] = pauses((100, 108), (200, 232)).model_dump()
    slow = {**load["slowest"][0], "due_s": STALL_S, "latency_ms": 399, "service_time_ms": 399}
    load["slowest"] = [slow, *load["slowest"]]


@pytest.fixture(scope="module")
def run() -> Run:
    return planted_run(stalled)


@pytest.fixture(scope="module")
def opened(browser: Browser, run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("moments")
    report = folder / "report.html"
    report.write_text(render_run(dataclasses.replace(run, folder=folder)), encoding="utf-8")
    with reports_in(browser) as open_report:
        yield open_report(report)


def test_a_finding_leads_to_its_moment_in_the_trial_that_shows_it_and_the_trial_back(
    opened: Opened, run: Run
):
    [place] = [place for place, one in enumerate(findings(run)) if one.code == "stall"]
    page = opened.page
    finding = page.locator(f"#finding-{place}")
    finding.evaluate("(one) => (one.open = true)")
    opened.figures()
    finding.get_by_role("button", name="See it over time").click()
    assert page.locator("#trial-trial").input_value() == "2"
    assert page.locator("#trial-point").evaluate("(one) => one.selectedOptions[0].text") == "connections = 25"
    assert page.locator("#trial-time-said").text_content() == f"{STALL_S:.2f} s"
    finding.evaluate("(one) => (one.open = false)")
    page.locator(f'#trial-findings a[href="#finding-{place}"]').click()
    assert finding.evaluate("(one) => one.open")
    assert opened.complaints == []


def test_pauses_of_the_platform_are_named_and_drawn_for_the_trial_that_had_them(opened: Opened, run: Run):
    [place] = [place for place, one in enumerate(findings(run)) if one.code == "stall"]
    opened.page.locator(f"#finding-{place}").evaluate("(one) => (one.open = true)")
    trial = opened.page.locator("#trial-trial")
    button = opened.page.locator(f"#finding-{place}").get_by_role("button", name="See it over time")
    opened.figures()
    opened.page.evaluate("delete drawnViews['time-2']")
    button.click()
    drawn = [mark for mark in opened.marks("time-2") if "side" in mark["datum"]]
    assert [(mark["datum"]["side"], mark["datum"]["t_s"]) for mark in drawn] == [("load", 0.1), ("load", 0.2)]
    said = opened.page.locator("#trial-pauses")
    assert "those of the load 2 times, 40.0 ms in all, the longest 32.0 ms" in said.inner_text()
    other = trial.locator("option:not([value='2']):not([disabled])").first.get_attribute("value")
    trial.select_option(other)
    assert said.is_hidden()
    button.click()


def test_every_point_of_the_distribution_is_drawn_also_those_without_pauses(opened: Opened):
    figure = "distribution-figure"
    opened.figures()
    for place, connections in enumerate(CONNECTIONS):
        opened.page.locator("#point").select_option(str(place))
        drawn_at = f"until(() => marksOf('{figure}').every((mark) => mark.datum.place === {place}))"
        opened.page.evaluate(drawn_at)
        lines = [mark["datum"] for mark in opened.marks(figure) if mark["kind"] == "line"]
        assert {datum["of"] for datum in lines} == {f"connections = {connections}"}
        assert opened.complaints == []


def test_a_panel_of_which_the_chosen_trial_has_nothing_is_left_out(opened: Opened):
    queue = opened.page.locator(".timeline figure", has_text="Connections waiting to be accepted")
    opened.figures()
    opened.page.locator("#trial-trial").select_option(str(QUEUELESS))
    queue.wait_for(state="hidden")
    opened.page.locator("#trial-trial").select_option("2")
    queue.wait_for(state="visible")
    assert opened.complaints == []


def test_the_arrow_keys_move_one_moment_through_all_panels(opened: Opened):
    opened.figures()
    slider = opened.page.locator("#trial-time")
    before = lines(opened)
    slider.focus()
    for _ in range(10):
        opened.page.keyboard.press("ArrowRight")
    after = lines(opened)
    # Two hundred steps go through the two seconds of the window, so ten are a tenth of a second.
    assert len(after) == len(before) > 1
    assert max(after) - min(after) < 1
    assert after[0] > before[0]
    assert "answered" in str(slider.get_attribute("aria-valuetext"))


def test_the_line_stands_under_the_pointer(opened: Opened):
    opened.figures()
    chart = opened.page.locator("#time-1")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    opened.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2)
    # A step of the slider is a two-hundredth of the axis.
    assert lines(opened)[0] == pytest.approx(box["x"] + 0.6 * box["width"], abs=box["width"] / 200)


def lines(opened: Opened) -> list[float]:
    """Where the line of each panel is drawn, in pixels from the left of the window."""
    found: list[float] = opened.page.evaluate(
        """[...document.querySelectorAll(".moment")].filter((one) => one.checkVisibility())
          .map((one) => one.getBoundingClientRect().left)"""
    )
    return found
