"""Make the documents' pictures from a shortened run of the quickstart: ``python docs/pictures/make.py RUN``.

The report as a laptop, a phone and a printer show it needs Chromium.
"""

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

from loadcurve.analysis.numbers import read_analysed
from loadcurve.cli.run import next_steps
from loadcurve.report.findings import findings_text, grouped
from loadcurve.report.inconclusive import visible_words
from loadcurve.report.long_table import summary_table
from loadcurve.report.section import Report
from loadcurve.report.terminal import closing, print_answer
from loadcurve.result.run_files import REPORT_FILE
from loadcurve.runs.study import RunOptions
from loadcurve.study.find import find_study

HERE = Path(__file__).parent
STUDY = "quickstart"
COLUMNS = 80
MOST_FINDINGS = 2
"""As many causes as leave the whole in sight."""
LEFT_OUT = Text("…\n", style="dim")
LAPTOP, PHONE = (1280, 800), (390, 844)
"""Widths and heights of windows, in CSS pixels."""
PAPER = (718, 1032)
"""What the margins of a report leave of A4, in CSS pixels."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def terminal_picture(run: Path) -> str:
    """Return, as SVG, what ``loadcurve run`` prints at its end on a terminal of 80 columns.

    The ranking, the shapes and most of the findings are left out, which a line of dots shows.
    """
    report = Report(*read_analysed(run))
    analysis = report.analysis
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    print_answer(report, console)
    console.print(summary_table(analysis), LEFT_OUT)
    first = grouped(analysis.findings)[:MOST_FINDINGS]
    console.print(findings_text([one for group in first for one in group.findings], visible_words(analysis)))
    console.print(LEFT_OUT, closing(report))
    console.print(run / REPORT_FILE, soft_wrap=True)
    console.print(next_steps(STUDY, find_study(STUDY), run, RunOptions(quick=True)), soft_wrap=True)
    svg = console.export_svg(title=f"loadcurve run {STUDY} --quick")
    # A picture in a repository loads nothing from elsewhere.
    return re.sub(r"@font-face \{[^}]*\}\s*", "", svg)


@contextmanager
def system_browser() -> Iterator[Browser]:
    """Start the system's Chromium."""
    chromium = shutil.which("chromium") or sys.exit(
        "chromium is missing; on Debian: apt-get install chromium"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


def report_picture(
    browser: Browser, page: Path, size: tuple[int, int], media: Literal["screen", "print"] = "screen"
) -> bytes:
    """Return the first screen of a report, or what is printed on the first sheet, as PNG."""
    width, height = size
    opened = browser.new_page(viewport={"width": width, "height": height})
    opened.emulate_media(media=media)
    opened.goto(page.resolve().as_uri(), wait_until="networkidle")
    picture = opened.screenshot()
    opened.close()
    return picture


def main() -> None:
    """Make all pictures."""
    run = Path(sys.argv[1])
    # The command is called as people call it who have it on their PATH.
    command = Path(sys.executable).with_name("loadcurve")
    os.environ["PATH"] = f"{command.parent}:{os.environ['PATH']}"
    sys.argv[0] = str(command)
    (HERE / "terminal.svg").write_text(terminal_picture(run), encoding="utf-8")
    page = run / REPORT_FILE
    with system_browser() as browser:
        (HERE / "report.png").write_bytes(report_picture(browser, page, LAPTOP))
        (HERE / "phone.png").write_bytes(report_picture(browser, page, PHONE))
        (HERE / "printed.png").write_bytes(report_picture(browser, page, PAPER, "print"))


if __name__ == "__main__":
    main()
