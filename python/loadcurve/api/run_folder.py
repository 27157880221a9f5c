"""A run folder as tables, findings, charts and files, and what makes one: a run, a search, an import."""

import html
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Unpack

import altair
import polars

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.numbers import read_analysed
from loadcurve.api.command import Progress, printed_by, words_of
from loadcurve.api.options import CapacityOptions, ImportOptions, RunOptions
from loadcurve.api.signature import with_options
from loadcurve.errors import BadInput
from loadcurve.explain.finding import Finding
from loadcurve.host.archives import opened
from loadcurve.report.answer import answer_words
from loadcurve.report.charts.figure import Specification
from loadcurve.report.findings import CAUSE_TITLES, FindingGroup, grouped
from loadcurve.report.formats.figures import pictures
from loadcurve.report.formats.pictures import drawing
from loadcurve.report.formats.tables import TABLES
from loadcurve.report.section import Report

SHOWN = ("throughput", "latency")
"""The figures that a notebook shows, by their beginning names."""
LISTS = ("requests", "recording")
"""What an import makes of an access log in place of a run."""


class Findings(list[Finding]):
    """What was odd in a run; a notebook shows it by cause, with what to do."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No findings.</p>"
        return "\n".join(_shown(group) for group in grouped(self))


class Charts(Mapping[str, altair.TopLevelMixin]):
    """Charts by name, each made when it is asked for: Altair takes its time to check what it makes."""

    def __init__(self, specifications: Mapping[str, Specification]) -> None:
        """Keep what the charts are made of."""
        self._specifications = specifications

    def __getitem__(self, name: str) -> altair.TopLevelMixin:
        """Return a new chart, which can be changed without changing another."""
        return altair.Chart.from_dict(self._specifications[name])

    def __iter__(self) -> Iterator[str]:
        """Return the names, in the order of the report."""
        return iter(self._specifications)

    def __len__(self) -> int:
        """Return how many charts there are."""
        return len(self._specifications)

    def __repr__(self) -> str:
        """Return the names, by which the charts are asked for."""
        return f"<charts: {', '.join(self)}>"


def _shown(group: FindingGroup) -> str:
    """Return what was seen of one cause, of its first finding where there are several, as HTML."""
    first = group.findings[0]
    lines = [group.seen, f"{CAUSE_TITLES[first.certainty]}: {first.cause}", f"To do: {first.advice}"]
    said = "<br/>".join(map(html.escape, lines))
    return f"<p><strong>{html.escape(group.title)}</strong>: {html.escape(group.seen_of)}<br/>{said}</p>"


class Run:
    """A run folder as it was when the object was made; tables and pictures are made when first asked for."""

    def __init__(self, folder: str | Path) -> None:
        """Read a run folder, finished or not, or the archive of one.

        Raises:
            BadInput: the folder is no run folder.

        """
        self.folder = opened(Path(folder))
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
    def charts(self) -> Mapping[str, altair.TopLevelMixin]:
        """Every figure by the name of its file, as a chart of Altair that can be shown, changed and saved."""
        return Charts({picture.name: picture.specification for picture in pictures(self._report)})

    def report(
        self,
        *others: str | Path,
        formats: Sequence[str] = ("html",),
        out: str | Path | None = None,
        slo: str | None = None,
    ) -> list[Path]:
        """Write the report, or one of this run and others side by side, and return the paths of the files.

        ``formats`` are those of ``loadcurve report --help``, ``out`` is the folder of the files, by default
        the run folder, and ``slo`` are limits such as ``"p99 < 10ms"``.

        Raises:
            BadInput: a format or a limit is unknown, or a folder is no run folder.

        """
        options = words_of({"format": ",".join(formats), "out": out, "slo": slo})
        printed = printed_by(["report", *options, "--", str(self.folder), *map(str, others)])
        return [Path(line) for line in printed.splitlines() if Path(line).is_file()]

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


@with_options(RunOptions)
def run(study: str | Path, *, progress: Progress | None = None, **options: Unpack[RunOptions]) -> Run:
    """Run a study, a file or the name of a bundled one, and return its run folder.

    The options are those of ``loadcurve run --help`` by their long names, such as ``quick=True``,
    ``trials=5``, ``only=["nginx"]``, ``out="folder"``. ``progress``, such as ``print``, is called with each
    line on what is measured, from another thread.

    Raises:
        BadInput: the study or an option cannot be used.
        NothingMeasured: nothing could be measured.
        KeyboardInterrupt: interrupted; the run folder keeps what was measured.

    """
    return _made_by(["run", *words_of(options), "--", str(study)], progress)


@with_options(CapacityOptions)
def capacity(
    study: str | Path,
    slo: str | None = None,
    *,
    progress: Progress | None = None,
    **options: Unpack[CapacityOptions],
) -> Run:
    """Search up to which load the limits ``slo`` hold, such as ``"p99 < 10ms"``, and return the run folder.

    Without ``slo`` the limits are those that the study names.
    ``run.answer`` has the load of each server with its interval, and ``run.tables["shapes"]`` the numbers.
    The options are those of ``loadcurve capacity --help``; ``progress`` is as for :func:`run`.

    Raises:
        BadInput: the study, the limits or an option cannot be used.
        NothingMeasured: nothing could be measured.
        KeyboardInterrupt: interrupted; the run folder keeps what was measured.

    """
    return _made_by(["capacity", *words_of({"slo": slo, **options}), "--", str(study)], progress)


@with_options(ImportOptions)
def import_(*files: str | Path, **options: Unpack[ImportOptions]) -> Run:
    """Make a run folder of files of other load generators, and return it.

    The options are those of ``loadcurve import --help``, such as ``server="nginx"``; lists of requests from
    access logs are made by the command alone.

    Raises:
        BadInput: a file cannot be read, or an option cannot be used; then nothing is written.

    """
    if options.get("as_") in LISTS:
        raise BadInput(f"as_={options['as_']!r} makes a list of requests and no run: use `loadcurve import`.")
    return _made_by(["import", *words_of(options), "--", *map(str, files)])


def _made_by(words: Sequence[str], progress: Progress | None = None) -> Run:
    """Return the run folder that the command makes; its report is what it prints last."""
    return Run(Path(printed_by(words, progress).rstrip().splitlines()[-1]).parent)
