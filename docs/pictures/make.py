"""Make the pictures of the README from a run: ``python docs/pictures/make.py RUN`` (needs Chromium)."""

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
LOADCURVE = Path(sys.executable).with_name("loadcurve")
COLUMNS = 80
SCREEN = "1280,800"


def report_picture(page: Path, picture: Path) -> None:
    """Write the first screen of a report as a laptop shows it."""
    with tempfile.TemporaryDirectory() as profile:
        chromium = [
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ]
        shown = [
            f"--user-data-dir={profile}",
            f"--window-size={SCREEN}",
            "--hide-scrollbars",
            "--virtual-time-budget=20000",
        ]
        subprocess.run(
            [*chromium, *shown, f"--screenshot={picture}", page.resolve().as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )


def terminal_picture(run: Path, picture: Path) -> None:
    """Write what the command prints at the end of a run, on a terminal of 80 columns."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    command = [LOADCURVE, "report", run]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(printed.rstrip()))
    svg = console.export_svg(title="loadcurve run quickstart --quick")
    # A picture in a repository loads nothing from elsewhere.
    svg = re.sub(r"@font-face \{[^}]*\}\s*", "", svg)
    picture.write_text(svg, encoding="utf-8")


def main() -> None:
    """Make both pictures."""
    run = Path(sys.argv[1])
    terminal_picture(run, HERE / "terminal.svg")
    report_picture(run / "report.html", HERE / "report.png")


if __name__ == "__main__":
    main()
