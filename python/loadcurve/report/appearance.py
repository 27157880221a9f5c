"""One colour and one shape for each server, the same in every figure, legend and table."""

from collections.abc import Iterable
from dataclasses import dataclass

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc72a8", "#b48448", "#8460fc", "#5a666c")
"""Seven colours that colour-blind readers can tell apart, on light and on dark paper alike.

The first three are those of Okabe and Ito ("Color Universal Design", 2008), whose others are too faint on
light paper. Each has a contrast of at least 3 to 1 with every paper (WCAG 2.2, criterion 1.4.11), so that a
server has one colour everywhere; the last four were searched for their difference with every kind of sight.
"""

SHAPES = {
    "circle": "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
    "square": "M2 2h8v8h-8z",
    "triangle-up": "M6 1.2l5 9h-10z",
    "diamond": "M6 .6l4.2 5.4l-4.2 5.4l-4.2-5.4z",
    "cross": "M4.4 1h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
}
"""Vega's name of each shape, and its outline in a box of 12 by 12 for the legend."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """How one server is drawn."""

    colour: str
    shape: str

    @property
    def outline(self) -> str:
        """The shape as the data of an SVG path in a box of 12 by 12."""
        return SHAPES[self.shape]


def appearances(servers: Iterable[str]) -> dict[str, Appearance]:
    """Give each server its colour and shape by its place; the pairs repeat only after 35 servers."""
    shapes = list(SHAPES)
    return {
        name: Appearance(COLOURS[place % len(COLOURS)], shapes[place % len(shapes)])
        for place, name in enumerate(servers)
    }
