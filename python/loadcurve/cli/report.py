"""``loadcurve report``."""

from pathlib import Path

from rich.console import Console

from loadcurve.report.html import write_report
from loadcurve.report.terminal import print_shapes
from loadcurve.result.folder import read_run
from loadcurve.stats.slo import parse_objective


def report_command(folder: Path, slo: str | None) -> None:
    """Write the report of a run folder; with limits, say up to which load they hold; print its path last.

    Raises:
        LoadcurveError: the folder cannot be read, the limits do not apply to it, or the report cannot be
            written.

    """
    objective = None if slo is None else parse_objective(slo)
    report = write_report(folder, objective)
    out = Console(highlight=False)
    if objective is not None:
        print_shapes(read_run(folder), out, objective)
    out.print(report, soft_wrap=True)
