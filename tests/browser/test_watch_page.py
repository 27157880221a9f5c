"""The page of a run in a real browser: it grows with the run, says how it ended, and asks nobody else."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from loadcurve.watch.live import LiveFile, LiveSecond
from loadcurve.watch.progress import ProgressFile
from support import synthetic_run as synthetic
from support.followed_run import GrowingRun, progress
from support.opened_report import DESK, PATIENCE_MS, PHONE, Opened, OpenPage, pages_in
from support.readable import looked_at, scrolls_sideways, serious_violations
from support.run_pages import HOSTILE
from support.sandbox import LOADCURVE, wait_until
from support.watched_run import page_of

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def run(tmp_path: Path) -> GrowingRun:
    run = GrowingRun(tmp_path / "run")
    # Nothing of what is left has passed yet, however long the page takes to open.
    run.says(left_s=125.0, since_monotonic_s=time.monotonic() + 3600)
    return run


@pytest.fixture
def url(run: GrowingRun) -> Iterator[str]:
    with page_of(run.folder) as (url, _):
        yield url


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    with pages_in(browser) as open_page:
        yield open_page


def means(opened: Opened, figure: str) -> dict[tuple[str, float], tuple[float, int]]:
    """The means that are in a figure, with the number of their trials."""
    return {
        (mark["datum"]["server"], mark["datum"]["x"]): (mark["datum"]["y"], mark["datum"]["n"])
        for mark in opened.page.evaluate(f"marksOf({figure!r})")
        if mark["kind"] == "symbol" and "n" in mark["datum"]
    }


def see_throughput(opened: Opened) -> None:
    """Go to the first figure, which may lie below what is seen first, and wait until it is drawn."""
    opened.page.locator("#throughput-1-1").scroll_into_view_if_needed()
    opened.page.evaluate("until(() => 'throughput-1-1' in drawnViews)")


def redrawn(opened: Opened, change: Callable[[], object]) -> None:
    """Wait until a change has had the throughput drawn again."""
    opened.page.evaluate("delete drawnViews['throughput-1-1']")
    change()
    see_throughput(opened)


def test_the_curves_grow_while_the_run_goes_on(open_page: OpenPage, url: str, run: GrowingRun):
    opened = open_page(url)
    expect(opened.page.locator("#sentence")).to_have_text("Trial 1 of 9, block 1: nginx.")
    expect(opened.page.locator("#left")).to_have_text("about 2:05 left")
    expect(opened.page.locator("#nothing")).to_be_visible()
    measured = 0
    # A first point, a whole curve, a block, and another curve of the second block.
    for points, servers in ((1, 1), (8, 1), (24, 3), (32, 3)):
        added = points - measured
        redrawn(opened, lambda added=added: run.add(added))
        measured = points
        drawn = means(opened, "throughput-1-1")
        assert sum(n for _, n in drawn.values()) == points
        assert len({server for server, _ in drawn}) == servers
        expect(opened.page.locator("#verdict-valid")).to_have_text(str(points))
    truth = synthetic.SERVERS["nginx"].throughput_rps(200) / 1.02
    assert drawn["nginx", 200] == (pytest.approx(truth, rel=1e-5), 1)
    assert opened.page.locator("#nothing").is_hidden()
    assert opened.complaints == []
    assert {request.removeprefix(url) for request in opened.requests} <= {"", "events", "data:,"}


def test_a_server_has_the_colour_of_the_report_and_only_what_is_in_sight_is_drawn(
    open_page: OpenPage, url: str, run: GrowingRun
):
    run.add(24)
    opened = open_page(url)
    see_throughput(opened)
    legend = {
        item.inner_text().strip(): item.locator("path").get_attribute("fill")
        for item in opened.page.locator("#throughput ~ .legend li:not(.missing)").all()
    }
    drawn = {
        mark["datum"]["server"]: mark["fill"]
        for mark in opened.page.evaluate("marksOf('throughput-1-1')")
        if mark["kind"] == "symbol"
    }
    assert legend == drawn
    assert list(legend) == list(synthetic.SERVERS)
    assert "resources-1-3" not in opened.page.evaluate("Object.keys(drawnViews)")
    opened.page.locator("#resources-1-3").scroll_into_view_if_needed()
    opened.page.evaluate("until(() => 'resources-1-3' in drawnViews)")


def test_a_load_is_followed_from_when_it_began_without_news(open_page: OpenPage, url: str, run: GrowingRun):
    opened = open_page(url)
    load = opened.page.locator("#load")
    for begun_s_ago, said in (
        (0.0, r"connections = 50 · warming up, \d+ of 60 s"),
        (65.0, r"connections = 50 · measuring, (5|6|7|8|9|\d\d) of 3600 s"),
        (9000.0, r"connections = 50 · measuring, 3600 of 3600 s"),
        (0.0, r"connections = 50 · warming up, \d+ of 60 s"),
    ):
        begun_s = time.monotonic() - begun_s_ago
        run.says(point={"connections": 50}, since_monotonic_s=begun_s, warmup_s=60.0, duration_s=3600.0)
        expect(load).to_have_text(re.compile(said))
    # Of an hour and a minute some of the last seconds may have passed.
    when = r": the point under way is drawn when its load is over, in about (61:00|60:\d\d)\."
    expect(opened.page.locator("#nothing")).to_have_text(re.compile(when))
    before = load.inner_text()
    expect(load).not_to_have_text(before)
    assert opened.requests.count(f"{url}events") == 1


def test_the_seconds_of_a_long_load_are_drawn_while_it_lasts(open_page: OpenPage, url: str, run: GrowingRun):
    begun_s = time.monotonic()
    run.says(point={"connections": 50}, since_monotonic_s=begun_s, warmup_s=0.0, duration_s=3600.0)
    opened = open_page(url)
    live = opened.page.locator("#live")
    expect(live).to_be_hidden()
    with LiveFile(run.folder) as file:
        file.begins(2.0)
        for at_s, rate_rps, failed in ((10.0, 1000.0, 0), (20.0, 2000.0, 0), (40.0, 500.0, 1234)):
            more = {"p50_ms": 1.0, "p90_ms": 2.0, "p99_ms": 4.0, "answered": 4936}
            cpu = {"server_cpus": None, "generator_cpus": 0.25} if at_s > 10 else {}
            file.add(LiveSecond(at_s=at_s, rate_rps=rate_rps, failed=failed, **more, **cpu))
        expect(opened.page.locator("#live-rate-now")).to_have_text("500, at most 2,000")
        expect(opened.page.locator("#live-latency-now")).to_have_text("1 and 4 ms, at most 4")
        expect(opened.page.locator("#live-failed")).to_have_text("1,234 failed until now.")
        expect(opened.page.locator("#live-cpu-now")).to_have_text("— and 0.25, at most 0.25")
        # 1,234 of 6,170.
        expect(opened.page.locator("#so-far")).to_contain_text("invalid. 1,234 of 6,170 requests failed (20")
        # Of 40 s on 600 units, and of at most 2,000 on 114 units above 118.
        path = opened.page.locator("#live-rate .line").first
        expect(path).to_have_attribute("d", "M150.0 61.0L300.0 4.0L600.0 89.5")
    expect(live).to_be_hidden()
    assert opened.complaints == []


def test_a_failure_is_shown(open_page: OpenPage, url: str, run: GrowingRun):
    opened = open_page(url)
    expect(opened.page.locator("#no-failure")).to_be_visible()
    run.add_all()
    expect(opened.page.locator("#failures")).to_contain_text(
        "Trial 6, apache, connections = 50. the server ended with status 1 while under load"
    )
    expect(opened.page.locator("#no-failure")).to_be_hidden()


@contextmanager
def command_serving(folder: Path, address: str) -> Iterator[str]:
    """Run `loadcurve watch` until it is killed at the end of the block; yields the page's URL."""
    command = [LOADCURVE, "watch", folder, "--address", address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[-1]
        finally:
            process.kill()


def test_a_lost_connection_is_said_and_found_again(open_page: OpenPage, run: GrowingRun):
    # On an address that nobody else uses, so that nobody takes the port in between.
    with command_serving(run.folder, "127.0.0.77:0") as url:
        opened = open_page(url)
        expect(opened.page.locator("#sentence")).to_contain_text("nginx")
    notice = opened.page.locator("#connection")
    expect(notice).to_have_text("The connection is lost; this page shows the last known state. Reconnecting.")
    run.says(trial={"trial": 1, "block": 0, "server": "apache"})
    with command_serving(run.folder, url.removeprefix("http://").rstrip("/")):
        sentence = opened.page.locator("#sentence")
        expect(sentence).to_have_text("Trial 2 of 9, block 1: apache.")
        expect(notice).to_be_hidden()


def test_the_finished_report_follows_the_run_that_the_page_ends_with(open_page: OpenPage, run: GrowingRun):
    with page_of(run.folder) as (url, server):
        opened = open_page(url)
        wait_until(lambda: server.readers == 1, "the page follows the run")
        (run.folder / "report.html").write_text("<!doctype html><title>The report</title>")
        run.ends()
        server.leave()
        opened.page.wait_for_url(f"{url}report.html")
    assert opened.page.title() == "The report"


def test_a_run_that_ends_without_a_report_stays_on_the_page(open_page: OpenPage, run: GrowingRun):
    with page_of(run.folder) as (url, server):
        opened = open_page(url)
        # What the page says first, it says before it follows the run.
        wait_until(lambda: server.readers == 1, "the page follows the run")
        run.ends()
        server.leave()
    expect(opened.page.locator("#connection")).to_have_text(
        "The run has ended; this page shows its final state."
    )
    expect(opened.page.locator("#sentence")).to_contain_text("was interrupted")


def test_a_run_that_is_over_leads_to_its_report(open_page: OpenPage, url: str, run: GrowingRun):
    run.add_all()
    (run.folder / "report.html").write_text("<!doctype html><title>The report</title>")
    run.ends()
    opened = open_page(url)
    opened.page.get_by_role("link", name="The report").click()
    expect(opened.page).to_have_title("The report")


@looked_at((PHONE, "dark"), (DESK, "light"))
def test_axe_finds_nothing_serious_and_nothing_sticks_out(
    open_page: OpenPage, url: str, run: GrowingRun, width: int, colour_scheme: str
):
    run.add(30)
    opened = open_page(url, width=width, color_scheme=colour_scheme)
    see_throughput(opened)
    assert serious_violations(opened) == []
    assert not scrolls_sideways(opened, width)


def test_what_is_going_on_is_read_aloud_politely_and_the_seconds_are_not(open_page: OpenPage, url: str):
    opened = open_page(url)
    assert opened.page.get_by_role("status").all_inner_texts() == ["Trial 1 of 9, block 1: nginx."]
    for silent in ("#load", "#done"):
        assert (
            opened.page.locator(silent).evaluate("(one) => one.closest('[role=status], [aria-live]')") is None
        )


def test_without_javascript_the_page_still_says_where_the_run_stands(open_page: OpenPage, url: str):
    opened = open_page(url, java_script_enabled=False)
    assert opened.page.locator("#sentence").inner_text() == "Trial 1 of 9, block 1: nginx."
    assert "reload the page" in opened.page.locator("noscript").inner_text()


def test_hostile_text_is_shown_and_never_run(open_page: OpenPage, tmp_path: Path):
    folder = synthetic.write_renamed_run(tmp_path / "run", "tiny", HOSTILE)
    record = json.loads((folder / "run.json").read_text())
    own_load = {**record["study"]["load"], "http": "<i>1.0"}
    servers = {HOSTILE: {"load": own_load}}
    record["study"] |= {"title": HOSTILE, "question": HOSTILE, "servers": servers}
    (folder / "run.json").write_text(json.dumps(record))
    with ProgressFile(folder) as file, page_of(folder) as (url, _):
        file.write(progress(trial={"trial": 3, "block": 1, "server": HOSTILE}))
        opened = open_page(url)
        see_throughput(opened)
        page = opened.page
        assert page.locator("h1").inner_text() == HOSTILE
        assert HOSTILE in page.title()
        assert page.locator("#sentence").inner_text() == f"Trial 4 of 9, block 2: {HOSTILE}."
        assert f"{HOSTILE} http = <i>1.0" in page.locator(".legend").first.inner_text()
        assert page.evaluate("typeof stolen") == "undefined"
        assert page.locator("img, [onerror]").count() == 0
        assert opened.complaints == []
