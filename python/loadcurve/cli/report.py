"""``loadcurve report``."""

import json
from pathlib import Path

import typer

from loadcurve.analysis.numbers import analysis_of, read_analysed
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.cli.together import report_together
from loadcurve.report.html import write_page
from loadcurve.report.section import Report
from loadcurve.report.terminal import closing, print_findings, print_shapes
from loadcurve.result.run_files import has_several_loads
from loadcurve.stats.slo import parse_objective


def report_command(folder: Path, slo: str | None) -> None:
    """Write the report of a run, and print its findings, the answer, the curves and, last, the report's path.

    With limits, say up to which load they hold.

    Raises ``LoadcurveError``: the folder cannot be read, the limits do not apply to it, or the report cannot
    be written.
    """
    objective = None if slo is None else parse_objective(slo)
    if has_several_loads(folder):
        report_together(folder, objective)
        return
    report = Report(*read_analysed(folder, objective))
    page = write_page(report)
    tell_damage(report.analysis)
    out = new_console()
    if objective is not None:
        print_shapes(report, out)
    print_findings(report, out)
    out.print(closing(report))
    out.print(page, soft_wrap=True)
    fail_where_left_out(report.analysis.not_computed)


def findings_command(folder: Path) -> None:
    """Print the findings of a run as a JSON array of objects."""
    analysis = analysis_of(folder)
    tell_damage(analysis)
    typer.echo(json.dumps([one.model_dump(mode="json") for one in analysis.findings], indent=2))
