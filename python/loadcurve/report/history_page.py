"""The page of a history: a small figure for every series, its changes, and the runs behind them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from loadcurve.analysis.history import Series, StudyHistory
from loadcurve.files import is_regular
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.history import history_figure
from loadcurve.report.columns import with_columns
from loadcurve.report.files import write_part
from loadcurve.report.history import (
    TO_CONFIRM,
    changes_in_words,
    commit_words,
    gaps_in_words,
    has_change,
    heading_of,
    machine_names,
    measure_words,
    no_change_words,
    nothing_in_words,
    runs_in_words,
    sentences,
)
from loadcurve.report.page import figure_scripts, rendered
from loadcurve.result.history import History, HistoryEntry
from loadcurve.result.run_files import REPORT_FILE

HISTORY_PAGE = "history.html"


@dataclass(frozen=True, slots=True)
class Panel:
    """A series with its figure."""

    title: str
    figure: Figure
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArmPanels:
    """The series of one arm at one point on one machine."""

    heading: str
    machine: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class ListedEntry:
    """A run with the way to its report; ``None`` where there is none."""

    entry: HistoryEntry
    words: str
    report: str | None


def write_history(found: History, studies: Sequence[StudyHistory]) -> Path:
    """Write ``history.html`` into the folder of a history and return its path.

    Raises ``LoadcurveError`` where it cannot be written.
    """
    path = found.folder / HISTORY_PAGE
    write_part(path, render_history(found, studies).encode())
    return path


def render_history(found: History, studies: Sequence[StudyHistory]) -> str:
    """Return the page; whether a run has a report is looked up from the folder of the history."""
    names = machine_names(studies)
    values = {
        "folder": found.folder.resolve().name,
        "found": found,
        "runs": runs_in_words(found),
        "studies": [(study.title, _arms(study, names), nothing_in_words(study)) for study in studies],
        "changes": sentences(studies),
        "gaps": [words for study in studies for words in gaps_in_words(study)],
        "no_change": no_change_words(studies),
        "to_confirm": TO_CONFIRM if has_change(studies) else None,
        "entries": [_listed(found.folder, entry) for entry in reversed(found.entries)],
        "with_columns": with_columns,
    }
    return rendered("history.html.jinja", ["report.css", "history.css"], figure_scripts(), values)


def _arms(study: StudyHistory, names: Mapping[str | None, str]) -> list[ArmPanels]:
    found: dict[tuple[str, str], list[Series]] = {}
    for one in study.series:
        found.setdefault((heading_of(one), names[one.machine.fingerprint]), []).append(one)
    return [
        ArmPanels(
            heading=heading,
            machine=machine,
            panels=tuple(
                Panel(measure_words(one.measure), history_figure(one), tuple(changes_in_words(one)))
                for one in series
            ),
        )
        for (heading, machine), series in found.items()
    ]


def _listed(folder: Path, entry: HistoryEntry) -> ListedEntry:
    report = os.path.normpath(f"{entry.folder}/{REPORT_FILE}")
    is_there = is_regular(folder / report)
    return ListedEntry(entry, commit_words(entry), quote(report) if is_there else None)
