"""What of a run folder was changed since it was written."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from loadcurve.cli.console import new_console
from loadcurve.errors import LoadcurveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcurve.analysis.analysis import Analysis
    from loadcurve.analysis.sections import NotComputed


def tell_damage(analysis: "Analysis", folder: Path | None = None) -> None:
    """Print on stderr what is damaged in a run folder, which is named where there are several."""
    place = "" if folder is None else f"{folder}: "
    for sentence in analysis.damage:
        new_console(stderr=True).print(Text(f"loadcurve: {place}{sentence}"), soft_wrap=True)


def fail_where_left_out(sections: "Sequence[NotComputed]") -> None:
    """End as a fault of ours does where a section of the report was left out, when the rest is written.

    Raises ``LoadcurveError`` with a sentence for each.
    """
    if sections:
        raise LoadcurveError(" ".join(one.words for one in sections))
