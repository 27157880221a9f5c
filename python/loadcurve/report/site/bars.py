"""Bars of the site: a figure of each row with its interval, as a table that can be read without seeing it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadcurve.report.site.chart import REACH
from loadcurve.report.site.values import Interval, cell, heading

ROWS_MAX = 30
"""Bars are drawn of this many rows, those of the least figures."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A row; lengths are in per cent of what is drawn at most."""

    name: str
    attributes: Mapping[str, str]
    """By which the page filters it, without their ``data-``."""
    figure: str
    interval: str
    length: str
    interval_length: str
    interval_place: str
    """Where a background as long as the interval is placed, as the style counts it."""
    is_cut: bool
    """Whether the interval ends to the right of what is drawn."""


@dataclass(frozen=True, slots=True)
class Bars:
    """The figures of one measure, the least first."""

    title: str
    rows: tuple[Bar, ...]
    left_out: int
    """How many rows are not shown."""

    @property
    def is_cut(self) -> bool:
        """Return whether an interval ends beyond what is drawn, which an arrow marks."""
        return any(row.is_cut for row in self.rows)


def bars(
    measure: str, title: str, unit: str, figures: Iterable[tuple[str, Mapping[str, str], Interval | None]]
) -> Bars | None:
    """Return the bars of a measure from each row's name, attributes and figure; ``None`` without any."""
    known = [
        (one.value, name, attributes, one)
        for name, attributes, one in figures
        if one is not None and one.value is not None and one.value >= 0
    ]
    if not known:
        return None
    known.sort(key=lambda row: row[:2])
    shown = known[:ROWS_MAX]
    greatest = shown[-1][0]
    ends = [end for _, _, _, one in shown for end in (one.low, one.high) if end is not None]
    drawn = min(max([greatest, *ends]), REACH * greatest) or 1.0
    rows = tuple(_bar(name, own, one, cell(one, measure, unit)[:2], drawn) for _, name, own, one in shown)
    return Bars(heading(measure, title, unit), rows, len(known) - len(shown))


def _bar(
    name: str, attributes: Mapping[str, str], one: Interval, words: tuple[str, str], drawn: float
) -> Bar:
    """Return the bar of a figure, where ``drawn`` is what the whole width stands for."""
    value = one.value or 0.0
    low, high = (min(max(value if end is None else end, 0.0) / drawn, 1.0) for end in (one.low, one.high))
    length = max(high - low, 0.0)
    # A background at p % has p % of what it leaves free on its left.
    place = low / (1 - length) if length < 1 else 0.0
    is_cut = one.high is not None and one.high > drawn
    return Bar(name, attributes, *words, _percent(value / drawn), _percent(length), _percent(place), is_cut)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
