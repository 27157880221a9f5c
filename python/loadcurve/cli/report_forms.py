"""``loadcurve report --format``, apart from the page so that tables need not load what draws it."""

from pathlib import Path

import typer

from loadcurve.report.formats.write import parse_forms, write_forms
from loadcurve.stats.slo import parse_objective


def forms_command(folder: Path, forms: str, slo: str | None, out: Path | None) -> None:
    """Write the report of a run in each of ``forms``, such as ``md,png``, and print the paths.

    Raises:
        LoadcurveError: a form is not known, the folder cannot be read, the limits do not apply to it, or a
            file cannot be written.

    """
    wanted = parse_forms(forms)
    objective = None if slo is None else parse_objective(slo)
    for path in write_forms(folder, wanted, objective, out):
        typer.echo(path)
