"""One browser for all tests, and the report of the synthetic run as the command writes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from support import synthetic_run as synthetic
from support.opened_report import OpenReport, reported, reports_in, system_browser


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
    return reported(synthetic.write_run(tmp_path_factory.mktemp("browser") / "run"))
