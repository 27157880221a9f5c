"""The least and the greatest figure of several loads, as people read them."""

from collections.abc import Callable

from loadcurve import units
from loadcurve.analysis.connections import Range


def range_in_words(found: Range | None, words: Callable[[float], str] = units.number) -> str:
    """Return "2", or "2 to 5" where they differ; what a page has for what is absent where there is none."""
    if found is None:
        return units.ABSENT
    least, greatest = words(found.least), words(found.greatest)
    return least if least == greatest else f"{least} to {greatest}"
