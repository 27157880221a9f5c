"""Charts of the site, as SVG that is drawn here: pages by the thousand, without a script and fit to print.

Points are side by side in the order of the sweep, and servers where there is a single point. A line of a
server breaks where a point is missing. The axis is that of the figures: an interval that goes far beyond all
of them is cut at its end.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from loadcurve import units
from loadcurve.report.appearance import Appearance
from loadcurve.report.site.values import Interval

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 12, 46
TICKS_MAX = 5
LABELS_MAX = 10
LABEL_CHARACTERS_MAX = 14
CHARACTER_WIDTH, LINE_HEIGHT = 10.5, 17
"""What a label takes at most, in the larger letters that a phone is given."""
SHAPE_SCALE, SHAPE_REACH = 0.7, 4.2
"""Shapes are outlines in a box of 12 by 12."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure in a chart, in the unit of its axis; ``None`` where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, figure: Interval | None, factor: float) -> "Mark":
        """Return the mark of a figure whose unit is smaller by a factor."""
        if figure is None or figure.value is None:
            return cls(None)
        low, high = figure.low, figure.high
        ends = (None, None) if low is None or high is None else (low * factor, high * factor)
        return cls(figure.value * factor, *ends)


@dataclass(frozen=True, slots=True)
class Line:
    """The figures of one server, one for each place along the axis."""

    name: str
    look: Appearance
    marks: tuple[Mark, ...]
    tags: str | None = None
    """For the filter of the page by language; ``None`` where it has none."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart under its title."""

    title: str
    drawing: Markup


def chart(
    title: str, places: Sequence[str], axis: str, lines: Sequence[Line], *, from_zero: bool
) -> Chart | None:
    """Return a chart; ``None`` where no server has a figure. Intervals are drawn as bars.

    A place may have two lines of words, where nothing is said of the axis as a whole. An axis that does not
    start at zero is logarithmic.
    """
    values = [
        mark.value
        for line in lines
        for mark in line.marks
        if mark.value is not None and math.isfinite(mark.value) and (from_zero or mark.value > 0)
    ]
    if not values:
        return None
    scale = _Linear.of(max(values)) if from_zero else _Logarithmic.of(min(values), max(values))
    body = "".join(
        [
            *_grid(scale),
            *_places(places, axis),
            *(
                part
                for row, line in enumerate(lines)
                for part in _line(line, scale, _columns(row, len(lines), len(places)))
            ),
        ]
    )
    words = f"{title}: {units.plural(len(lines), 'server')} at {units.plural(len(places), 'point')}"
    head = f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(words)}">'
    # Every text in it is escaped where it is put in; this is a third of the time of Markup's own way.
    return Chart(title, Markup(f"{head}{body}</svg>"))  # noqa: S704


@dataclass(frozen=True, slots=True)
class _Linear:
    top: float
    step: float

    @classmethod
    def of(cls, greatest: float) -> "_Linear":
        step = _round_step(greatest / TICKS_MAX) if greatest > 0 else 1.0
        return cls(math.ceil(greatest / step - 1e-9) * step if greatest > 0 else 1.0, step)

    def ticks(self) -> list[float]:
        return [place * self.step for place in range(round(self.top / self.step) + 1)]

    def y(self, value: float) -> float:
        share = min(max(value / self.top, 0.0), 1.0)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


@dataclass(frozen=True, slots=True)
class _Logarithmic:
    least: float
    greatest: float

    @classmethod
    def of(cls, least: float, greatest: float) -> "_Logarithmic":
        return cls(least / 1.1, max(greatest, least * 1.5) * 1.1)

    def ticks(self) -> list[float]:
        exponents = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.greatest)) + 1)
        for digits in ((1,), (1, 3), (1, 2, 5)):
            found = [
                digit * 10.0**exponent
                for exponent in exponents
                for digit in digits
                if self.least <= digit * 10.0**exponent <= self.greatest
            ]
            if len(found) >= 3:  # noqa: PLR2004 - two say little of a logarithmic axis
                break
        return found[:: max(1, math.ceil(len(found) / (TICKS_MAX + 1)))]

    def y(self, value: float) -> float:
        clamped = min(max(value, self.least), self.greatest)
        share = math.log(clamped / self.least) / math.log(self.greatest / self.least)
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _round_step(least: float) -> float:
    """Return the least of 1, 2 and 5 times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _x(place: int, count: int) -> float:
    inner = WIDTH - LEFT - RIGHT
    return LEFT + inner * ((place + 0.5) / count)


def _columns(row: int, lines: int, places: int) -> list[float]:
    """Return where a server's figures are; those at a single place stand side by side, not in one another."""
    return [_x(row, lines)] if places == 1 else [_x(place, places) for place in range(places)]


def _grid(scale: _Linear | _Logarithmic) -> Iterator[str]:
    for tick in scale.ticks():
        y = f"{scale.y(tick):.1f}"
        yield f'<path class="rule" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 8}" y="{y}" dy=".35em" text-anchor="end">{units.rounded(tick)}</text>'


def _places(places: Sequence[str], axis: str) -> Iterator[str]:
    longest = max((len(part) for name in places for part in name.split("\n")[:2]), default=0)
    taken = len(places) * min(longest, LABEL_CHARACTERS_MAX) * CHARACTER_WIDTH
    every = max(1, math.ceil(len(places) / LABELS_MAX), math.ceil(taken / (WIDTH - LEFT - RIGHT)))
    for place, name in enumerate(places):
        if place % every == 0:
            for line, part in enumerate(name.split("\n")[:2]):
                y = HEIGHT - BOTTOM + 18 + LINE_HEIGHT * line
                yield _middle(_x(place, len(places)), y, part[:LABEL_CHARACTERS_MAX])
    yield _middle((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, axis)


def _middle(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _line(line: Line, scale: _Linear | _Logarithmic, columns: Sequence[float]) -> Iterator[str]:
    """Yield the line through a server's figures, their intervals, and a shape on each."""
    colour, outline, name = escape(line.look.colour), escape(line.look.outline), escape(line.name)
    path, bars, shapes = [], [], []
    has_before = False
    for x, mark in zip(columns, line.marks, strict=True):
        if mark.value is None or not math.isfinite(mark.value):
            has_before = False
            continue
        y = scale.y(mark.value)
        path.append(f"{'L' if has_before else 'M'}{x:.1f} {y:.1f}")
        has_before = True
        if mark.low is not None and mark.high is not None:
            bars.append(f"M{x:.1f} {scale.y(mark.low):.1f}V{scale.y(mark.high):.1f}")
        shapes.append(
            f'<path d="{outline}" transform="translate({x - SHAPE_REACH:.1f} {y - SHAPE_REACH:.1f}) '
            f'scale({SHAPE_SCALE})"><title>{name}: {units.number(mark.value)}</title></path>'
        )
    lines = f'<path class="line" d="{"".join(path)}"/><path class="bar" d="{"".join(bars)}"/>'
    tags = "" if line.tags is None else f' data-language="{escape(line.tags)}"'
    yield f'<g{tags} stroke="{colour}">{lines}</g>'
    yield f'<g{tags} fill="{colour}">{"".join(shapes)}</g>'
