"""Figures against settings on the page, and as small tables in the terminal and in Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.settings import Cell, Surface, Value, settings_of, surfaces
from loadcurve.loads.workload import in_words
from loadcurve.report import text
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.settings import setting_words, settings_words, surface_figure
from loadcurve.report.column import FIGURES, NAMES, Column
from loadcurve.report.markdown import escaped, table_lines
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.measures import MEASURES, measures

P99: Final = "p99"
GENERATOR: Final = "generator"
BEST_MARK, UNDECIDED_MARK = "★", "≈"
COLUMNS_MAX: Final = 7
"""A table of more values of one setting is wider than a terminal."""
NAMED_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class SettingFigure:
    """A figure against settings, with what it shows in words."""

    heading: str
    figure: Figure
    words: str
    surface: Surface


def _found(report: Report) -> list[SettingFigure]:
    shown = _surfaces(report)
    return [SettingFigure(_heading(one), surface_figure(one), surface_words(one), one) for one in shown]


def _surfaces(report: Report) -> list[Surface]:
    analysis = report.analysis
    found = analysis.run.servers
    common = analysis.run.conditions["load"]
    varied = {
        name: settings_of(server.facts, server.load, common, analysis.run.load_model)
        for name, server in found.items()
        if server.status == "found"
    }
    titles = {name: _title(analysis, name, settings) for name, settings in varied.items()}
    # Which generator measures the most is no choice of a setting: each has figures apart.
    senders = {name: settings.pop(GENERATOR, None) for name, settings in varied.items()}
    if len(set(senders.values())) > 1:
        titles = {name: f"{title} under {senders[name]}" for name, title in titles.items()}
    throughput = [measures(report.run.kind)["throughput"]] if report.run.is_closed_loop else []
    return surfaces(analysis.curves, analysis.points, varied, titles, [*throughput, MEASURES[P99]])


def _title(analysis: Analysis, arm: str, settings: dict[str, Value]) -> str:
    """Return the name of the server that an arm is of, by its own name or by its entry in the catalogue."""
    stem = arm
    for key, value in settings.items():
        stem = stem.replace(f"-{key}-{in_words(value)}", "")
    return stem if stem != arm else str(analysis.run.servers[arm].facts.get("catalog_entry") or arm)


def _heading(surface: Surface) -> str:
    along = " and ".join(surface.keys)
    what = f"greatest {surface.measure.heading}" if surface.is_peak else surface.measure.heading
    return f"{surface.title} by {along}: {what}"


def surface_words(surface: Surface) -> str:
    """Say which values are the best, where, and which others cannot be told apart from them."""
    best, rest = surface.best, surface.undecided
    fixed = {key: value for key, value in best.point.items() if key not in surface.keys}
    at = f" at {text.point(fixed)}" if fixed else ""
    unit = f" {surface.measure.unit}".rstrip()
    said = f"Best: {settings_words(surface, best)}, {text.estimate(best.estimate)}{unit}{at}."
    if best.estimate.low is None:
        return f"{said} More trials would show how certain that is."
    if not rest:
        return f"{said} No other interval overlaps that one."
    named = "; ".join(settings_words(surface, one) for one in rest[:NAMED_MAX])
    more = f" and {units.plural(len(rest) - NAMED_MAX, 'other')}" if len(rest) > NAMED_MAX else ""
    return f"{said} The intervals do not tell it apart from {named}{more}.{_least(surface, [best, *rest])}"


def _least(surface: Surface, alike: Sequence[Cell]) -> str:
    """Return which of the values that are not told apart to take: the least of a number, such as workers."""
    numbers = [
        (value, one)
        for one in alike
        for value in one.values
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    if len(surface.keys) != 1 or len(numbers) != len(alike):
        return ""
    _, least = min(numbers, key=lambda one: one[0])
    return f" The least of them, {settings_words(surface, least)}, will do: no gain of more is shown."


def _mark(surface: Surface, cell: Cell) -> str:
    if cell is surface.best:
        return BEST_MARK
    return UNDECIDED_MARK if cell.may_equal(surface.best) else ""


def _rows(surface: Surface) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the rows of a table: of two keys the second one's values are its rows."""
    by_values = {one.values: one for one in surface.cells}

    def shown(*values: Value) -> str:
        cell = by_values.get(values)
        return "" if cell is None else f"{_mark(surface, cell)} {units.number(cell.estimate.value)}".strip()

    if len(surface.keys) == 1:
        rows = [
            [setting_words(one), shown(one), text.interval(by_values[one,].estimate) or ""]
            for one in surface.values(0)
        ]
        return [surface.keys[0], surface.measure.heading, "95 % interval"], rows
    across, upwards = surface.values(0), surface.values(1)
    titles = [f"{surface.keys[1]} \\ {surface.keys[0]}", *map(setting_words, across)]
    return titles, [[setting_words(up), *(shown(one, up) for one in across)] for up in upwards]


def _in_terminal(_report: Report, found: Sequence[SettingFigure]) -> Iterator[RenderableType]:
    for one in found:
        yield ""
        yield Text(one.heading, style="bold")
        titles, rows = _rows(one.surface)
        if len(titles) <= COLUMNS_MAX + 1:
            columns: list[Column[list[str]]] = [
                Column(title, lambda row, place=place: row[place], FIGURES if place else NAMES)  # type: ignore[misc]
                for place, title in enumerate(titles)
            ]
            yield column_table(rows, columns)
        yield Text(one.words)


def _in_markdown(_report: Report, found: Sequence[SettingFigure]) -> Iterable[str]:
    for one in found:
        yield escaped(one.heading)
        yield table_lines(*_rows(one.surface))
        yield escaped(one.words)


SETTINGS: Section[list[SettingFigure]] = Section(
    "settings",
    "the figures against settings",
    _found,
    [],
    page="settings",
    terminal=_in_terminal,
    markdown=_in_markdown,
    heading="By setting",
    markdown_heading="Settings",
)
