"""One browser for all tests, and the pages of synthetic runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support import synthetic_run as synthetic
from support.opened_report import OpenReport, reports_in, system_browser
from support.report_pages import write_report
from support.run_pages import comparison_of_runs, index_of_runs


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
    return write_report(synthetic.write_run(tmp_path_factory.mktemp("browser") / "run"))


@pytest.fixture(scope="session")
def index(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the list of a few runs."""
    return index_of_runs(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def comparison(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of three runs side by side."""
    return comparison_of_runs(tmp_path_factory.mktemp("side-by-side"))
