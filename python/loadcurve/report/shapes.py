"""Peak, knee and capacity of each server, as tables and in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.shape import SliceShapes
from loadcurve.analysis.works import without_comparisons, works
from loadcurve.report import shape_words, text
from loadcurve.report.answer import answer
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Figure
from loadcurve.report.figures import bars
from loadcurve.report.markdown import escaped, table_lines
from loadcurve.report.section import Grid, Report, Section
from loadcurve.report.terminal_tables import figures_table
from loadcurve.result.folder import Run


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """Peak, knee and capacity of each server in one slice of the sweep, and what is to be said of them."""

    heading: str | None
    figures: Grid
    costs: Grid | None
    """What requests cost; ``None`` where no server has a price."""
    conclusions: list[str]
    """What follows from all curves together."""
    of_servers: dict[str, str]
    """What the curve of each server shows, in sentences."""
    bars: list[Figure]


def _shapes(run: Run, analysis: Analysis, looks: Mapping[str, Appearance]) -> list[ShapeTable]:
    return [
        ShapeTable(
            heading=text.point(found.part.fixed) if found.part.fixed else None,
            figures=shape_words.figures(run.kind, found),
            costs=shape_words.costs(run.kind, found),
            conclusions=shape_words.common_conclusions(run.kind, found),
            of_servers=shape_words.of_each_server(run.kind, found),
            bars=bars(run, found, looks),
        )
        for found in _parts(analysis)
        if found.has_figures
    ]


def _parts(analysis: Analysis) -> list[SliceShapes]:
    """Return the shapes of each part of the sweep; servers with several works are not compared in them."""
    return (without_comparisons(analysis) if works(analysis) else analysis).shapes


def _in_terminal(report: Report, _tables: Sequence[ShapeTable]) -> Iterator[RenderableType]:
    load, answered = report.analysis.load_kind, set(answer(report.analysis).sentences)
    for found in _parts(report.analysis):
        if not found.has_figures:
            continue
        yield ""
        if found.part.fixed:
            yield Text(text.point(found.part.fixed))
        for grid in (shape_words.figures(load, found), shape_words.costs(load, found)):
            if grid is not None:
                yield figures_table(grid.titles, grid.rows)
        # What the answer at the top says already is not said again.
        yield from (Text(one) for one in shape_words.conclusions(load, found) if one not in answered)


def _in_markdown(_report: Report, tables: Sequence[ShapeTable]) -> Iterator[str]:
    for part in tables:
        yield from [escaped(part.heading)] if part.heading else []
        yield from [table_lines(grid.titles, grid.rows) for grid in (part.figures, part.costs) if grid]


SHAPES: Section[list[ShapeTable]] = Section(
    "shapes",
    "peaks and knees",
    lambda report: _shapes(report.run, report.analysis, report.looks),
    [],
    page="shapes",
    terminal=_in_terminal,
    markdown=_in_markdown,
    heading="Peak, knee and capacity",
)
