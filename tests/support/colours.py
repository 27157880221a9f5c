"""What the eye makes of two colours: their contrast, and how far apart they are, with every kind of sight."""

import math
import re
from collections.abc import Sequence

Linear = tuple[float, float, float]
"""Red, green and blue from 0 to 1, in proportion to light (IEC 61966-2-1, without the transfer function)."""

SIGHTS: dict[str, Sequence[Linear]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
"""What is seen of linear red, green and blue.

G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", IEEE Transactions on Visualization and Computer Graphics 15 (6), 2009, severity 1.0.
"""

_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
"""From linear sRGB to CIE 1931 XYZ under D65 (IEC 61966-2-1)."""


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG 2.2 defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of ``#rrggbb`` or ``rgb(r, g, b)``, as WCAG 2.2 defines it."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(colour: str) -> Linear:
    if colour.startswith("#"):
        parts = [int(colour[place : place + 2], 16) for place in (1, 3, 5)]
    else:
        parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    shares = [part / 255 for part in parts]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return red, green, blue


def difference(one: str, other: str, sight: str) -> float:
    """How far apart two colours are to this sight: the CIE 1976 L*a*b* colour difference (ISO/CIE 11664-4).

    A difference of 2.3 is just noticeable (M. Mahy, L. Van Eycken, A. Oosterlinck, "Evaluation of Uniform
    Color Spaces Developed after the Adoption of CIELAB and CIELUV", Color Research & Application 19, 1994).
    """
    return math.dist(_lab(_seen(one, sight)), _lab(_seen(other, sight)))


def _seen(colour: str, sight: str) -> Linear:
    # The model leaves the colours that a screen has; what it has none of is shown as its nearest.
    red, green, blue = (min(max(part, 0), 1) for part in _times(SIGHTS[sight], linear(colour)))
    return red, green, blue


def _lab(colour: Linear) -> Linear:
    white = _times(_XYZ, (1, 1, 1))
    x, y, z = (_response(part / full) for part, full in zip(_times(_XYZ, colour), white, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _response(share: float) -> float:
    return share ** (1 / 3) if share > (6 / 29) ** 3 else share / (3 * (6 / 29) ** 2) + 4 / 29


def _times(matrix: Sequence[Linear], colour: Linear) -> list[float]:
    return [sum(factor * part for factor, part in zip(row, colour, strict=True)) for row in matrix]
