"""The page of a run folder, or of a run in memory, in one step."""

from pathlib import Path

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.numbers import read_analysed
from loadcurve.report.html import render_page, write_page
from loadcurve.report.section import Report
from loadcurve.result.folder import Run
from loadcurve.stats.slo import Objective


def write_report(folder: Path, objective: Objective | None = None) -> Path:
    """Write the page of a run folder into it and return its path."""
    return write_page(Report(*read_analysed(folder, objective)))


def render_report(folder: Path) -> str:
    return render_page(Report(*read_analysed(folder)))


def render_run(run: Run) -> str:
    return render_page(Report(run, analyse(run)))
