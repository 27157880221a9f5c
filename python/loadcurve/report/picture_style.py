"""Which figures become pictures, how large, and in which font."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.errors import BadInput
from loadcurve.toml.expected import nearest

PIXELS_PER_UNIT = {"px": 1.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0, "pt": 96 / 72}
"""CSS pixels (CSS Values 4, 5.2)."""
LEAST_PX, MOST_PX = 120, 4000
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""In a font that is everywhere."""
_LENGTH = r"(\d+(?:\.\d+)?)(px|mm|cm|in|pt)?"
_SIZE = re.compile(rf"{_LENGTH}\s*x\s*{_LENGTH}")
_FONT = re.compile(r"[\w][\w ,.-]{0,99}")


@dataclass(frozen=True, slots=True)
class PictureStyle:
    """What a person asks of pictures; by default all figures, as large as on the page."""

    names: tuple[str, ...] = ()
    """Beginnings of the names of figures; all, where there are none."""
    size_px: tuple[float, float] | None = None
    """Width and height of the whole picture, but for those over time, which have panels."""
    font: str = FONT

    def shows(self, name: str) -> bool:
        """Say whether a figure of this name is asked for."""
        return not self.names or any(name.startswith(one) for one in self.names)

    def require_shown(self, known: Sequence[str]) -> None:
        """Raise ``BadInput`` where a name that was asked for begins none of the figures' names."""
        for name in self.names:
            if not any(one.startswith(name) for one in known):
                raise BadInput(
                    f"--figures {name}: no figure of this report is named so; expected the beginning of one "
                    f"of {', '.join(known)}{nearest(name, list(known))}"
                )


AS_ON_PAGE = PictureStyle()


def parse_style(names: str | None, size: str | None, font: str | None) -> PictureStyle:
    """Read the options ``--figures``, ``--size`` and ``--font``; raises ``BadInput``."""
    wanted = tuple(one.strip() for one in (names or "").split(",") if one.strip())
    if names is not None and not wanted:
        raise BadInput("--figures: no name; expected names of figures such as throughput,latency")
    if font is not None and not _FONT.fullmatch(font):
        raise BadInput(f'--font {font}: expected the name of an installed font, such as "Latin Modern Roman"')
    return PictureStyle(wanted, None if size is None else _size_px(size), font or FONT)


def _size_px(size: str) -> tuple[float, float]:
    expected = (
        "expected width and height such as 8.5cmx6cm, 120mmx80mm or 640x400, from 120 to 4,000 pixels each"
    )
    found = _SIZE.fullmatch(size.strip().lower())
    if found is None:
        raise BadInput(f"--size {size}: {expected}")
    width, unit, height, other = found.groups()
    # A unit that only one of the two has is both's.
    units = (unit or other or "px", other or unit or "px")
    sides = [float(side) * PIXELS_PER_UNIT[unit] for side, unit in zip((width, height), units, strict=True)]
    if not all(LEAST_PX <= side <= MOST_PX for side in sides):
        raise BadInput(f"--size {size}: {expected}")
    return sides[0], sides[1]
