"""A comparison for places that do not show a terminal: a pull request's summary, and a CI's list of tests."""

from functools import partial
from typing import assert_never
from xml.etree.ElementTree import Element, SubElement

from loadcurve.analysis.change import Change, Outcome
from loadcurve.analysis.comparison import RunComparison
from loadcurve.analysis.gate import Gate
from loadcurve.analysis.missing import MissingFigure
from loadcurve.report import text
from loadcurve.report.column import Column
from loadcurve.report.comparison import (
    SHOWN,
    changes_in_words,
    gate_in_words,
    in_one_in_words,
    lost_figures_in_words,
    place_in_words,
    ratio_in_words,
    resources_in_words,
    times_in_words,
    trust_in_words,
    undecided_in_words,
    unusable_base_in_words,
    unusable_in_words,
    why_undecided,
)
from loadcurve.report.comparison_errors import errors_in_words, errors_of_requests_in_words, title_of
from loadcurve.report.comparison_faults import add_faults, faults_in_words
from loadcurve.report.markdown import escaped, listed, table_of_words
from loadcurve.report.suite import as_junit
from loadcurve.units import ABSENT


def _cautions(comparison: RunComparison) -> list[str]:
    """Return what must be known of the ratios: which trials they rest on, and what is in no ratio."""
    return [
        *trust_in_words(comparison),
        *unusable_base_in_words(comparison),
        *in_one_in_words(comparison),
    ]


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
    blocks += listed(map(escaped, errors_in_words(comparison)))
    blocks += listed(map(escaped, faults_in_words(comparison.faults)))
    blocks += listed(map(escaped, resources_in_words(comparison.resources)))
    blocks += map(escaped, _cautions(comparison))
    if not comparison.changes:
        blocks.append("Nothing can be compared.")
    if comparison.lost:
        blocks += [
            f"Without a usable figure in {escaped(new)}:",
            *listed(map(escaped, unusable_in_words(comparison.lost))),
        ]
    if gate is not None and gate.lost_figures:
        blocks += [
            f"In {escaped(base)} alone:",
            *listed(map(escaped, lost_figures_in_words(gate))),
        ]
    if gate is not None and gate.undecided:
        blocks += ["Not decided:", *listed(map(escaped, undecided_in_words(gate)))]
    return "\n\n".join(blocks) + "\n"


def comparison_junit(comparison: RunComparison, gate: Gate) -> str:
    """Return JUnit's XML: a test for each server, measure and point, and for the errors of each request.

    It is failed where it is shown to be worse, or where only the base has the figure; and skipped where that
    is not decided, or where there is no figure, with the reason.
    """
    suite = Element("testsuite", name="loadcurve compare")
    for change in comparison.changes:
        _add_change(_case(suite, change), change, gate.least)
    for errors in comparison.errors:
        if errors.change is not None:
            name = f"{title_of(errors)} {place_in_words(None)}"
            case = SubElement(suite, "testcase", classname=errors.server, name=name)
            if errors in gate.errors:
                (said,) = errors_of_requests_in_words([errors], comparison.arms or ("base", "new"))
                SubElement(case, "failure", message=said)
    add_faults(suite, ((one, one in gate.faults) for one in comparison.faults))
    for one in comparison.missing:
        tag = "failure" if one.is_lost else "skipped"
        SubElement(_case(suite, one), tag, message=f"no figure: {one.reason}")
    of_measures = {one.server for one in comparison.missing}
    for lost in gate.lost:
        # Every measure of the others has said so.
        for point in () if lost.server in of_measures else lost.points:
            name = f"figures {place_in_words(point)}"
            case = SubElement(suite, "testcase", classname=lost.server, name=name)
            SubElement(case, "failure", message=f"no usable figure: {lost.reason}")
    if not comparison.changes and not gate.lost:
        # A suite of skipped tests would be a green one.
        _add_refusal(suite, "; ".join(unusable_base_in_words(comparison)) or "nothing can be compared")
    if cautions := _cautions(comparison):
        SubElement(suite, "system-out").text = "\n".join(cautions)
    return as_junit(suite)


def refused_junit(reason: str) -> str:
    """Return JUnit's XML of a comparison that could not be made, as one test with an error."""
    suite = Element("testsuite", name="loadcurve compare")
    _add_refusal(suite, reason)
    return as_junit(suite)


def _add_refusal(suite: Element, reason: str) -> None:
    case = SubElement(suite, "testcase", classname="loadcurve", name="there is something to compare")
    SubElement(case, "error", message=reason)


def refused_markdown(reason: str) -> str:
    """Return the summary of a comparison that could not be made."""
    return f"## Not compared\n\n{escaped(reason)}\n"


def _case(suite: Element, one: Change | MissingFigure) -> Element:
    operation = one.measure.operation
    of_operation = f" of {operation}" if operation and operation not in one.measure.title else ""
    name = f"{one.measure.title}{of_operation} {place_in_words(one.point)}"
    return SubElement(suite, "testcase", classname=one.server, name=name)


def _add_change(case: Element, change: Change, least: float) -> None:
    said = times_in_words(change)
    match change.outcome(least):
        case Outcome.FAILED:
            SubElement(case, "failure", message=f"worse: {said}")
        case Outcome.UNDECIDED:
            why = why_undecided(change, least)
            SubElement(case, "skipped", message=f"not decided: {said}; {why}")
        case Outcome.PASSED:
            pass
        case _ as never:
            assert_never(never)


def _table(comparison: RunComparison) -> list[str]:
    """Return the ratios as one block, a row for each server and point."""
    by_place: dict[tuple[str, str], dict[str, Change]] = {}
    for change in (*comparison.curves, *comparison.points):
        where = "the whole curve" if change.point is None else text.point(change.point)
        by_place.setdefault((change.server, where), {})[change.measure.name] = change
    columns: list[Column[Row]] = [
        Column("server", lambda row: row[0][0]),
        Column("at", lambda row: row[0][1]),
        *(Column(one.title, partial(_cell, one.name)) for one in SHOWN),
    ]
    return [table_of_words(by_place.items(), columns)] if by_place else []


Row = tuple[tuple[str, str], dict[str, Change]]
"""A server with a place in words, and what changed there by measure."""


def _cell(measure: str, row: Row) -> str:
    change = row[1].get(measure)
    if change is None:
        return ABSENT
    marked = f", {'worse' if change.worse_by > 0 else 'better'}" if change.shown else ""
    return f"{ratio_in_words(change)}{marked}"
