"""A comparison for places that do not show a terminal: a pull request's summary, and a CI's list of tests."""

from functools import partial
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from loadcurve.analysis.comparison import Change, RunComparison
from loadcurve.analysis.gate import Gate, Outcome
from loadcurve.report import text
from loadcurve.report.comparison import (
    SHOWN,
    changes_in_words,
    gate_in_words,
    ratio_in_words,
    undecided_in_words,
    unusable_in_words,
)
from loadcurve.report.markdown import escaped, listed, table_of_words
from loadcurve.report.suite import as_junit
from loadcurve.units import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable


def comparison_markdown(comparison: RunComparison, gate: Gate | None) -> str:
    """Return the answer, a table of the ratios and what is not decided, as a summary of a pull request."""
    base, new = comparison.arms or ("base", "new")
    said = [] if gate is None else [f"**{escaped(gate_in_words(gate))}**"]
    changed = changes_in_words(change for change in comparison.changes if change.shown)
    blocks = [
        f"## {escaped(new)} beside {escaped(base)}",
        *said,
        *listed(map(escaped, changed)),
        *_table(comparison),
    ]
    if comparison.lost:
        blocks += [
            f"Without a usable figure in {escaped(new)}:",
            *listed(map(escaped, unusable_in_words(comparison.lost))),
        ]
    if gate is not None and gate.undecided:
        blocks += ["Not decided:", *listed(map(escaped, undecided_in_words(gate)))]
    return "\n\n".join(blocks) + "\n"


def comparison_junit(comparison: RunComparison, gate: Gate) -> str:
    """Return JUnit's XML: a test for each server, measure and point, skipped where it is not decided."""
    suite = Element("testsuite", name="loadcurve compare")
    for change in comparison.changes:
        case = SubElement(suite, "testcase", classname=change.server, name=_name(change))
        said = f"{ratio_in_words(change)} times the base's"
        outcome = gate.outcome_of(change)
        if outcome is Outcome.FAILED:
            SubElement(case, "failure", message=f"worse: {said}")
        elif outcome is Outcome.UNDECIDED:
            SubElement(case, "skipped", message=f"not decided: {said}")
    for one in gate.lost:
        for point in one.points:
            case = SubElement(suite, "testcase", classname=one.server, name=f"figures at {text.point(point)}")
            SubElement(case, "error", message=f"no usable figure: {one.reason}")
    return as_junit(suite)


def _name(change: Change) -> str:
    where = "over the whole curve" if change.point is None else f"at {text.point(change.point)}"
    return f"{change.measure.title} {where}"


def _table(comparison: RunComparison) -> list[str]:
    """Return the ratios as one block, a row for each server and point."""
    by_place: dict[tuple[str, str], dict[str, Change]] = {}
    for change in (*comparison.curves, *comparison.points):
        where = "the whole curve" if change.point is None else text.point(change.point)
        by_place.setdefault((change.server, where), {})[change.measure.name] = change
    columns: dict[str, Callable[[Row], str]] = {
        "server": lambda row: row[0][0],
        "at": lambda row: row[0][1],
        **{one.title: partial(_cell, one.name) for one in SHOWN},
    }
    return [table_of_words(by_place.items(), columns)] if by_place else []


Row = tuple[tuple[str, str], dict[str, Change]]
"""A server with a place in words, and what changed there by measure."""


def _cell(measure: str, row: Row) -> str:
    change = row[1].get(measure)
    if change is None:
        return ABSENT
    marked = f", {'worse' if change.worse_by > 0 else 'better'}" if change.shown else ""
    return f"{ratio_in_words(change)}{marked}"
