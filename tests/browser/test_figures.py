"""Every figure of the report is drawn, and shows what the run folder holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from loadcurve.result.folder import Run, read_run
from loadcurve.units import BYTES_PER_MIB
from support import synthetic_run as synthetic
from support.opened_report import Opened, OpenReport, reports_in

COMPLETE = ("nginx",)
"""The servers whose three trials are all usable, so that every mean is the truth itself."""

MEASURES = {
    "throughput-1": lambda truth, connections: truth.throughput_rps(connections),
    "latency-1-1": lambda truth, connections: truth.latency_ms(connections, 0.499),
    "latency-1-2": lambda truth, connections: truth.latency_ms(connections, 0.899),
    "latency-1-3": lambda truth, connections: truth.latency_ms(connections, 0.989),
    "latency-1-4": lambda truth, connections: truth.latency_ms(connections, 0.999),
    "resources-1-1": lambda truth, connections: truth.throughput_rps(connections) * truth.cpu_us / 1e6,
    "resources-1-2": lambda truth, connections: truth.cpu_us,
    "resources-1-3": lambda truth, connections: truth.memory_bytes(connections) / BYTES_PER_MIB,
}
"""Each figure against the sweep, and what it shows: the samples are the middles of 500 equal shares."""

IN_ONE_TRIAL = {
    "throughput-1": lambda trial: trial.load.rate_rps.answered,
    "latency-1-1": lambda trial: trial.load.latency_ms.p50,
    "latency-1-2": lambda trial: trial.load.latency_ms.p90,
    "latency-1-3": lambda trial: trial.load.latency_ms.p99,
    "latency-1-4": lambda trial: trial.load.latency_ms.max,
    "resources-1-1": lambda trial: trial.probe.server.cpu_share,
    "resources-1-2": lambda trial: trial.probe.server.cpu_per_request_us,
    "resources-1-3": lambda trial: trial.probe.server.memory_mean_bytes / BYTES_PER_MIB,
}


@pytest.fixture(scope="module")
def run(report: Path) -> Run:
    return read_run(report.parent)


@pytest.fixture(scope="module")
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    """One page for all tests here, for they only read what is drawn."""
    with reports_in(browser) as open_report:
        yield open_report(report)


def test_a_browser_that_is_never_idle_draws_figures_in_sight_and_then_the_others(
    open_report: OpenReport, report: Path
):
    page = open_report(report).page
    page.add_init_script(
        "window.requestIdleCallback = (task, wait) => wait?.timeout && setTimeout(task, wait.timeout)"
    )
    page.reload()
    page.locator("#throughput-1 svg.marks").wait_for()
    page.locator("#latency-1-1 svg.marks").wait_for(state="attached")


def test_every_figure_has_marks_that_can_be_seen(opened: Opened):
    figures = opened.figures()
    assert set(figures) >= {*MEASURES, "distribution-figure"}
    for figure in figures:
        box = opened.page.locator(f"#{figure} svg.marks").bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 100
        assert opened.marks(figure), figure


def test_nothing_is_said_on_the_console_and_nothing_is_asked_for(opened: Opened, report: Path):
    opened.figures()
    opened.page.locator("#point").select_option("0")
    opened.page.wait_for_load_state("networkidle")
    assert opened.complaints == []
    assert opened.requests == [report.as_uri()]


@pytest.mark.parametrize("figure", MEASURES)
def test_the_means_that_stand_in_a_figure_are_the_truth(opened: Opened, figure: str):
    drawn = {
        (mark["datum"]["server"], mark["datum"]["x"]): mark["datum"]["y"]
        for mark in opened.marks(figure)
        if mark["kind"] == "symbol" and "n" in mark["datum"]
    }
    assert {x for _, x in drawn} == set(synthetic.CONNECTIONS)
    assert {server for server, _ in drawn} == set(synthetic.SERVERS)
    for server in COMPLETE:
        truth = synthetic.SERVERS[server]
        for connections in synthetic.CONNECTIONS:
            expected = MEASURES[figure](truth, connections)
            assert drawn[server, connections] == pytest.approx(expected, rel=1e-3)


@pytest.fixture(scope="module")
def with_trials(browser: Browser, report: Path) -> Iterator[Opened]:
    """A page on which single trials were asked for, by keyboard."""
    with reports_in(browser) as open_report:
        opened = open_report(report)
        opened.page.locator("#single-trials").focus()
        opened.redrawn(lambda: opened.page.keyboard.press(" "))
        yield opened


@pytest.mark.parametrize("figure", IN_ONE_TRIAL)
def test_the_single_trials_of_a_figure_are_the_runs(with_trials: Opened, run: Run, figure: str):
    recorded = {
        (record.server, record.trial, record.point["connections"]): IN_ONE_TRIAL[figure](record)
        for record in run.points
    }
    # Six significant digits are kept.
    assert trials_in(with_trials, figure) == pytest.approx(recorded, rel=1e-5)


@pytest.mark.parametrize("figure", IN_ONE_TRIAL)
def test_only_invalid_trials_stand_in_a_figure_unless_the_others_are_asked_for(opened: Opened, figure: str):
    server, block, connections = synthetic.INVALID
    trial = 3 * block + synthetic.ORDER[block].index(server)
    assert list(trials_in(opened, figure)) == [(server, trial, connections)]


def trials_in(opened: Opened, figure: str) -> dict[tuple[str, int, int], float]:
    """What a figure shows of single trials, by server, trial and connections."""
    return {
        (mark["datum"]["server"], mark["datum"]["trial"], mark["datum"]["x"]): mark["datum"]["y"]
        for mark in opened.marks(figure)
        if mark["kind"] == "symbol" and "trial" in mark["datum"]
    }


@pytest.mark.parametrize("figure", MEASURES)
def test_marks_stand_where_the_axes_say(opened: Opened, figure: str):
    for mark in opened.marks(figure):
        if mark["kind"] in ("symbol", "line"):
            assert (mark["x"], mark["y"]) == pytest.approx((mark["expected"]["x"], mark["expected"]["y"]))


def test_every_server_has_one_colour_in_all_figures_and_legends(opened: Opened):
    colours: dict[str, set[str]] = {}
    for figure in opened.figures():
        for mark in opened.marks(figure):
            if mark["kind"] == "symbol" and "server" in mark["datum"]:
                filled = mark["fill"] if mark["fill"] != "transparent" else mark["stroke"]
                colours.setdefault(mark["datum"]["server"], set()).add(filled)
    for item in opened.page.locator(".legend li:not(.missing)").all():
        colour = item.locator("path").get_attribute("fill")
        colours[item.inner_text().strip()].add(str(colour))
    assert {server: len(found) for server, found in colours.items()} == dict.fromkeys(synthetic.SERVERS, 1)


def test_the_chosen_point_is_the_one_whose_distribution_is_drawn(opened: Opened, run: Run):
    opened.figures()
    choice = opened.page.locator("#point")
    for place, connections in enumerate(synthetic.CONNECTIONS):
        choice.select_option(str(place))
        opened.page.evaluate("drawnViews['distribution-figure'].runAsync().then(() => null)")
        lines = opened.marks("distribution-figure")
        ends = {
            mark["datum"]["server"]: (mark["datum"]["x"], mark["datum"]["y"])
            for mark in lines
            if mark["kind"] == "symbol"
        }
        assert {mark["datum"]["place"] for mark in lines} == {place}
        expected = {server: longest_of(run, server, connections) for server in synthetic.SERVERS}
        # Histograms hold three significant digits.
        assert ends == {server: pytest.approx(end, rel=1e-3) for server, end in expected.items()}


def longest_of(run: Run, server: str, connections: int) -> tuple[int, float]:
    """How many requests the usable trials of a point answered, and the longest latency among them."""
    latencies = [
        record.load.latency_ms
        for record in run.points
        if (record.server, record.point["connections"]) == (server, connections)
        and record.load.verdict.status != "invalid"
    ]
    return sum(one.count for one in latencies), max(one.max for one in latencies if one.max is not None)
