"""A run folder as tables, findings and pictures, and the run of a study."""

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Unpack

import polars

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.numbers import read_analysed
from loadcurve.api.command import printed_by, words_of
from loadcurve.api.options import RunOptions
from loadcurve.explain.finding import Finding
from loadcurve.report.answer import answer_words
from loadcurve.report.findings import CAUSE_TITLES, FindingGroup, grouped
from loadcurve.report.formats.pictures import drawing
from loadcurve.report.formats.tables import TABLES
from loadcurve.report.section import Report

SHOWN = ("throughput", "latency")
"""The figures that a notebook shows, by their beginning names."""


class Findings(list[Finding]):
    """What was odd in a run; a notebook shows it by cause, with what to do."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No findings.</p>"
        return "\n".join(_shown(group) for group in grouped(self))


def _shown(group: FindingGroup) -> str:
    """Return what was seen of one cause, of its first finding where there are several, as HTML."""
    first = group.findings[0]
    lines = [group.seen, f"{CAUSE_TITLES[first.certainty]}: {first.cause}", f"To do: {first.advice}"]
    said = "<br/>".join(map(html.escape, lines))
    return f"<p><strong>{html.escape(group.title)}</strong>: {html.escape(group.seen_of)}<br/>{said}</p>"


class Run:
    """A run folder as it was when the object was made; tables and pictures are made when first asked for."""

    def __init__(self, folder: str | Path) -> None:
        """Read a run folder, finished or not.

        Raises:
            BadInput: the folder is no run folder.

        """
        self.folder = Path(folder)
        self._report = Report(*read_analysed(self.folder))

    @property
    def analysis(self) -> Analysis:
        """Everything that reports say of the run, in numbers."""
        return self._report.analysis

    @property
    def tables(self) -> Mapping[str, polars.DataFrame]:
        """All tables by name, as a workbook has them; units are the last word of a column's name."""
        return self._report.of(TABLES)

    @property
    def points(self) -> polars.DataFrame:
        """One row for each measured point of each trial."""
        return self.tables["points"]

    @property
    def estimates(self) -> polars.DataFrame:
        """One row for each measure, server and point: its value with the 95 % confidence interval."""
        return self.tables["estimates"]

    @property
    def ranking(self) -> polars.DataFrame:
        """One row for each measure and server: the best and the worst rank that the trials leave possible."""
        return self.tables["ranking"]

    @property
    def findings(self) -> Findings:
        """What was odd, with its cause and what to do."""
        return Findings(self.analysis.findings)

    @property
    def answer(self) -> str:
        """What the run says to its study's question."""
        return answer_words(self.analysis)

    def __repr__(self) -> str:
        """Return the folder's name in the form that makes the object."""
        return f"Run({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        facts = self.analysis.run
        said = [f"<h3>{html.escape(facts.title)}</h3>"]
        if facts.question:
            said.append(f"<p><em>{html.escape(facts.question)}</em></p>")
        said.append(f"<p>{html.escape(self.answer)}</p>")
        drawings = [drawing(self._report, name) for name in SHOWN]
        return "\n".join([*said, *(one for one in drawings if one)])


def run(study: str | Path, **options: Unpack[RunOptions]) -> Run:
    """Run a study, a file or the name of a bundled one, and return its run folder.

    The options are those of ``loadcurve run --help`` by their long names, such as ``quick=True``,
    ``trials=5``, ``only=["nginx"]``, ``out="folder"``.

    Raises:
        BadInput: the study or an option cannot be used.
        NothingMeasured: nothing could be measured.
        KeyboardInterrupt: interrupted; the run folder keeps what was measured.

    """
    printed = printed_by(["run", *words_of(options), "--", str(study)])
    return Run(Path(printed.rstrip().splitlines()[-1]).parent)
