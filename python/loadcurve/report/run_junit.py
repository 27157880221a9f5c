"""A run as JUnit's XML: tests of its requirements, of a gate's answers, and of each figure at each point."""

from xml.etree.ElementTree import Element, SubElement

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import CurvePoint
from loadcurve.analysis.gate import GateAnswer
from loadcurve.analysis.history import HISTORY_MEASURES
from loadcurve.analysis.unusable import why_unusable
from loadcurve.report import text
from loadcurve.report.gate import add_gate
from loadcurve.report.requirements import add_requirements
from loadcurve.report.suite import as_junit
from loadcurve.result.measures import Measure, measures


def run_junit(analysis: Analysis) -> str:
    """Return JUnit's XML of a run.

    A requirement is failed, or skipped where it is not decided. A figure is an error where its point has no
    usable trial, with the reason, and skipped where it was not measured there, or its curve had ended before.
    """
    suite = Element("testsuite", name="loadcurve run")
    add_requirements(suite, analysis)
    if (gate := GateAnswer.of(analysis)) is not None:
        add_gate(suite, analysis, gate)
    known = measures(analysis.load_kind)
    for curve in analysis.curves:
        for at in curve.points:
            for measure in (known[name] for name in HISTORY_MEASURES):
                name = f"{measure.title} {text.at_point(at.point)}"
                case = SubElement(suite, "testcase", classname=curve.server, name=name)
                _add_figure(case, analysis, at, measure)
    if not any(at.usable for curve in analysis.curves for at in curve.points):
        # A suite without a test, or of skipped ones alone, would be a green one.
        case = SubElement(suite, "testcase", classname="loadcurve", name="there is something measured")
        SubElement(case, "error", message="no server has a usable figure")
    return as_junit(suite)


def _add_figure(case: Element, analysis: Analysis, at: CurvePoint, measure: Measure) -> None:
    server = case.get("classname", "")
    estimate = at.estimate(measure)
    if estimate is not None:
        unit = f" {measure.unit}" if measure.unit else ""
        SubElement(case, "system-out").text = f"{text.estimate(estimate)}{unit}; {at.verdict}"
    elif at.usable or (at.ended_before and not at.trials):
        why = "not measured" if at.usable else why_unusable(analysis, server, at.point)
        SubElement(case, "skipped", message=why)
    else:
        reason = why_unusable(analysis, server, at.point)
        SubElement(case, "error", message=f"no usable figure: {reason}")
