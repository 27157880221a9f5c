"""``loadcurve report`` of several runs: one page with all of them, and their ratios in the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.report.comparison import comparison_lines
from loadcurve.report.side_by_side import write_side_by_side

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
