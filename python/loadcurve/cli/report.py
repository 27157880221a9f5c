"""``loadcurve report``."""

import json
from pathlib import Path

import typer
from rich.console import Console

from loadcurve.explain.all import findings
from loadcurve.report.findings import findings_text
from loadcurve.report.html import write_report
from loadcurve.result.folder import read_run


def report_command(folder: Path) -> None:
    """Write the report of a run, and print its findings and, last, the report's path."""
    path = write_report(folder)
    out = Console(highlight=False)
    out.print(findings_text(findings(read_run(folder))))
    typer.echo(path)


def findings_command(folder: Path) -> None:
    """Print the findings of a run as a JSON array of objects."""
    typer.echo(json.dumps([one.model_dump(mode="json") for one in findings(read_run(folder))], indent=2))
