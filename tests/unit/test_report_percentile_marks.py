"""A percentile that only some trials have is marked in every form of a report."""

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.percentile_marks import PARTIAL
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from support.explained_run import Data, planted_run
from support.page import Page
from support.terminal import printed


@pytest.fixture(scope="module")
def content() -> Report:
    """With 10 connections, four of five trials have no p99, and the fifth has answered all within 5 ms."""

    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 10:
            figures = {"p50": 33.9, "p99": None} if trial else {"p50": 4.0, "p99": 5.0}
            record["load"]["latency_ms"] |= {"p99_9": None} | figures

    run = planted_run(plant)
    return Report(run, analyse(run))


def test_the_mark_stands_where_some_trials_have_the_percentile_and_others_have_not(content: Report):
    numbers = everything(content)["numbers"]
    marked = {
        (row.figures[0].shown, column.heading)
        for row in numbers.table.rows
        for column in numbers.table.on("page")
        if PARTIAL.sign in str(column.cell(row))
    }
    # None has a p99.9 there, which is absent, and all have a p50.
    assert marked == {("10", "p99, ms")}


def test_the_terminal_the_page_and_markdown_say_what_it_means(content: Report):
    for form in (
        printed(summary(content), width=80),
        Page(render_page(content)).text,
        markdown_bytes(content).decode(),
    ):
        said = " ".join(form.split())
        assert f"5.00 {PARTIAL.sign}" in said
        assert PARTIAL.words in said
