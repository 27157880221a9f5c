"""The sections of the report, in the order of the page."""

from collections.abc import Sequence
from typing import Any

from loadcurve.report.alt_svc import ALT_SVC
from loadcurve.report.answer import ANSWER, CAUTION
from loadcurve.report.arms import LOADS_IN_WORDS, OWN_LOADS
from loadcurve.report.claims import CLAIMS
from loadcurve.report.connections import CONNECTIONS
from loadcurve.report.cpu_time import CPU_TIME
from loadcurve.report.crosscheck import GENERATORS
from loadcurve.report.division import PROGRAMS
from loadcurve.report.ending import MEASURED, TRIALS_IN_WORDS
from loadcurve.report.figures import (
    BOTH,
    DISTRIBUTION,
    ERRORS,
    LATENCY,
    LOADING_RECORDS,
    LOADS,
    MESSAGES,
    OPERATIONS,
    PARTS,
    RESOURCES,
    THROUGHPUT,
)
from loadcurve.report.findings import FOUND, LIMIT
from loadcurve.report.gate import GATE
from loadcurve.report.long_table import NUMBERS
from loadcurve.report.operations import BY_OPERATION
from loadcurve.report.over_time import OVER_TIME
from loadcurve.report.published_content import PUBLISHED
from loadcurve.report.quic import QUIC
from loadcurve.report.ranking import RANKING
from loadcurve.report.reasons import CAVEATS, FAILURES, NOTES, RUN_CAVEATS, VERDICTS
from loadcurve.report.repetition import REPETITION
from loadcurve.report.requirements import REQUIREMENTS
from loadcurve.report.section import Report, Section
from loadcurve.report.servers import SERVERS
from loadcurve.report.settings import SETTINGS
from loadcurve.report.shapes import SHAPES
from loadcurve.report.trials import TIMELINE, TRIALS

SECTIONS: tuple[Section[Any], ...] = (
    ANSWER,
    CAUTION,
    GATE,
    REQUIREMENTS,
    RUN_CAVEATS,
    LOADS,
    OWN_LOADS,
    MEASURED,
    LOADS_IN_WORDS,
    TRIALS_IN_WORDS,
    OVER_TIME,
    LIMIT,
    FOUND,
    CLAIMS,
    PARTS,
    THROUGHPUT,
    LATENCY,
    MESSAGES,
    OPERATIONS,
    BY_OPERATION,
    LOADING_RECORDS,
    BOTH,
    ERRORS,
    RANKING,
    GENERATORS,
    CAVEATS,
    RESOURCES,
    CPU_TIME,
    CONNECTIONS,
    QUIC,
    ALT_SVC,
    PROGRAMS,
    SETTINGS,
    SHAPES,
    DISTRIBUTION,
    PUBLISHED,
    TIMELINE,
    TRIALS,
    NUMBERS,
    VERDICTS,
    NOTES,
    FAILURES,
    SERVERS,
    REPETITION,
)


def arranged(first: Sequence[Section[Any]], last: Sequence[Section[Any]]) -> list[Section[Any]]:
    """Return all sections in the order of a form that begins and ends with others than the page does."""
    between = [one for one in SECTIONS if one not in first and one not in last]
    return [*first, *between, *last]


def everything(report: Report) -> dict[str, Any]:
    """Return what each section finds, by its name."""
    return {section.name: report.of(section) for section in SECTIONS}


def summary_words(report: Report) -> list[str]:
    """Say what a fault left out, and then what was measured, and how."""
    said = [sentence for section in SECTIONS for sentence in report.drawn(section, section.words)]
    return [*(one.words for one in report.sections.not_computed), *said]
