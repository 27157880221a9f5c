"""A run's report in any of its formats, and the files that each is written to."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from loadcurve.errors import BadInput
from loadcurve.report.files import write_part
from loadcurve.report.picture_style import AS_ON_PAGE, PictureStyle
from loadcurve.result.run_files import REPORT_FILE
from loadcurve.stats.slo import Objective
from loadcurve.toml.expected import nearest

if TYPE_CHECKING:
    from loadcurve.analysis.sections import NotComputed
    from loadcurve.report.section import Report

Files = Iterable[tuple[str, bytes]]
"""Names and contents."""


class Written(NamedTuple):
    """The files of a report, and what a fault of Loadcurve left out of them."""

    paths: list[Path]
    not_computed: "list[NotComputed]"


def write_formats(
    folder: Path,
    formats: Sequence[str],
    objective: Objective | None,
    out: Path | None,
    style: PictureStyle = AS_ON_PAGE,
) -> Written:
    """Write the report of a run folder in each of ``formats``, keys of :data:`FORMATS`.

    The files go into the run folder, or into ``out``, which is made. Each is there whole or not at all.

    Raises:
        BadInput: the folder is no run, the limits do not apply to it, a figure that ``style`` names is not in
            it, or ``out`` cannot be made.
        LoadcurveError: a file cannot be written.

    """
    from loadcurve.analysis.numbers import read_analysed
    from loadcurve.report.section import Report

    report = Report(*read_analysed(folder, objective), style)
    place = folder if out is None else _made(out)
    paths = []
    for name in formats:
        files = report.sections.several(f"the form {name}", partial(_made_in, name, report))
        for file_name, data in files:
            path = place / file_name
            write_part(path, data)
            paths.append(path)
    return Written(paths, report.analysis.not_computed)


def _made_in(form: str, report: "Report") -> list[tuple[str, bytes]]:
    return list(FORMATS[form](report))


def parse_formats(given: str) -> list[str]:
    """Read the names of formats with commas between them, each once.

    Raises ``BadInput``: a name is not in :data:`FORMATS`; the error says which is the nearest.
    """
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in FORMATS:
            raise BadInput(
                f'--format: unknown format "{name}"; expected one of {", ".join(FORMATS)}, or several '
                f"separated by commas{nearest(name, list(FORMATS))}"
            )
    if not names:
        raise BadInput(
            f"--format: no format; expected one of {', '.join(FORMATS)}, or several separated by commas"
        )
    return list(dict.fromkeys(names))


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise BadInput(f"{folder} cannot be created: {reason}. Choose another folder with --out.") from error
    return folder


# Each writer imports what it needs: polars, Altair, Vega and the workbook's writer take their time to load.


def _html(report: "Report") -> Files:
    from loadcurve.report.html import render_page

    yield REPORT_FILE, render_page(report).encode()


def _markdown(report: "Report") -> Files:
    from loadcurve.report.formats.markdown import markdown_bytes

    yield "report.md", markdown_bytes(report)


def _json(report: "Report") -> Files:
    from loadcurve.report.run_summary import numbers_of
    from loadcurve.result.summary import source_of

    yield "report.json", numbers_of(report.analysis, source_of(report.run.folder)).to_json()


def _xlsx(report: "Report") -> Files:
    from loadcurve.report.formats.workbook import workbook_bytes

    yield "report.xlsx", workbook_bytes(report)


def _csv(report: "Report") -> Files:
    from loadcurve.report.formats.delimited import csv_bytes
    from loadcurve.report.formats.tables import TABLES

    for name, table in report.of(TABLES).items():
        yield f"report-{name}.csv", csv_bytes(table)


def _parquet(report: "Report") -> Files:
    from loadcurve.report.formats.delimited import parquet_bytes
    from loadcurve.report.formats.tables import TABLES

    for name, table in report.of(TABLES).items():
        yield f"report-{name}.parquet", parquet_bytes(table)


def _png(report: "Report") -> Files:
    from loadcurve.report.formats.pictures import png_pictures

    return ((f"report-{name}.png", picture) for name, picture in png_pictures(report))


def _svg(report: "Report") -> Files:
    from loadcurve.report.formats.pictures import svg_pictures

    return ((f"report-{name}.svg", picture) for name, picture in svg_pictures(report))


def _pdf(report: "Report") -> Files:
    from loadcurve.report.formats.pictures import pdf_pictures

    return ((f"report-{name}.pdf", picture) for name, picture in pdf_pictures(report))


def _tex(report: "Report") -> Files:
    from loadcurve.report.formats.latex import latex_files

    return latex_files(report)


def _hgrm(report: "Report") -> Files:
    from loadcurve.report.formats.histograms import hgrm

    return hgrm(report.run)


def _hlog(report: "Report") -> Files:
    from loadcurve.report.formats.histograms import hlog

    return hlog(report.run)


def _fortio(report: "Report") -> Files:
    from loadcurve.report.formats.histograms import fortio

    return fortio(report.run)


def _k6_summary(report: "Report") -> Files:
    from loadcurve.report.formats.histograms import k6_summary

    return k6_summary(report.run)


def _wrk2(report: "Report") -> Files:
    from loadcurve.report.formats.histograms import wrk2

    return wrk2(report.run)


def _junit(report: "Report") -> Files:
    from loadcurve.report.run_junit import run_junit

    yield "report-junit.xml", run_junit(report.analysis).encode()


def _github_benchmark(report: "Report") -> Files:
    from loadcurve.analysis.history import figures_of
    from loadcurve.report.formats.trackers import github_benchmark

    figures = list(figures_of(report.analysis))
    yield "report-github-benchmark-bigger.json", github_benchmark(figures, "higher")
    yield "report-github-benchmark-smaller.json", github_benchmark(figures, "lower")


def _bencher(report: "Report") -> Files:
    from loadcurve.analysis.history import figures_of
    from loadcurve.report.formats.trackers import bencher

    yield "report-bencher.json", bencher(figures_of(report.analysis))


def _openmetrics(report: "Report") -> Files:
    from loadcurve.analysis.history import figures_of
    from loadcurve.report.formats.trackers import openmetrics, run_samples

    yield (
        "report-openmetrics.txt",
        openmetrics(run_samples(figures_of(report.analysis), report.analysis.run.title)),
    )


FORMATS: dict[str, "Callable[[Report], Files]"] = {
    "html": _html,
    "md": _markdown,
    "csv": _csv,
    "xlsx": _xlsx,
    "parquet": _parquet,
    "png": _png,
    "svg": _svg,
    "pdf": _pdf,
    "tex": _tex,
    "json": _json,
    "hgrm": _hgrm,
    "hlog": _hlog,
    "fortio": _fortio,
    "k6-summary": _k6_summary,
    "wrk2": _wrk2,
    "junit": _junit,
    "github-benchmark": _github_benchmark,
    "bencher": _bencher,
    "openmetrics": _openmetrics,
}
"""By the name on the command line: how the report is written in that format."""
