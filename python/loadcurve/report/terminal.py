"""The summary of a run for the terminal."""

from rich.console import Console, Group, RenderableType
from rich.text import Text

from loadcurve.report.answer import CAUTION, answer_words
from loadcurve.report.claims import CLAIMS
from loadcurve.report.findings import FOUND
from loadcurve.report.long_table import NUMBERS
from loadcurve.report.section import Report
from loadcurve.report.sections import SECTIONS
from loadcurve.report.shapes import SHAPES
from loadcurve.report.sparkline import sparklines
from loadcurve.report.terminal_tables import bounded

APART = (NUMBERS, SHAPES, FOUND, CLAIMS)
"""Sections with a place of their own: the table is first, the others follow the summary."""


def print_results(report: Report, out: Console) -> None:
    """Print what a run ends with: the answer, the table of points, shapes, findings and the curves."""
    print_answer(report, out)
    out.print(bounded(summary(report)))
    print_shapes(report, out)
    print_findings(report, out)
    out.print(bounded(closing(report)))


def summary(report: Report) -> RenderableType:
    """Return the table of points, and what the sections say that have no place of their own."""
    table = report.drawn(NUMBERS, NUMBERS.terminal)
    said = [
        one for section in SECTIONS if section not in APART for one in report.drawn(section, section.terminal)
    ]
    left_out = [Text(one.words, style="yellow") for one in report.sections.not_computed]
    return Group(*table, *left_out, *said)


def print_answer(report: Report, out: Console) -> None:
    """Print what the run says to its question, which a person looks for first."""
    words, caution = answer_words(report.analysis), report.of(CAUTION)
    if words:
        beside = [bounded(Text(f"Caution. {caution}", style="yellow"))] if caution else []
        out.print(Text("Answer", style="bold"), bounded(Text(words)), *beside, Text(), sep="\n")


def print_shapes(report: Report, out: Console) -> None:
    """Print peak, knee and capacity of each server as tables, one for each slice, and what follows."""
    for part in report.drawn(SHAPES, SHAPES.terminal):
        out.print(bounded(part))


def print_findings(report: Report, out: Console) -> None:
    """Print what was found, and why."""
    if report.analysis.findings:
        out.print(bounded(Group(*report.drawn(FOUND, FOUND.terminal))))


def closing(report: Report) -> RenderableType:
    """Return what comes last, before the path of the page: judged claims, and the curves in lines.

    Each part begins with an empty line, so that what is before it need not end with one.
    """
    judged = report.drawn(CLAIMS, CLAIMS.terminal)
    lines = report.sections.several("the curves in lines", lambda: sparklines(report.analysis))
    left_out = report.analysis.run.left_out
    quiet = [Text(f"\n{left_out.words}", style="dim")] if left_out else []
    return Group(*judged, *lines, *quiet, Text())
