"""``loadcurve report``."""

import json
from pathlib import Path

import typer

from loadcurve.cli.console import new_console
from loadcurve.explain.all import findings
from loadcurve.report.content import content_of
from loadcurve.report.findings import findings_text
from loadcurve.report.html import write_page
from loadcurve.report.terminal import print_shapes
from loadcurve.result.folder import read_run
from loadcurve.stats.slo import parse_objective


def report_command(folder: Path, slo: str | None) -> None:
    """Write the report of a run, and print its findings and, last, the report's path.

    With limits, say up to which load they hold.

    Raises:
        LoadcurveError: the folder cannot be read, the limits do not apply to it, or the report cannot be
            written.

    """
    objective = None if slo is None else parse_objective(slo)
    run = read_run(folder)
    content = content_of(run, objective)
    report = write_page(content)
    out = new_console()
    if objective is not None:
        print_shapes(run, out, objective)
    out.print(findings_text(content.findings, "full"))
    out.print(report, soft_wrap=True)


def findings_command(folder: Path) -> None:
    """Print the findings of a run as a JSON array of objects."""
    typer.echo(json.dumps([one.model_dump(mode="json") for one in findings(read_run(folder))], indent=2))
