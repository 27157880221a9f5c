"""``loadcurve report --format``, apart from the page so that tables need not load what draws it."""

from pathlib import Path

import typer

from loadcurve.cli.damage import fail_where_left_out
from loadcurve.errors import BadInput
from loadcurve.report.formats.write import parse_formats, write_formats
from loadcurve.report.picture_style import AS_ON_PAGE, PictureStyle
from loadcurve.stats.slo import parse_objective

PICTURES = ("png", "svg", "pdf")


def formats_command(
    folder: Path, formats: str, slo: str | None, out: Path | None, style: PictureStyle = AS_ON_PAGE
) -> None:
    """Write the report of a run in each of ``formats``, such as ``md,png``, and print the paths.

    Raises ``LoadcurveError``: a format is not known, the folder cannot be read, the limits do not apply to
    it, a file cannot be written, or a fault left a part out of what is written.
    """
    wanted = parse_formats(formats)
    objective = None if slo is None else parse_objective(slo)
    if style != AS_ON_PAGE and not any(one in PICTURES for one in wanted):
        raise BadInput(
            f"--format {formats}: --figures, --size and --font are of pictures; expected one of "
            f"{', '.join(PICTURES)} among the formats"
        )
    written = write_formats(folder, wanted, objective, out, style)
    if not written.paths and not written.not_computed:
        raise BadInput(
            f"--format {formats}: nothing can be written, because no point of {folder} has a histogram of "
            "its latencies"
        )
    for path in written.paths:
        typer.echo(path)
    fail_where_left_out(written.not_computed)
