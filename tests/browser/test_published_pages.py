"""The pages of published results: an entry is found by its words, and two rows are compared as SciPy does."""

import csv
import math
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from scipy.stats import t, ttest_rel

from loadcurve.analysis.published_figures import estimates_of_trials
from loadcurve.report.site.build import build_site
from loadcurve.result.publication import PublishedFigure, PublishedRun, publish_run
from support import synthetic_run as synthetic
from support.opened_report import OpenReport
from support.published_pages import two_published_runs


@pytest.fixture(scope="module")
def runs(report: Path) -> tuple[PublishedRun, PublishedRun]:
    return two_published_runs(report.parent)


def ratios(cell: str) -> list[float]:
    """The numbers of a cell, such as ``1.15 1.10 to 1.21``."""
    return [float(word) for word in cell.replace(" to ", " ").replace(",", "").split()]


def test_two_servers_of_a_run_are_compared_by_pairs_within_blocks(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    page = open_report(site / runs[0].place.replace(".json", ".html")).page
    page.locator("#first").select_option("nginx")
    page.locator("#second").select_option("apache")
    row = page.locator("#pair tbody tr").filter(has_text="connections = 10").first
    values = {
        one.server: dict(zip(one.blocks, one.figures["throughput_rps"].values, strict=True))
        for one in runs[0].points
        if one.point == {"connections": 10}
    }
    blocks = sorted(values["nginx"].keys() & values["apache"].keys())
    logs = [[math.log(values[name][block] or 0) for block in blocks] for name in ("nginx", "apache")]
    expected = ttest_rel(*logs).confidence_interval(0.95)
    mean = sum(a - b for a, b in zip(*logs, strict=True)) / len(blocks)
    shown = ratios(row.locator("td").first.inner_text())
    assert shown == pytest.approx([math.exp(one) for one in (mean, expected.low, expected.high)], rel=6e-3)


def test_rows_of_two_runs_are_compared_by_their_intervals(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    page = open_report(site / runs[0].subject / "index.html").page
    names = page.locator("#first option").all_inner_texts()
    first, second = (place for place, name in enumerate(names) if name.startswith("nginx "))
    page.locator("#first").select_option(index=first)
    page.locator("#second").select_option(index=second)
    # Both runs have the same three values, a factor of 1.02 apart: Welch's test has four degrees of freedom.
    half = float(t.ppf(0.975, 4)) * math.log(1.02) * math.sqrt(2 / 3)
    shown = ratios(page.locator("#pair tbody td").first.inner_text())
    assert shown == pytest.approx([1, math.exp(-half), math.exp(half)], rel=6e-3)
    assert "not in turn" in page.locator("#pair").inner_text()


def test_rows_of_different_machines_are_not_compared(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun], tmp_path: Path
):
    elsewhere = runs[1].machine.model_copy(update={"fingerprint": "b" * 64, "name": "another machine"})
    for run in (runs[0], runs[1].model_copy(update={"machine": elsewhere})):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    page = open_report(tmp_path / runs[0].subject / "index.html").page
    page.locator("#first").select_option(index=0)
    page.locator("#second").select_option(index=page.locator("#second option").count() - 1)
    assert "They ran on different machines" in page.locator("#pair").inner_text()
    assert page.locator("#pair table").count() == 0


def with_own_load(run: PublishedRun, **options: object) -> PublishedRun:
    """A run in which the load of apache has other options than the study's."""
    return run.model_copy(update={"load": run.load | {"servers": {"apache": options}}})


def test_two_servers_with_different_loads_are_compared_within_their_run_with_a_caution_and_across_runs_not(
    open_report: OpenReport, runs: tuple[PublishedRun, PublishedRun], tmp_path: Path
):
    first, second = (with_own_load(run, calls=1) for run in runs)
    for run in (first, second):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    page = open_report(tmp_path / first.place.replace(".json", ".html")).page
    page.locator("#first").select_option("nginx")
    page.locator("#second").select_option("apache")
    words = "nginx and apache had different loads: the ratios compare the loads, too, not only the servers."
    assert words in page.locator("#pair").inner_text()
    page.locator("#second").select_option("tiny")
    assert "different loads" not in page.locator("#pair").inner_text()
    page = open_report(tmp_path / first.subject / "index.html").page
    of_first, of_second = (run.place.removesuffix(".json") for run in (first, second))
    page.locator("#first").select_option(f"{of_first}:nginx")
    page.locator("#second").select_option(f"{of_second}:apache")
    assert "They cannot be compared. They had different loads" in page.locator("#pair").inner_text()
    page.locator("#first").select_option(f"{of_first}:apache")
    assert page.locator("#pair table").count() == 1


def of_two_trials(run: PublishedRun) -> PublishedRun:
    """A run without its third block, with the intervals that two trials have."""
    left = [
        one.model_copy(
            update={
                "blocks": one.blocks[:2],
                "verdicts": one.verdicts[:2],
                "figures": {
                    name: figure.model_copy(update={"values": figure.values[:2]})
                    for name, figure in one.figures.items()
                },
            }
        )
        for one in run.points
    ]
    figures: list[dict[str, PublishedFigure]] = [{} for _ in left]
    for place, name, found in estimates_of_trials(left):
        ends = {"value": None, "low": None, "high": None, "n": 0}
        if found is not None:
            ends = {"value": found.value, "low": found.low, "high": found.high, "n": found.n}
        figures[place][name] = left[place].figures[name].model_copy(update=ends)
    points = [one.model_copy(update={"figures": of}) for one, of in zip(left, figures, strict=True)]
    return run.model_copy(update={"points": points})


def test_the_ratio_of_runs_of_two_trials_has_no_interval_that_other_servers_have_narrowed(
    open_report: OpenReport, runs: tuple[PublishedRun, PublishedRun], tmp_path: Path
):
    first, second = map(of_two_trials, runs)
    for run in (first, second):
        publish_run(tmp_path, run)
    build_site(tmp_path)
    page = open_report(tmp_path / first.subject / "index.html").page
    page.locator("#first").select_option(f"{first.place.removesuffix('.json')}:nginx")
    page.locator("#second").select_option(f"{second.place.removesuffix('.json')}:nginx")
    assert ratios(page.locator("#pair tbody td").first.inner_text()) == [1]
    assert (
        "Of fewer than three trials a ratio of two runs has no interval."
        in page.locator("#pair").inner_text()
    )


def test_an_entry_is_found_by_its_words(open_report: OpenReport, site: Path):
    page = open_report(site / "index.html").page
    entries = page.locator("[data-search]:visible")
    before = entries.count()
    page.locator("#search").fill("apache event")
    assert before > entries.count() == 1
    assert "Apache httpd, event" in entries.first.inner_text()


def test_a_filter_is_set_by_keyboard_and_hides_the_rows_of_other_values_where_no_script_may_run(
    browser: Browser, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((site / runs[0].place.replace(".json", ".html")).as_uri())
        rows = page.locator("#figures ~ .scroller tbody tr:visible th")
        assert {"nginx", "apache", "tiny"} <= set(rows.all_inner_texts())
        page.get_by_role("radio", name="all").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("radio", name="Rust").is_checked()
        assert set(rows.all_inner_texts()) == {"tiny"}
        assert page.locator(".places .one:visible").all_inner_texts()[0] == "tiny"
        assert page.locator("svg.curve g:visible").count() == 2 * page.locator("svg.curve").count()


def test_filters_and_words_are_kept_by_the_address_which_leads_back_to_them(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    result = site / runs[0].place.replace(".json", ".html")
    opened = open_report(result).page
    opened.get_by_role("radio", name="Rust").check()
    opened.locator("#first").select_option("nginx")
    # A page writes its address at once, and the browser knows of it a moment later.
    opened.wait_for_url(
        f"{result.as_uri()}#language=Rust&pair=nginx,{opened.locator('#second').input_value()}"
    )

    page = open_report(result).page
    page.goto(opened.url)
    page.reload()
    assert page.get_by_role("radio", name="Rust").is_checked()
    assert set(page.locator("#figures ~ .scroller tbody tr:visible th").all_inner_texts()) == {"tiny"}
    assert page.locator("#first").input_value() == "nginx"
    page.get_by_role("radio", name="all").check()
    page.wait_for_url(lambda address: "language" not in address)

    front = open_report(site / "index.html").page
    front.locator("#search").fill("Apache event")
    front.wait_for_url(lambda address: "find=" in address)
    front.reload()
    assert front.locator("#search").input_value() == "Apache event"
    assert front.locator("[data-search]:visible").count() == 1


def test_an_address_with_a_value_that_no_entry_has_says_so_and_hides_nothing(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    page = open_report(site / runs[0].place.replace(".json", ".html")).page
    rows = page.locator("#figures ~ .scroller tbody tr:visible")
    before = rows.count()
    page.evaluate("location.hash = '#language=Fortran%20%26%20C'")
    notice = page.get_by_text("Nothing here has what the address asks for: Fortran & C.")
    notice.wait_for()
    assert rows.count() == before
    page.get_by_role("radio", name="Rust").check()
    assert notice.is_hidden()


def test_a_comparison_is_downloaded_as_csv_with_its_intervals_and_the_names_of_the_pair(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    page = open_report(site / runs[0].place.replace(".json", ".html")).page
    page.locator("#first").select_option("nginx")
    page.locator("#second").select_option("apache")
    with page.expect_download() as event:
        page.locator("#pair .tools button", has_text="CSV").click()
    assert event.value.suggested_filename == "compare-nginx-apache.csv"
    [titles, *rows] = csv.reader(Path(event.value.path()).read_text().splitlines())
    assert titles[:4] == ["at", "throughput", "throughput, low", "throughput, high"]
    [row] = [one for one in rows if one[0] == "connections = 10"]
    of_truth = [synthetic.SERVERS[name].throughput_rps(10) for name in ("nginx", "apache")]
    assert float(row[1]) == pytest.approx(of_truth[0] / of_truth[1], rel=1e-5)


def test_a_link_to_a_comparison_opens_it_wherever_the_pair_is_in_the_list(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    study = site / runs[0].subject / "index.html"
    opened = open_report(study).page
    last = opened.locator("#first option").count() - 1
    opened.locator("#first").select_option(index=last)
    opened.locator("#second").select_option(index=0)
    link = opened.get_by_role("link", name="Link to this comparison").get_attribute("href") or ""
    assert opened.url == f"{study.as_uri()}{link}"
    shown = opened.locator("#pair p").first.inner_text()

    page = open_report(study).page
    page.evaluate("link => location.hash = link", link)
    page.wait_for_function("shown => document.querySelector('#pair p').innerText === shown", arg=shown)
    assert page.evaluate("document.getElementById('first').selectedIndex") == last
    page.reload()
    assert page.locator("#pair p").first.inner_text() == shown


def test_a_link_to_a_pair_that_the_page_does_not_have_says_so(
    open_report: OpenReport, site: Path, runs: tuple[PublishedRun, PublishedRun]
):
    page = open_report(site / runs[0].place.replace(".json", ".html")).page
    page.evaluate("location.hash = '#pair=nginx,gone'")
    page.wait_for_selector("#pair .notice")
    assert "a pair that this page does not have" in page.locator("#pair .notice").first.inner_text()
    page.evaluate("location.hash = '#pair=%E0%A4%A'")
    assert page.locator("#pair table").count() == 1
