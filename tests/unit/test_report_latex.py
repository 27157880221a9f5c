"""A run's figures for papers: LaTeX and BibTeX."""

import re

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.report.citation import bibliography
from loadcurve.report.formats.latex import escaped, latex_files
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.result.folder import read_run
from loadcurve.result.measures import THROUGHPUT
from support import synthetic_run as synthetic


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    run = read_run(synthetic.write_run(tmp_path_factory.mktemp("latex") / "run"))
    return Report(run, analyse(run))


@pytest.fixture(scope="module")
def files(report):
    return {name: data.decode() for name, data in latex_files(report)}


@pytest.mark.parametrize(
    ("words", "set_so"),
    [
        ("50 % of a_b & c#1 $x", r"50 \% of a\_b \& c\#1 \$x"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("^ ~ < > |", r"\textasciicircum{} \textasciitilde{} \textless{} \textgreater{} \textbar{}"),
        ("4,200 ± 3 %, 5 µs", r"4,200 $\pm$ 3 \%, 5 \textmu{}s"),
        ("straße \N{SNOWMAN} 漢", "straße ? ?"),
        ("two\nlines\x1b[31m", "two lines[31m"),
    ],
)
def test_words_are_set_as_they_are_and_never_as_commands(words, set_so):
    assert escaped(words) == set_so


def test_the_table_has_a_row_of_equally_many_cells_for_each_server_and_point(report, files):
    rows = [line for line in files["report-table.tex"].splitlines() if line.endswith("\\\\")]
    assert len(rows) == 1 + len(report.analysis.curves) * len(report.analysis.points)
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}


def test_a_chart_has_the_value_and_both_ends_of_its_interval_at_each_point(report, files):
    chart = files["report-throughput.tex"]
    assert chart.count(r"\addplot+") == chart.count(r"\addlegendentry") == len(report.analysis.curves)
    rows = [[float(one) for one in line.split()] for line in re.findall(r"^[\d.e+ -]+$", chart, re.M)]
    [first, *_] = report.analysis.curves
    for at, (x, y, above, below) in zip(first.points, rows, strict=False):
        estimate = at.estimate(THROUGHPUT)
        assert x == at.point["connections"]
        assert (y, y + above, y - below) == pytest.approx(
            (estimate.value, estimate.high, estimate.low), rel=1e-4
        )


def one_trial(run):
    first = [one for one in run.points if one.block == 0]
    return {name: data.decode() for name, data in latex_files(report_of(run, first))}


def report_of(run, points):
    chosen = synthetic.with_records(run, points)
    return Report(chosen, analyse(chosen))


def test_suspect_figures_and_missing_ones_are_marked_with_a_note_and_the_caption_has_n(report, files):
    table = files["report-table.tex"]
    server, _, connections = synthetic.SUSPECT
    [marked] = [
        line for line in table.splitlines() if r"\textsuperscript{s}" in line and line.endswith("\\\\")
    ]
    assert marked.startswith(f"{server} & {connections} &")
    assert r"\textsuperscript{s}~A trial of this point is suspect" in table
    assert r"Geometric means with 95 \% intervals over trials" in table
    # One point is invalid in one of the three trials.
    assert "$n=2$ to 3 trials" in table


def test_one_trial_has_no_error_bar_and_a_mark(report):
    files = one_trial(report.run)
    rows = re.findall(r"^[\d.e+]+ [\d.e+]+ (\S+) (\S+)$", files["report-throughput.tex"], re.M)
    assert rows
    assert set(rows) == {("nan", "nan")}
    assert r"\textsuperscript{1}~One trial, which has no interval." in files["report-table.tex"]


def test_a_wide_interval_has_a_minus_and_no_hyphen(report):
    wide = [synthetic.with_throughput(one, {0: 0.8, 1: 1.0, 2: 1.1}[one.block]) for one in report.run.points]
    files = {name: data.decode() for name, data in latex_files(report_of(report.run, wide))}
    assert re.search(r"\$\^\{\+\d+\}_\{-\d+\}\$", files["report-table.tex"])
    assert " to +" not in files["report-table.tex"]


def test_every_brace_of_a_file_is_closed(files):
    for text in files.values():
        plain = re.sub(r"\\[{}]", "", text)
        assert plain.count("{") == plain.count("}")


def test_a_citation_names_the_study_the_day_and_the_version(report):
    run = report.run.run.model_copy(
        update={
            "study": {"title": "Fast & {odd}"},
            "started_at": "2026-03-14T09:26:53+00:00",
            "loadcurve_version": "0.1.0",
            "seed": 7,
        }
    )
    entry, program = bibliography(run).split("\n\n")
    assert entry.splitlines() == [
        "@misc{fast-odd-2026-03-14,",
        "  title = {{Fast odd}},",
        "  key = {Fast odd},",
        "  year = {2026},",
        "  month = mar,",
        "  note = {Measured on 2026-03-14 with Loadcurve 0.1.0, seed 7}",
        "}",
    ]
    assert program.startswith("@misc{loadcurve-0.1.0,")
    # Its authors are those of CITATION.cff.
    assert "  author = {{The Loadcurve developers}}," in program.splitlines()


def test_a_run_of_an_unknown_day_is_cited_without_one(report):
    run = report.run.run.model_copy(update={"started_at": "yesterday"})
    assert "year" not in bibliography(run)


def test_the_page_says_how_the_run_is_cited(report):
    assert "Cite this run" in render_page(report)
    assert "@misc{" in render_page(report)
