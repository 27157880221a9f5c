"""What the profiles of a gate's two sides say: in sentences, and as a page with a difference flame graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcurve import units
from loadcurve.errors import sentence
from loadcurve.report.files import write_part
from loadcurve.report.flame import Box, FlameGraph, flame_graph
from loadcurve.report.page import rendered
from loadcurve.result.cpu_time import ProfiledPair

PROFILE_PAGE = "profile.html"
WIDTH_PX, ROW_PX = 1020, 17
CHARACTER_PX = 6.6
"""The width of a character of the labels."""
LEAST_LABEL = 4
"""A name that is cut to fewer characters says nothing."""
MORE, LESS, SAME = (214, 69, 45), (46, 111, 182), (222, 218, 208)
"""The colours of a box: much more in the head, much less, and no difference."""


@dataclass(frozen=True, slots=True)
class DrawnBox:
    """A box in pixels."""

    x: float
    y: float
    width: float
    colour: str
    label: str
    words: str


def profile_in_words(pair: ProfiledPair) -> list[str]:
    """Return what the profiles say, a sentence each, and what is missing of them."""
    said = list(_calls_in_words(pair))
    graph = flame_graph(pair)
    if graph is not None and graph.functions:
        most = graph.functions[0]
        said.append(
            f"By samples of one start each, {most.name} differs most: {_us(most.base_us)} → "
            f"{_us(most.head_us)} µs of CPU time per request in that function itself."
        )
    return [*said, *(sentence(f"No profile in full: {one}") for one in pair.missing)]


def profile_json(pair: ProfiledPair, page: Path | None) -> dict[str, Any]:
    """Return the profiles as plain data."""
    sides = {"base": pair.base, "head": pair.head}
    return {
        "page": None if page is None else str(page),
        "system_calls_per_request": {name: one.system_calls_per_request for name, one in sides.items()},
        "samples": {name: sum(one.stacks.values()) for name, one in sides.items()},
        "missing": list(pair.missing),
    }


def write_profile(folder: Path, names: tuple[str, str], pair: ProfiledPair) -> Path | None:
    """Write the page into a run folder and return its path; ``None`` where there is nothing to draw.

    Raises ``LoadcurveError`` where it cannot be written.
    """
    graph = flame_graph(pair)
    if graph is None:
        return None
    path = folder / PROFILE_PAGE
    write_part(path, render_profile(names, pair, graph).encode())
    return path


def render_profile(names: tuple[str, str], pair: ProfiledPair, graph: FlameGraph) -> str:
    """Return the page; it has no script."""
    values = {
        "base": names[0],
        "head": names[1],
        "graph": graph,
        "boxes": [_drawn(box, graph.depth) for box in graph.boxes],
        "width": WIDTH_PX,
        "height": graph.depth * ROW_PX,
        "row": ROW_PX,
        "samples": [sum(one.stacks.values()) for one in (pair.base, pair.head)],
        "sentences": profile_in_words(pair),
        "us": _us,
    }
    return rendered("profile.html.jinja", ["report.css", "history.css"], [], values)


def _calls_in_words(pair: ProfiledPair) -> Iterator[str]:
    base, head = pair.base.system_calls_per_request, pair.head.system_calls_per_request
    if base is not None and head is not None:
        yield f"System calls per request, in one start each: {units.number(base)} → {units.number(head)}."


def _drawn(box: Box, depth: int) -> DrawnBox:
    width = box.width * WIDTH_PX
    room = int((width - 6) / CHARACTER_PX)
    label = units.cut(box.name, room) if len(box.name) <= room or room >= LEAST_LABEL else ""
    words = f"{box.name}: {_us(box.base_us)} → {_us(box.head_us)} µs per request"
    # Flames grow upwards.
    y = (depth - 1 - box.depth) * ROW_PX
    return DrawnBox(round(box.left * WIDTH_PX, 2), y, round(width, 2), _colour(box.strength), label, words)


def _colour(strength: float) -> str:
    end = MORE if strength > 0 else LESS
    mixed = (round(a + (b - a) * abs(strength)) for a, b in zip(SAME, end, strict=True))
    return "#" + "".join(f"{one:02x}" for one in mixed)


def _us(time_us: float) -> str:
    return units.number(time_us) if time_us else "0"
