"""The figures of the page as pictures that stand alone: on white paper, with a title and a legend."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import count
from typing import Any, TypeVar

from loadcurve.report.charts.figure import Figure, Specification
from loadcurve.report.figures import Distribution
from loadcurve.report.formats.over_time import time_pictures
from loadcurve.report.picture_style import PictureStyle
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.trials import TRIALS

Part = TypeVar("Part")

WIDTH = 640
"""The width of the plotting area in CSS pixels; the page takes its own from the window."""
UNNAMED = frozenset({"parts", "figure", "comparisons"})
"""Names of sections and fields that say nothing of the figures in them."""
MOST_IN_A_LINE = 4
"""A line of the legend holds at most this many servers."""
CHARACTER_PX, SYMBOL_PX = 7.5, 40
"""How wide a character of a name is at most, on average, and what a symbol and the space around it take."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold (XML 1.0, 2.2): a picture with such a sign in a name could not be drawn."""

INK = "#1c1d1f"
SOFT = "#5c6066"
RULE = "#dcdcd6"

LIGHT_PAPER: dict[str, Any] = {
    "background": "#ffffff",
    "padding": 16,
    "view": {"stroke": None},
    "axis": {
        "domainColor": SOFT,
        "gridColor": RULE,
        "labelColor": SOFT,
        "labelFontSize": 13,
        "tickColor": SOFT,
        "titleColor": SOFT,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    },
    "axisY": {"domain": False, "ticks": False, "labelPadding": 6, "labelLimit": 260},
    "axisX": {"grid": False},
    "legend": {"labelColor": INK, "labelFontSize": 13, "labelLimit": 240, "symbolSize": 90},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 15,
        "fontWeight": 600,
        "subtitleColor": SOFT,
        "subtitleFontSize": 13,
        "offset": 12,
    },
}
"""Vega's configuration of a picture: the page's light appearance on white, in a font that is everywhere."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that stands alone; ``name`` is fit for a file's name."""

    name: str
    specification: Specification


def pictures(report: Report) -> list[Picture]:
    """Return every figure that the page holds and that is asked for, in the page's order.

    A figure that can show one of several points shows the one that the page begins with. The panels over time
    are one picture for each trial that the weightiest findings name.
    """
    servers = {point.server for point in report.run.points}
    measured = [_with_xml_signs(name) for name in report.looks if name in servers]
    found: dict[str, Picture] = {}
    drawn: set[int] = set()
    for path, note, figure in _figures(everything(report), (), None):
        # Several sections of the page show some of the same curves.
        if id(figure) in drawn or not _has_its_rows(figure.specification):
            continue
        drawn.add(id(figure))
        first = name = _file_name(path)
        for number in count(2):
            if name not in found:
                break
            name = f"{first}-{number}"
        found[name] = Picture(name, _standing_alone(figure, note, measured))
    style, drawings = report.picture_style, [*found.values(), *_over_time(report)]
    style.require_shown([one.name for one in drawings])
    return [_styled(one, style) for one in drawings if style.shows(one.name)]


def _styled(picture: Picture, style: PictureStyle) -> Picture:
    """Return a picture in the font and, unless it has several panels, of the size that is asked for."""
    specification = {
        **picture.specification,
        "config": {**picture.specification["config"], "font": style.font},
    }
    if style.size_px is not None and "vconcat" not in specification:
        width, height = style.size_px
        specification |= {
            "width": width,
            "height": height,
            "autosize": {"type": "fit", "contains": "padding"},
        }
        for view in _views(specification):
            if view is not specification:
                view.pop("width", None)
                view.pop("height", None)
            _fold_legend(view, width)
    return Picture(picture.name, specification)


def _fold_legend(view: Specification, width_px: float) -> None:
    """Let the lines of a legend hold as many servers as a picture is wide."""
    for channel in view.get("encoding", {}).values():
        legend = channel.get("legend") if isinstance(channel, dict) else None
        if legend and legend.get("columns"):
            longest = max(map(len, legend["values"]), default=1)
            fitting = int(width_px // (longest * CHARACTER_PX + SYMBOL_PX))
            legend["columns"] = max(1, min(MOST_IN_A_LINE, fitting))


def _over_time(report: Report) -> Iterator[Picture]:
    trials = report.of(TRIALS)
    if trials is None:
        return
    for path, title, specification in time_pictures(trials):
        yield Picture(
            _file_name(path), _on_paper(_with_xml_signs(specification), _with_xml_signs(title), None)
        )


Located = tuple[tuple[str, ...], str | None, Figure]
"""A figure with the words that lead to it, and what must be said beside it."""


def _figures(held: object, path: tuple[str, ...], note: str | None) -> Iterator[Located]:
    """Yield the figures within ``held``.

    They are looked for rather than listed, so that a figure that is new on the page is a picture, too.
    """
    if isinstance(held, Figure):
        yield path, note, held
    elif isinstance(held, Mapping):
        for key, value in held.items():
            inside = () if key in UNNAMED else (str(key),)
            yield from _figures(value, (*path, *inside), note)
    elif isinstance(held, list | tuple):
        for value in held:
            yield from _figures(value, path, note)
    elif is_dataclass(held):
        heading = getattr(held, "heading", None)
        if heading is not None:
            path, note = (*path, heading), heading
        if isinstance(held, Distribution):
            note = f"at {held.choices[held.chosen]}"
        for field in fields(held):
            inside = () if field.name in UNNAMED else (field.name,)
            yield from _figures(getattr(held, field.name), (*path, *inside), note)


def _has_its_rows(specification: Specification) -> bool:
    named = {view["data"]["name"] for view in _views(specification) if "name" in view.get("data", {})}
    return named <= set(specification.get("datasets", {}))


def _file_name(path: tuple[str, ...]) -> str:
    """Return a name of small letters, digits and hyphens, whatever a key of a sweep is called."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(path).lower().replace("µ", "u")).strip("-")


def _standing_alone(figure: Figure, note: str | None, servers: list[str]) -> Specification:
    """Return the specification with all that the page says around the figure."""
    specification = _with_xml_signs(figure.specification)
    what = re.split(r"[.:] ", _with_xml_signs(figure.alternative), maxsplit=1)[0]
    legend = {
        "title": None,
        "orient": "top",
        "columns": MOST_IN_A_LINE,
        "values": servers,
        "symbolOpacity": 1,
        "symbolStrokeWidth": 1,
    }
    for view in _views(specification):
        for channel in ("color", "shape"):
            shown = view.get("encoding", {}).get(channel, {})
            if shown.get("field") == "server":
                shown["legend"] = legend
    return _on_paper(specification, what[:1].upper() + what[1:], note)


def _on_paper(specification: Specification, title: str, note: str | None) -> Specification:
    """Return a specification on white paper, as wide as a picture, under its title."""
    for view in _views(specification):
        if view.get("width") == "container":
            view["width"] = WIDTH
    return {
        **specification,
        "autosize": {"type": "pad", "contains": "content"},
        "title": {"text": title, **({"subtitle": note} if note else {})},
        "config": LIGHT_PAPER,
    }


def _with_xml_signs(part: Part) -> Part:
    """Return a copy of a part of a specification in which another sign stands for each that XML has not."""
    copied: Any = part
    if isinstance(part, str):
        copied = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", part)
    elif isinstance(part, dict):
        copied = {key: _with_xml_signs(value) for key, value in part.items()}
    elif isinstance(part, list):
        copied = [_with_xml_signs(value) for value in part]
    return copied  # type: ignore[no-any-return]


def _views(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a specification and every one that it is made of."""
    yield part
    for composed in ("layer", "concat", "hconcat", "vconcat"):
        for inner in part.get(composed, ()):
            yield from _views(inner)
