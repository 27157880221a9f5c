"""One browser for all tests, and the pages of synthetic runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from loadcurve.result.cpu_time import CpuTime, ProgramTime
from loadcurve.result.records import PointRecord
from support import synthetic_run as synthetic
from support.opened_report import OpenReport, reports_in, system_browser
from support.published_pages import published_site
from support.report_pages import write_report
from support.run_pages import comparison_of_runs, index_of_runs

CPU_TIME = CpuTime(
    cpus=[0],
    server=0.5,
    generator=0.01,
    kernel=0.2,
    host=0.05,
    others=0.1,
    idle=0.14,
    softirq_share=0.18,
    uncertain=0.003,
    programs=[ProgramTime(name="cc1", processes=2, pid=4711, cpu=0, cpu_share=0.1)],
)
"""Whose the time of the server's CPU was, with each part to be seen."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with system_browser() as browser:
        yield browser


@pytest.fixture
def open_report(browser: Browser) -> Iterator[OpenReport]:
    with reports_in(browser) as open_report:
        yield open_report


@pytest.fixture(scope="session")
def report(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the synthetic run, where there is a browser to open it."""
    record = synthetic.run_record()
    records = [
        one.model_copy(update={"probe": one.probe.model_copy(update={"cpu_time": CPU_TIME})})
        if isinstance(one, PointRecord)
        else one
        for one in synthetic.trial_records(record)
    ]
    return write_report(synthetic.write_run(tmp_path_factory.mktemp("browser") / "run", record, records))


@pytest.fixture(scope="session")
def index(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the list of a few runs."""
    return index_of_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def comparison(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of three runs side by side."""
    return comparison_of_runs(tmp_path_factory.mktemp("side-by-side"))


@pytest.fixture(scope="session")
def site(browser: Browser, report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish the synthetic run and another of the same study; return the site's folder."""
    return published_site(report.parent, tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="session")
def published_run_page(site: Path) -> Path:
    """Return the page of a published run."""
    return min(site.glob("*/results/*/*.html"))


@pytest.fixture(scope="session")
def published_server(site: Path) -> Path:
    """Return the page of a server of two published runs, with another version and setting in the second."""
    return site / "servers" / "nginx.html"
