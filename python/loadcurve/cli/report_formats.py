"""``loadcurve report --format``, apart from the page so that tables need not load what draws it."""

from pathlib import Path

import typer

from loadcurve.report.formats.write import parse_formats, write_formats
from loadcurve.stats.slo import parse_objective


def formats_command(folder: Path, formats: str, slo: str | None, out: Path | None) -> None:
    """Write the report of a run in each of ``formats``, such as ``md,png``, and print the paths.

    Raises ``LoadcurveError``: a format is not known, the folder cannot be read, the limits do not apply to
    it, or a file cannot be written.
    """
    wanted = parse_formats(formats)
    objective = None if slo is None else parse_objective(slo)
    for path in write_formats(folder, wanted, objective, out):
        typer.echo(path)
