"""What all figures share: the specification with its text, axes, and the looks of servers.

Colours of paper, ink and grid are left to the page, which knows whether it is light or dark; a specification
holds only the colours of what it draws. Field names are fixed, and names of servers are in expressions as
literals of JSON alone, so that none is ever read as an expression.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import altair
from altair.utils import schemapi

from loadcurve.analysis.sweep import Slice
from loadcurve.report import text
from loadcurve.report.appearance import Appearance

Specification = dict[str, Any]
Row = dict[str, Any]
PixelChannel = TypeVar("PixelChannel", altair.XValue, altair.YValue, altair.Y2Value)

# Altair would check each part of a chart against Vega-Lite's schema, which takes as long as all else.
schemapi.disable_debug_mode()

LONG_SPAN = 10_000
"""A logarithmic axis that spans more than this factor has ticks at its decades only."""
SHORT_SPAN = 10
"""A logarithmic axis that spans less than this factor has more ticks than at 1, 2 and 5."""
SHORTEST_SPAN = 3
"""Below this factor its ticks are equally far apart, as there may be no round numbers of one digit."""
FEWEST_STEPS = 3
"""The distances of such ticks fit into the axis at least this many times."""

ALL_DIGITS = ",.12~g"
"""A linear axis gives a format without a precision that of its steps: 125,000 would become 1.3e+5."""

LABEL_SEPARATION_PX = 8
"""Between the labels of an axis: closer ones read as one number."""
LABELS_OF_SERVERS, LABEL_OF_SERVER_MIN = 48, 6
"""Characters that the labels of all servers have below the narrower of two figures, and the least for one."""
MOST_LABELLED_VALUES = 12
"""An axis labels each swept value up to this many; beyond, it chooses its own ticks."""

FIGURE_HEIGHT = 340
MAIN_FIGURE_HEIGHT = 250
"""Of the two figures that are beside each other in the first screen."""
SMALL_FIGURE_HEIGHT = 210


@dataclass(frozen=True, slots=True)
class Figure:
    """A specification with the text that stands for it where it cannot be seen."""

    specification: Specification
    alternative: str
    note: str | None = None
    """What must be said with it."""


def sweep_axis(shown: Slice, servers: list[str]) -> altair.X:
    """Return the axis of the sweep, or that of the servers where nothing else varies."""
    if shown.key is None:
        return altair.X("x:N", title=None, sort=servers, axis=_axis_of_servers(servers))
    # All of the sweep, whatever of it is usable: the axis of a single load has all ticks at one place.
    ends = [shown.values[0], shown.values[-1]]
    domain = ends if ends[0] < ends[1] else altair.Undefined
    if shown.logarithmic:
        scale = altair.Scale(type="log", nice=False, padding=12, domain=domain)
    else:
        scale = altair.Scale(type="linear", zero=False, nice=False, padding=12, domain=domain)
    few = len(shown.values) <= MOST_LABELLED_VALUES
    axis = altair.Axis(
        format=ALL_DIGITS,
        labelOverlap="greedy",
        labelSeparation=LABEL_SEPARATION_PX,
        values=shown.values if few else altair.Undefined,
    )
    return altair.X("x:Q", title=text.axis_title(shown.key), scale=scale, axis=axis)


def _axis_of_servers(servers: list[str]) -> altair.Axis:
    """Return an axis whose labels do not run into one another; the legend has the whole names."""
    room = LABELS_OF_SERVERS // max(len(servers), 1)
    if room < LABEL_OF_SERVER_MIN:
        return altair.Axis(labels=False)
    short = text.shortened(servers, room)
    if short == {name: name for name in servers}:
        return altair.Axis(labelAngle=0, labelOverlap="greedy")
    return altair.Axis(
        labelAngle=0,
        labelOverlap="greedy",
        labelExpr=f"({json.dumps(short, ensure_ascii=False)})[datum.value]",
    )


def axis_from_zero(field: str) -> altair.Y:
    """Return a linear vertical axis that begins at zero."""
    return altair.Y(f"{field}:Q", title=None, scale=altair.Scale(zero=True), axis=altair.Axis(tickCount=6))


def latency_axis(field: str, reach: tuple[float, float]) -> altair.Y:
    """Return a logarithmic vertical axis around the least and the greatest value."""
    low, high = reach
    scale = altair.Scale(type="log", nice=False, domain=[low * 0.9, high * 1.1])
    axis = altair.Axis(
        format=",~r",
        values=log_ticks(low * 0.9, high * 1.1),
        labelOverlap="greedy",
        labelSeparation=LABEL_SEPARATION_PX,
    )
    return altair.Y(f"{field}:Q", title=None, scale=scale, axis=axis)


def extent(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the greatest of the values that a logarithmic axis can show."""
    positive = sorted(value for value in values if value > 0)
    return (positive[0], positive[-1]) if positive else (1, 1)


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks at 1, 2 and 5 of each decade, fewer in a long span and more in a short one."""
    if high / low < SHORTEST_SPAN:
        return _even_ticks(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if high / low > LONG_SPAN:
        factors: tuple[float, ...] = (1,)
    elif high / low > SHORT_SPAN:
        factors = (1, 2, 5)
    else:
        factors = (1, 1.5, 2, 3, 4, 5, 6, 8)
    ticks = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def _even_ticks(low: float, high: float) -> list[float]:
    """Return the multiples of 1, 2 or 5 times a power of ten, the largest of which enough fit in."""
    largest = (high - low) / FEWEST_STEPS
    power = 10.0 ** math.floor(math.log10(largest))
    step = max(factor * power for factor in (1, 2, 5) if factor * power <= largest)
    return [
        float(f"{place * step:.6g}") for place in range(math.ceil(low / step), math.floor(high / step) + 1)
    ]


def colour(looks: Mapping[str, Appearance]) -> altair.Color:
    """Return the colour of each server."""
    scale = altair.Scale(domain=list(looks), range=[look.colour for look in looks.values()])
    return altair.Color("server:N", scale=scale, legend=None)


def shape(looks: Mapping[str, Appearance]) -> altair.Shape:
    """Return the shape of each server."""
    scale = altair.Scale(domain=list(looks), range=[look.shape for look in looks.values()])
    return altair.Shape("server:N", scale=scale, legend=None)


def at_pixel(channel: type[PixelChannel], pixel: float) -> PixelChannel:
    """Return a channel that puts all marks of a layer to one place, from the left or the upper edge."""
    return channel(value=pixel)


def tooltips(**titles: str) -> list[altair.Tooltip]:
    """Return what is shown of a mark that is pointed at: fields by their names, with their titles."""
    return [altair.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


@dataclass(frozen=True, slots=True)
class Datasets:
    """The rows of a figure by name, kept away from Altair, which would check and copy each of them often."""

    rows: dict[str, list[Row]] = field(default_factory=dict)

    def named(self, rows: list[Row]) -> altair.NamedData:
        """Hold rows, those that are equal once, and return the name that a chart has for them."""
        for name, held in self.rows.items():
            if held == rows:
                return altair.NamedData(name)
        name = f"rows-{len(self.rows) + 1}"
        self.rows[name] = rows
        return altair.NamedData(name)


def layered(
    marks: list[altair.Chart],
    description: str,
    height: int,
    parameters: list[altair.Parameter],
    datasets: Datasets | None = None,
) -> Specification:
    """Return marks over one another as a specification that is as wide as its place.

    Without ``datasets`` the page gives the marks their rows.
    """
    # Altair copies what it layers many times over. A test checks all figures against Vega-Lite's schema.
    consolidated: dict[str, list[Row]] = {}
    context = {"top_level": False, "datasets": consolidated}
    specification: Specification = {
        "$schema": altair.SCHEMA_URL,
        "description": description,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [mark.to_dict(validate=False, context=context) for mark in marks],
    }
    if parameters:
        defined = [one.param for one in parameters if isinstance(one.param, altair.SchemaBase)]
        specification["params"] = [one.to_dict(validate=False) for one in defined]
    return specification | {"datasets": consolidated | (datasets.rows if datasets else {})}


def compact(value: float | None) -> float | None:
    """Round to six significant digits: more digits, or a zero behind the point, make the page heavier."""
    if value is None:
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded
