"""What of a run folder was changed since it was written."""

from pathlib import Path

from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.cli.console import new_console


def tell_damage(analysis: Analysis, folder: Path | None = None) -> None:
    """Print on stderr what is damaged in a run folder, which is named where there are several."""
    place = "" if folder is None else f"{folder}: "
    for sentence in analysis.damage:
        new_console(stderr=True).print(Text(f"loadcurve: {place}{sentence}"), soft_wrap=True)
