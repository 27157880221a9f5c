"""A section of the report: what it finds in a run, and how each form of the report shows that."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from rich.console import RenderableType

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.comparison import RunComparison, compare_arms
from loadcurve.analysis.resources import with_resources_of_arms
from loadcurve.analysis.sections import Sections
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.column import Column, words_of
from loadcurve.report.markdown import table_lines
from loadcurve.report.picture_style import AS_ON_PAGE, PictureStyle
from loadcurve.result.folder import Run

Data = TypeVar("Data")
Drawn = TypeVar("Drawn")
Item = TypeVar("Item")


class Report:
    """A run and all that is said of it in numbers; what sections find is computed when first asked for."""

    def __init__(self, run: Run, analysis: Analysis, pictures: PictureStyle = AS_ON_PAGE) -> None:
        """Take a run as it was read; no file is read and nothing is measured here."""
        self.run = run
        self.analysis = analysis
        self.picture_style = pictures
        self.sections = Sections(analysis.not_computed)
        """What a fault left out of the analysis and of all forms of the report, in one list."""
        self._found: dict[Section[Any], Any] = {}

    @cached_property
    def looks(self) -> dict[str, Appearance]:
        """How each server is drawn."""
        return appearances(self.run.run.servers)

    @cached_property
    def arms_compared(self) -> RunComparison | None:
        """The two sides of a gate with what each takes; ``None`` where the run is none."""
        gate = self.analysis.gate
        if gate is None or not {gate.base, gate.head} <= self.run.run.servers.keys():
            return None
        comparison = compare_arms(self.analysis, gate.base, gate.head)
        return with_resources_of_arms(comparison, self.analysis, gate.base, gate.head)

    def of(self, section: "Section[Data]") -> Data:
        """Return what a section finds, or nothing where a fault of ours leaves it out.

        Raises ``BadInput`` where a histogram cannot be decoded.
        """
        if section not in self._found:
            self._found[section] = self.sections.get(
                section.title, lambda: section.compute(self), section.nothing
            )
        found: Data = self._found[section]
        return found

    def drawn(
        self, section: "Section[Data]", draw: "Callable[[Report, Data], Iterable[Drawn]] | None"
    ) -> list[Drawn]:
        """Return how one form shows a section: nothing where the run has nothing of it, or by a fault."""
        data = self.of(section)
        if draw is None or not data:
            return []
        return self.sections.several(section.title, lambda: list(draw(self, data)))


@dataclass(frozen=True, slots=True, eq=False)
class Section(Generic[Data]):
    """One section. A form that it has no way to be shown in lacks it, as it does where it finds nothing."""

    name: str
    """For templates and the names of pictures."""
    title: str
    """What a fault leaves out, in words for people; the heading, too, where it has no other."""
    compute: Callable[[Report], Data]
    nothing: Data
    page: str | None = None
    """Its template, which gets the data as ``data`` and those of other sections in ``content``."""
    words: Callable[[Report, Data], Iterable[str]] | None = None
    """Sentences of the summary, in the page and in Markdown."""
    terminal: Callable[[Report, Data], Iterable[RenderableType]] | None = None
    markdown: Callable[[Report, Data], Iterable[str]] | None = None
    """Blocks of text that is escaped, below their heading."""
    heading: str | Callable[[Report, Data], str] | None = None
    """What page and Markdown name it."""
    markdown_heading: str | Callable[[Report, Data], str] | None = None
    """What Markdown names it where that is something else."""

    def headed(self, report: Report, *, in_markdown: bool = False) -> str:
        """Return the heading of the page or of Markdown."""
        heading = (self.markdown_heading if in_markdown else None) or self.heading
        if heading is None:
            return f"{self.title[:1].upper()}{self.title[1:]}"
        return heading if isinstance(heading, str) else heading(report, report.of(self))


@dataclass(frozen=True, slots=True)
class Grid:
    """What a section finds that is a table of words, by server in its first column."""

    titles: list[str]
    rows: list[list[str]]
    caption: str = ""

    @classmethod
    def of(
        cls,
        items: Iterable[Item],
        columns: Sequence[Column[Item]],
        caption: str = "",
    ) -> "Grid":
        """Return a row for each item."""
        rows = [[words_of(column.cell(item)) for column in columns] for item in items]
        return cls([column.heading for column in columns], rows, caption)


def grid_in_markdown(_report: Report, grid: Grid | None) -> Iterable[str]:
    """Return the table."""
    return [table_lines(grid.titles, grid.rows)] if grid else []
