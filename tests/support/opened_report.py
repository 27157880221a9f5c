"""A report in a real browser: the system's Chromium, which finds no network whatever the page asks for."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PHONE, DESK = 390, 1440
"""Widths of windows, in CSS pixels."""
PATIENCE_MS = 180_000
"""Longer than the browser takes for anything, even on a busy machine."""
REMEMBER_VIEWS = (Path(__file__).parent / "remember_views.js").read_text(encoding="utf-8")


@dataclass
class Opened:
    """A page with everything that it asked for and said since it was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def figures(self) -> list[str]:
        """The names of all figures, after the last of them is drawn."""
        self.page.evaluate("until(() => figuresInPage().every((id) => id in drawnViews))")
        return list(self.page.evaluate("figuresInPage()"))

    def redrawn(self, change: Callable[[], object]) -> list[str]:
        """The names of all figures, after a change has had all of them drawn again."""
        self.figures()
        self.page.evaluate("for (const id in drawnViews) delete drawnViews[id]")
        change()
        return self.figures()

    def marks(self, figure: str) -> list[dict[str, Any]]:
        """The marks that are in a figure: kind, datum, place, and where its axes would put the datum."""
        self.figures()
        return list(self.page.evaluate(f"marksOf({figure!r})"))


OpenPage = Callable[..., Opened]
OpenReport = Callable[..., Opened]


@contextmanager
def system_browser() -> Iterator[Browser]:
    """Start the system's Chromium; skip the test where there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs chromium, which is not installed; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@contextmanager
def pages_in(browser: Browser) -> Iterator[OpenPage]:
    """Give what opens a URL in a fresh profile and watches it; options are those of Playwright's context."""
    contexts = []

    def open_page(url: str, *, width: int = DESK, **options: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        context.add_init_script(REMEMBER_VIEWS)
        context.set_default_timeout(PATIENCE_MS)
        opened = Opened(context.new_page())
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.goto(url)
        return opened

    yield open_page
    for context in contexts:
        context.close()


@contextmanager
def reports_in(browser: Browser) -> Iterator[OpenReport]:
    """Give what opens a file as :func:`pages_in` opens a URL, without any network.

    In the end none of the files may have said anything on the console.
    """
    opened: list[Opened] = []
    with pages_in(browser) as open_page:

        def open_report(path: Path, **options: Any) -> Opened:
            opened.append(open_page(path.as_uri(), offline=True, **options))
            return opened[-1]

        yield open_report
        complaints = [complaint for one in opened for complaint in one.complaints]
        assert complaints == [], complaints
