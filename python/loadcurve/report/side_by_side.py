"""Several runs side by side on one page: their curves, their ratios, what differs, and their findings."""

import os
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.change import Change
from loadcurve.analysis.comparison import COMPARED, RunComparison, compare_runs
from loadcurve.analysis.curves import points_in
from loadcurve.analysis.numbers import analysis_of
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.errors import BadInput
from loadcurve.files import is_regular
from loadcurve.loads.values import Point
from loadcurve.report import text
from loadcurve.report.answer import answer_words
from loadcurve.report.appearance import Appearance, appearances
from loadcurve.report.charts.figure import Figure
from loadcurve.report.charts.ratios import rows_of, worse_figure
from loadcurve.report.charts.runs import RUN_MEASURES, RunLook, run_look, runs_figure
from loadcurve.report.columns import with_columns
from loadcurve.report.comparison import changes_in_words, difference_line, ratio_in_words, trust_in_words
from loadcurve.report.comparison_errors import errors_of_requests_in_words
from loadcurve.report.comparison_faults import faults_in_words
from loadcurve.report.files import write_part
from loadcurve.report.findings import (
    CAUSE_TITLES,
    MOST_SERVERS,
    WEIGHT_TITLES,
    FindingGroup,
    grouped,
    where,
)
from loadcurve.report.findings import figure as evidence_figure
from loadcurve.report.inconclusive import visible_words
from loadcurve.report.page import figure_scripts, rendered
from loadcurve.result.measures import PointKey, measures, point_key
from loadcurve.result.run_files import REPORT_FILE

COMPARISON_FILE = "comparison.html"


@dataclass(frozen=True, slots=True)
class ShownRun:
    """One of the runs, under the letter that the page calls it by."""

    letter: str
    folder: Path
    look: RunLook
    analysis: Analysis
    answer: str
    report: str | None
    """Where its report is, seen from the page; ``None`` where there is none."""
    findings: list[FindingGroup]
    """By cause."""


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """The figures of one server in one slice of the sweep, by the title of the measure."""

    server: str
    heading: str | None
    figures: dict[str, Figure]


@dataclass(frozen=True, slots=True)
class RatioRow:
    """The changes of one server at one place, in the order of the measures; ``None`` where not measured."""

    server: str
    place: str
    changes: list[Change | None]


@dataclass(frozen=True, slots=True)
class Pairing:
    """One run over the base run."""

    base: str
    new: str
    comparison: RunComparison
    figure: Figure | None
    """By how much each measure is worse over the curve."""
    over_curve: list[RatioRow]
    at_points: list[RatioRow]
    sentences: list[str]
    cautions: list[str]
    only_in_one: list[str]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Everything the page shows; the first run is the base of every ratio."""

    title: str
    runs: list[ShownRun]
    looks: dict[str, Appearance]
    parts: list[ServerFigures]
    pairings: list[Pairing]

    @property
    def question(self) -> str | None:
        """The question, where all runs have the same."""
        questions = {run.analysis.run.question for run in self.runs}
        return questions.pop() if len(questions) == 1 else None

    @property
    def cautions(self) -> list[str]:
        """Which measured points are suspect or invalid, once for each run."""
        return list(dict.fromkeys(said for pairing in self.pairings for said in pairing.cautions))

    @property
    def conditions_differ(self) -> bool:
        """Whether any run was measured under other conditions than the base."""
        return any(pairing.comparison.conditions for pairing in self.pairings)


def write_side_by_side(folders: Sequence[Path], out: Path | None = None) -> tuple[Path, SideBySide]:
    """Lay runs side by side on a page, and return its path and what it shows.

    It is ``comparison.html`` in the folder ``out``, or else in that of the run that started last.

    Raises ``BadInput`` where a folder is named twice or cannot be read as a run, and ``LoadcurveError``
    where the page cannot be written.
    """
    _require_different(folders)
    runs = [(folder, analysis_of(folder)) for folder in folders]
    newest, _ = max(runs, key=lambda run: run[1].run.started_at)
    path = (newest if out is None else out) / COMPARISON_FILE
    shown = side_by_side(runs, path.parent)
    write_part(path, render_side_by_side(shown).encode())
    return path, shown


def _require_different(folders: Sequence[Path]) -> None:
    most = len(string.ascii_uppercase)
    if len(folders) > most:
        raise BadInput(f"found {len(folders)} runs; at most {most} can be compared side by side")
    seen: dict[Path, Path] = {}
    for folder in folders:
        if folder.resolve() in seen:
            raise BadInput(f"{folder} is given twice; expected different runs")
        seen[folder.resolve()] = folder


def side_by_side(runs: Sequence[tuple[Path, Analysis]], seen_from: Path) -> SideBySide:
    """Gather what the page shows of several runs; it links to their reports from the folder ``seen_from``."""
    shown = [
        _shown(letter, folder, analysis, run_look(place), seen_from)
        for place, (letter, (folder, analysis)) in enumerate(zip(string.ascii_uppercase, runs, strict=False))
    ]
    titles = list(dict.fromkeys(one.analysis.run.title for one in shown))
    servers = dict.fromkeys(name for _, analysis in runs for name in analysis.run.servers)
    looks = appearances(servers)
    base, *others = shown
    return SideBySide(
        title=titles[0] if len(titles) == 1 else f"{len(runs)} runs side by side",
        runs=shown,
        looks=looks,
        parts=_figures(shown, looks),
        pairings=[_pairing(base, other) for other in others],
    )


def render_side_by_side(shown: SideBySide) -> str:
    """Return the page."""
    values = {
        "shown": shown,
        "measures": [measures(shown.runs[0].analysis.load_kind)[name].title for name in COMPARED],
        "ratio": ratio_in_words,
        "difference_line": difference_line,
        "absent": units.ABSENT,
        "moment": text.moment,
        "where": where,
        "weight_titles": WEIGHT_TITLES,
        "cause_titles": CAUSE_TITLES,
        "evidence_figure": evidence_figure,
        "most_servers": MOST_SERVERS,
        "plural": units.plural,
        "with_columns": with_columns,
    }
    return rendered("side_by_side.html.jinja", ["report.css", "history.css"], figure_scripts(), values)


def _shown(letter: str, folder: Path, analysis: Analysis, look: RunLook, seen_from: Path) -> ShownRun:
    report = folder / REPORT_FILE
    return ShownRun(
        letter=letter,
        folder=folder,
        look=look,
        analysis=analysis,
        answer=answer_words(analysis),
        report=quote(os.path.relpath(report, seen_from)) if is_regular(report) else None,
        findings=grouped(analysis.findings, visible_words(analysis)),
    )


def _figures(shown: Sequence[ShownRun], looks: Mapping[str, Appearance]) -> list[ServerFigures]:
    parts = _slices([point for one in shown for point in one.analysis.points])
    found = {one.letter: {curve.server: curve for curve in one.analysis.curves} for one in shown}
    run_looks = {one.letter: one.look for one in shown}
    said = measures(shown[0].analysis.load_kind)
    figures = []
    for server, look in looks.items():
        for part in parts:
            of_runs = {
                letter: points_in(of_run[server], part.rising) if server in of_run else []
                for letter, of_run in found.items()
            }
            drawn = {
                measure.heading: figure
                for measure in map(said.__getitem__, RUN_MEASURES)
                if (figure := runs_figure(measure, part, of_runs, run_looks, look.colour)) is not None
            }
            if drawn:
                heading = text.point(part.fixed) if part.fixed else None
                figures.append(ServerFigures(server, heading, drawn))
    return figures


def _slices(points: Sequence[Point]) -> list[Slice]:
    """Return the slices of all runs' points; studies that sweep other keys have separate figures."""
    by_keys: dict[frozenset[str], dict[PointKey, Point]] = {}
    for point in points:
        by_keys.setdefault(frozenset(point), {})[point_key(point)] = point
    return [part for group in by_keys.values() for part in slices(list(group.values()))]


def _pairing(base: ShownRun, new: ShownRun) -> Pairing:
    comparison = compare_runs(base.analysis, new.analysis)
    shown = [change for change in (*comparison.curves, *comparison.points) if change.shown]
    errors = [one for one in comparison.errors if one.shown]
    only = []
    if comparison.servers_in_one:
        only.append(f"servers {units.listing(comparison.servers_in_one)}")
    if comparison.points_in_one:
        only.append(f"points {'; '.join(map(text.point, comparison.points_in_one))}")
    return Pairing(
        base=base.letter,
        new=new.letter,
        comparison=comparison,
        figure=worse_figure(rows_of(comparison.curves)),
        over_curve=_rows(comparison.curves),
        at_points=_rows(comparison.points),
        sentences=[*changes_in_words(shown), *errors_of_requests_in_words(errors, (base.letter, new.letter))],
        cautions=_cautions(comparison, base.letter, new.letter),
        only_in_one=only,
    )


def _cautions(comparison: RunComparison, base: str, new: str) -> list[str]:
    """Return which trials failed and which points are suspect or invalid, under the letters of the runs."""
    letters = {"the base run": base, "the new run": new}
    faults = [
        replace(one, base=replace(one.base, called=base), new=replace(one.new, called=new))
        for one in comparison.faults
    ]
    return faults_in_words(faults) + trust_in_words(
        replace(
            comparison,
            trust=tuple(replace(one, called=letters.get(one.called, one.called)) for one in comparison.trust),
        )
    )


def _rows(changes: Sequence[Change]) -> list[RatioRow]:
    places: dict[tuple[str, str], dict[str, Change]] = {}
    for change in changes:
        place = "all points" if change.point is None else text.point(change.point)
        places.setdefault((change.server, place), {})[change.measure.name] = change
    return [RatioRow(server, place, [*map(found.get, COMPARED)]) for (server, place), found in places.items()]
