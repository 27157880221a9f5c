"""Marks behind percentiles in tables: what is to be known of one before it is compared with others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from loadcurve.analysis.curves import CurvePoint


@dataclass(frozen=True)
class Mark:
    """A sign behind a percentile."""

    sign: str
    words: str
    """What it says."""
    is_at: Callable[[CurvePoint, str], bool]
    """Whether a percentile of a point has it, such as ``p99``."""

    def __str__(self) -> str:
        """Return it with its meaning, as a line below a table."""
        return f"{self.sign} {self.words}"


PAUSED = Mark(
    "†",
    "pauses of this machine alone explain half or more of this percentile in at least one trial",
    CurvePoint.is_paused,
)
PARTIAL = Mark(
    "‡",
    "some trials had too few answers for this percentile: it is of the others, and a lower one is of all",
    CurvePoint.is_partial,
)
MARKS = (PAUSED, PARTIAL)


def marked(figure: str, at: CurvePoint, percentile: str) -> str:
    """Return the figure of a percentile with its marks."""
    return " ".join([figure, *(mark.sign for mark in MARKS if mark.is_at(at, percentile))])


def marks_of(points: Iterable[CurvePoint], percentiles: Iterable[str]) -> list[Mark]:
    """Return the marks that any of these percentiles has at any of these points."""
    places = [(at, percentile) for at in points for percentile in percentiles]
    return [mark for mark in MARKS if any(mark.is_at(*place) for place in places)]
