"""``loadcurve report``."""

import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.text import Text

from loadcurve.analysis.numbers import analysis_of, read_analysed
from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out, tell_damage
from loadcurve.cli.together import report_together
from loadcurve.report.comparison import comparison_lines
from loadcurve.report.html import write_page
from loadcurve.report.section import Report
from loadcurve.report.side_by_side import write_side_by_side
from loadcurve.report.terminal import closing, print_answer, print_findings, print_shapes
from loadcurve.result.run_files import has_several_loads
from loadcurve.stats.slo import parse_objective


def report_command(folder: Path, slo: str | None) -> None:
    """Write the report of a run, and print the answer, its findings, the curves and, last, the report's path.

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
    print_answer(report, out)
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


OTHER_CONDITIONS = (
    "They were not measured under the same conditions, so a ratio includes the effect of the conditions."
)


def side_by_side_command(folders: Sequence[Path], out: Path | None) -> None:
    """Lay runs side by side on a page; print what differs, the ratios to the first run and the page's path.

    Raises ``LoadcurveError``: a folder cannot be read or is named twice, or the page cannot be written.
    """
    page, shown = write_side_by_side(folders, out)
    console = new_console()
    for pairing in shown.pairings:
        base, new = (
            next(run.folder for run in shown.runs if run.letter == letter)
            for letter in (pairing.base, pairing.new)
        )
        console.print(Text(f"{new} over {base}", style="bold"), soft_wrap=True)
        if pairing.comparison.conditions:
            console.print(Text(OTHER_CONDITIONS, style="yellow"))
        console.print(comparison_lines(pairing.comparison))
        console.print()
    console.print(page, soft_wrap=True)
