"""Charts of the site, as SVG that is drawn here: pages by the thousand, without a script and fit to print.

Points are side by side in the order of the sweep, and servers where there is a single point. A line of a
server breaks where a point is missing. The axis has all figures and their intervals; an interval that goes
far beyond all figures is cut at its end, and has an arrow there.
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
REACH = 3.0
"""An axis has room for intervals up to this many times the greatest figure; below the least one likewise."""
LABELS_MAX = 10
LABEL_CHARACTERS_MAX = 14
CHARACTER_WIDTH, LINE_HEIGHT = 10.5, 17
"""What a label takes at most, in the larger letters that a phone is given."""
SHAPE_SCALE, SHAPE_REACH = 0.7, 4.2
"""Shapes are outlines in a box of 12 by 12."""
ARROW_WIDTH, ARROW_HEIGHT = 3.5, 6.0
"""Half the width of an arrow, and its height."""
_TICK_DIGITS = (
    *((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
)
"""Of ticks of a logarithmic axis, which spans a factor of 1.8 or more; any three of the last span less."""


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
    is_cut: bool = False
    """Whether an interval ends beyond the axis, which an arrow marks."""


def chart(
    title: str, places: Sequence[str], axis: str, lines: Sequence[Line], *, from_zero: bool
) -> Chart | None:
    """Return a chart; ``None`` where no server has a figure. Intervals are drawn as bars, with arrows if cut.

    A place may have two lines of words, where nothing is said of the axis as a whole. An axis that does not
    start at zero is logarithmic.
    """
    marks = [mark for line in lines for mark in line.marks]
    values = [value for value in map(_value, marks) if value is not None and (from_zero or value > 0)]
    if not values:
        return None
    ends = [end for mark in marks for end in _ends(mark)]
    least = max(min([*values, *ends]), min(values) / REACH)
    greatest = min(max([*values, *ends]), max(values) * REACH)
    scale = _Linear.of(greatest) if from_zero else _Logarithmic.of(least, greatest)
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
    drawing = Markup(f"{head}{body}</svg>")  # noqa: S704
    return Chart(title, drawing, any(not scale.least <= end <= scale.greatest for end in ends))


def _value(mark: Mark) -> float | None:
    return mark.value if mark.value is not None and math.isfinite(mark.value) else None


def _ends(mark: Mark) -> tuple[float, ...]:
    """Return the ends of a mark's interval, or nothing where none is drawn."""
    if _value(mark) is None or mark.low is None or mark.high is None:
        return ()
    return () if math.isnan(mark.low) or math.isnan(mark.high) else (mark.low, mark.high)


@dataclass(frozen=True, slots=True)
class _Linear:
    greatest: float
    step: float
    least: float = 0.0

    @classmethod
    def of(cls, greatest: float) -> "_Linear":
        step = _round_step(greatest / TICKS_MAX) if greatest > 0 else 1.0
        return cls(math.ceil(greatest / step - 1e-9) * step if greatest > 0 else 1.0, step)

    def ticks(self) -> list[float]:
        return [place * self.step for place in range(round(self.greatest / self.step) + 1)]

    def y(self, value: float) -> float:
        share = min(max(value / self.greatest, 0.0), 1.0)
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
        for digits in _TICK_DIGITS:
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
    path: list[str] = []
    bars: list[str] = []
    arrows: list[str] = []
    shapes: list[str] = []
    has_before = False
    for x, mark in zip(columns, line.marks, strict=True):
        if mark.value is None or not math.isfinite(mark.value):
            has_before = False
            continue
        y = scale.y(mark.value)
        path.append(f"{'L' if has_before else 'M'}{x:.1f} {y:.1f}")
        has_before = True
        if ends := _ends(mark):
            low, high = map(scale.y, ends)
            bars.append(f"M{x:.1f} {low:.1f}V{high:.1f}")
            arrows += [_arrow(x, low, upwards=False)] if ends[0] < scale.least else []
            arrows += [_arrow(x, high, upwards=True)] if ends[1] > scale.greatest else []
        shapes.append(
            f'<path d="{outline}" transform="translate({x - SHAPE_REACH:.1f} {y - SHAPE_REACH:.1f}) '
            f'scale({SHAPE_SCALE})"><title>{name}: {units.number(mark.value)}</title></path>'
        )
    lines = f'<path class="line" d="{"".join(path)}"/><path class="bar" d="{"".join(bars)}"/>'
    lines += f'<path class="arrow" d="{"".join(arrows)}"/>' if arrows else ""
    tags = "" if line.tags is None else f' data-language="{escape(line.tags)}"'
    yield f'<g{tags} stroke="{colour}">{lines}</g>'
    yield f'<g{tags} fill="{colour}">{"".join(shapes)}</g>'


def _arrow(x: float, y: float, *, upwards: bool) -> str:
    """Return the outline of an arrow by the place of its point; ``y`` grows downwards."""
    wings = y + ARROW_HEIGHT if upwards else y - ARROW_HEIGHT
    return f"M{x - ARROW_WIDTH:.1f} {wings:.1f}L{x:.1f} {y:.1f}L{x + ARROW_WIDTH:.1f} {wings:.1f}"
