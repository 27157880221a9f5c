"""Published figures beside those of a run."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.published_content import PublishedContent
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.result.folder import Run, read_run
from loadcurve.stats.agreement import agreement, ranks
from loadcurve.study.bundled import STUDY_FILE, bundled_studies
from loadcurve.study.published import PublishedFile
from support import synthetic_run as synthetic
from support.cases import cases, changed
from support.read_study import read_study
from support.report_pages import render_run

FIGURE = {
    "title": "Requests per second",
    "axis": "connections",
    "values": [1, 10, 100, 1000],
    "measure": "throughput",
    "unit": "pages/s",
    "series": {
        "nginx": [5.0, 30.0, 60.0, 55.0],
        "Two": [4.0, 20.0, 29.0, 20.0],
        "Three": [1.0, 2.0, 3.0, 4.0],
    },
}


def run_beside(folder: Path, *figures: dict[str, Any], servers: dict[str, str], **file: Any) -> Run:
    """A run of which nginx answers 42,000 c / (c + 9) and apache 21,000 c / (c + 6) requests per second."""
    run = read_run(synthetic.write_run(folder))
    published = {"file": {"source": "A paper", "figures": list(figures), **file}, "servers": servers}
    record = run.run.model_copy(update={"study": {**run.run.study, "published": published}})
    return dataclasses.replace(run, run=record)


def published(run: Run) -> PublishedContent:
    found = everything(Report(run, analyse(run)))["published"]
    assert found is not None
    return found


def test_equal_values_share_the_mean_of_their_ranks():
    assert ranks([10, 30, 20, 30]) == [1, 3.5, 2, 3.5]


def test_the_rank_correlation_is_spearmans():
    # The differences of the ranks are 1, -1, 0, 1, -1: 1 - 6 * 4 / (5 * 24) = 0.8.
    found = agreement({1: 2, 2: 1, 3: 3, 4: 5, 5: 4}, {1: 10, 2: 20, 3: 30, 4: 40, 5: 50})
    assert found.rank_correlation == pytest.approx(0.8)


def test_shapes_that_differ_by_a_factor_alone_agree_wholly():
    found = agreement({1: 1, 2: 3, 4: 5, 8: 4}, {1: 1000, 2: 3000, 4: 5000, 8: 4000, 16: 9000})
    assert (found.n, found.rank_correlation, found.gap) == (4, pytest.approx(1), pytest.approx(0))


def test_the_gap_is_between_curves_divided_by_their_own_greatest_value():
    found = agreement({1: 50, 2: 100}, {1: 1, 2: 4})
    # One has half of its greatest value at 1, and the other a quarter.
    assert (found.gap, found.gap_at) == (pytest.approx(0.25), 1)


def test_too_few_or_level_values_have_no_rank_correlation():
    few = agreement({1: 1, 2: 2, 3: 3}, {1: 1, 2: 2, 3: 3})
    level = agreement({1: 1, 2: 1, 3: 1, 4: 1}, {1: 1, 2: 2, 3: 3, 4: 4})
    assert few.rank_correlation is level.rank_correlation is None
    assert agreement({1: 1, 2: 2}, {2: 1, 3: 2}) is None


def test_the_words_say_where_each_curve_is_greatest_and_never_compare_numbers(tmp_path: Path):
    run = run_beside(tmp_path, FIGURE, servers={"Two": "apache"})
    [comparison] = published(run).comparisons
    words = " ".join(comparison.sentences)
    # 1, 10 and 100 connections were measured, too; of these 100 is the greatest in both.
    assert "of 3 shared points, the published curve is greatest at connections = 100" in words
    assert "apache (published as Two)" in words
    assert "1 of 1 pair is in the same order" in words
    # 60 pages per second are beside 38,532 requests per second, and no word puts them together.
    assert "60" not in words
    assert "38," not in words


def test_each_curve_over_the_others_is_one_where_it_is_greatest_of_the_shared_points(tmp_path: Path):
    run = run_beside(tmp_path, FIGURE, servers={"Two": "apache"})
    [comparison] = published(run).comparisons
    [rows] = [rows for rows in comparison.relative.specification["datasets"].values() if len(rows) > 8]
    lines = {row["line"] for row in rows}
    # The third series stands for no server, so there is nothing to lay it over.
    assert lines == {"nginx (published)", "Two (published)", "nginx", "apache"}
    shared = {line: [row["y"] for row in rows if row["line"] == line and row["x"] <= 100] for line in lines}
    assert {line: max(values) for line, values in shared.items()} == dict.fromkeys(lines, 1)
    # What was measured at 200 connections has no published counterpart and may be greater.
    [beyond] = [row["y"] for row in rows if row["line"] == "apache" and row["x"] == 200]
    assert beyond == pytest.approx((200 / 206) / (100 / 106), rel=1e-5)


def test_published_and_measured_figures_have_the_same_axis(tmp_path: Path):
    [comparison] = published(run_beside(tmp_path, FIGURE, servers={})).comparisons
    axes = [
        layer["encoding"]["x"]["scale"]
        for figure in (comparison.published, comparison.measured, comparison.relative)
        if figure is not None
        for layer in figure.specification["layer"]
    ]
    # Lines and symbols, and what was measured has bands of intervals, too.
    assert len(axes) == 7
    # The publication extends to 1,000 connections, and the run ended at 200.
    assert all(axis == {"type": "log", "nice": False, "padding": 12, "domain": [1, 1000]} for axis in axes)


def test_a_figure_along_a_key_that_was_not_swept_is_named_and_not_drawn(tmp_path: Path):
    other = {**FIGURE, "axis": "rate"}
    found = published(run_beside(tmp_path, FIGURE, other, servers={}))
    assert len(found.comparisons) == 1
    assert found.left_out == "1 figure of the publication runs along rate, which this run has not swept."


def test_a_study_without_published_figures_says_nothing_of_them(tmp_path: Path):
    run = read_run(synthetic.write_run(tmp_path))
    assert everything(Report(run, analyse(run)))["published"] is None
    assert "published" not in report_tables(Report(run, analyse(run)))


def test_the_table_has_a_row_for_each_published_value_with_what_was_measured(tmp_path: Path):
    run = run_beside(tmp_path, FIGURE, servers={"Two": "apache"})
    table = report_tables(Report(run, analyse(run)))["published"]
    assert len(table) == 3 * 4
    [row] = table.filter(series="nginx", connections=10).to_dicts()
    assert (row["published"], row["published_unit"], row["unit"]) == (30.0, "pages/s", "requests/s")
    assert row["value"] == pytest.approx(42_000 * 10 / 19)
    [beyond] = table.filter(series="nginx", connections=1000).to_dicts()
    assert beyond["value"] is None


def test_hostile_words_of_a_publication_are_shown_and_not_run(tmp_path: Path):
    markup = "<script>alert(1)</script>"
    figure = {**FIGURE, "title": markup, "series": {markup: FIGURE["series"]["nginx"]}}
    page = render_run(run_beside(tmp_path, figure, servers={}, source=markup, url=f"javascript:{markup}"))
    assert markup not in page
    assert 'href="javascript:' not in page


STUDY = """
title = "T"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
duration = "1s"
[sweep]
connections = [1, 10]
[servers.nginx]
[published]
file = "figures.toml"
"""
FILE = """
source = "A paper"
year = 2018
[[figures]]
title = "Throughput"
axis = "connections"
values = [1, 10]
measure = "throughput"
unit = "requests/s"
[figures.series]
One = [1, 2]
"""


def written(folder: Path, study: str, file: str) -> Path:
    (folder / "figures.toml").write_text(file, encoding="utf-8")
    path = folder / "study.toml"
    path.write_text(study, encoding="utf-8")
    return path


def test_the_record_of_a_study_holds_the_figures_and_needs_no_other_file(tmp_path: Path):
    path = written(tmp_path, STUDY + '[published.servers]\nOne = "nginx"\n', FILE)
    recorded = read_study(path).model_dump(mode="json")["published"]
    assert recorded["file"]["figures"][0]["series"] == {"One": [1, 2]}
    assert recorded["servers"] == {"One": "nginx"}


PROBLEMS = r"""
study: [published.servers]\nOnne = "nginx"
    study.toml:15: published.servers.Onne: the file has no
study: [published.servers]\nOne = "ngin"
    expected a server of this study; did you mean "nginx"?
figures: [1, 2] -> [1]
    figures.toml:11: figures.series.One: found 1 values; expected 2
figures: [1, 10] -> [10, 1]
    figures.toml:7: figures.values: expected numbers that rise
figures: "throughput" -> "through"
    figures.toml:8: figures.measure: found
"""


@pytest.mark.parametrize(("change", "problem"), cases(PROBLEMS))
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, change: str, problem: str):
    file, _, how = change.partition(": ")
    texts = {"study": STUDY, "figures": FILE}
    texts[file] = changed(texts[file], how)
    with pytest.raises(BadInput) as error:
        read_study(written(tmp_path, *texts.values()))
    assert problem in str(error.value)


BEYOND_THE_PUBLICATIONS = {"A-backend", "A-credits", "A-joint", "C-computed", "C-pages"}
"""What the authors wished for, and what explains what puzzled them: no figures of these were published."""
PUBLISHED_EXPERIMENTS = sorted(
    name
    for name, file in bundled_studies().items()
    if file.name == STUDY_FILE and name not in BEYOND_THE_PUBLICATIONS
)


@pytest.mark.parametrize("name", PUBLISHED_EXPERIMENTS)
def test_an_experiment_of_a_publication_has_its_figures_with_what_they_were_measured_on(name):
    study = read_study(bundled_studies()[name])
    assert study.published is not None
    assert study.published.file.figures or study.published.file.facts
    # The study of three servers and Apache does not say what they ran on.
    assert study.published.file.machine or name == "D-connections"


def test_single_figures_stand_on_the_page_with_the_machine_and_without_a_curve(tmp_path: Path):
    fact = {"name": "Longest request time", "value": 3418, "unit": "ms", "at": "concurrency 500"}
    run = run_beside(tmp_path, servers={}, facts=[fact], machine="a t2.micro", year=2020)
    found = published(run)
    assert found.source == "A paper, 2020, measured on a t2.micro"
    assert [(row.name, row.value, row.at) for row in found.facts.rows] == [
        ("Longest request time", "3,418 ms", "concurrency 500")
    ]
    page = render_run(run)
    assert "Single figures that were published" in page
    assert "3,418 ms" in page
    markdown = markdown_bytes(Report(run, analyse(run))).decode()
    assert "| Longest request time | 3,418 ms | concurrency 500 |" in markdown


def test_a_file_that_publishes_nothing_is_refused():
    with pytest.raises(ValueError, match=r"at least one \[\[figures\]\] or \[\[facts\]\]"):
        PublishedFile.model_validate({"source": "A paper"})
