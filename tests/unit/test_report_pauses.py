"""Percentiles that pauses of the platform explain are marked in every form of a report."""

from collections.abc import Sequence

import polars
import pytest

from loadcurve.analysis.analysis import Analysis, analyse
from loadcurve.report.appearance import appearances
from loadcurve.report.distribution import latency_distribution
from loadcurve.report.figures import distribution
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.formats.tables import report_tables
from loadcurve.report.html import render_page
from loadcurve.report.percentile_marks import PAUSED
from loadcurve.report.reasons import notes
from loadcurve.report.section import Report
from loadcurve.report.sections import everything
from loadcurve.report.terminal import summary
from loadcurve.result.folder import Run
from support import synthetic_run as synthetic
from support.disturbed import paused_for, pauses
from support.explained_run import Data, planted_run
from support.page import Page
from support.terminal import printed

PAUSED_TRIALS = [1, 3]


@pytest.fixture(scope="module")
def run() -> Run:
    """Five trials, in two of which the load's CPUs stood still for 5 s of 10, with 10 connections."""

    def plant(record: Data, trial: int, connections: float) -> None:
        if connections == 10 and trial in PAUSED_TRIALS:
            record["load"]["duration_s"] = 10.0
            record["load"]["requests"] |= {"due": 500, "answered": 500}
            record["load"]["generator"]["pauses"] = paused_for(5.0).model_dump()
            note = {"code": "pauses_explain", "text": "p99 of the latency: pauses of this machine"}
            record["load"]["verdict"] = {"status": "valid", "reasons": [], "notes": [note]}

    return planted_run(plant)


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return analyse(run)


def test_the_analysis_names_the_trials_of_each_percentile(analysis: Analysis):
    [curve] = analysis.curves
    explained = {at.point["connections"]: at.pauses_explain for at in curve.points}
    # 250 pauses of 20 ms hold up 10 of 500 requests each: p90 to p99 of some ms are theirs.
    assert explained[10]["p99"] == PAUSED_TRIALS
    assert {connections for connections, found in explained.items() if found} == {10}


def test_terminal_page_and_markdown_mark_the_percentile_and_say_why(run: Run, analysis: Analysis):
    content = Report(run, analysis)
    marked = [
        row.figures[0].shown
        for row in everything(content)["numbers"].table.rows
        if "†" in row.figures[4].shown
    ]
    assert marked == ["10"]
    assert not any("†" in row.figures[2].shown for row in everything(content)["numbers"].table.rows)
    for form in (
        printed(summary(Report(run, analysis)), width=80),
        Page(render_page(content)).text,
        markdown_bytes(content).decode(),
    ):
        said = " ".join(form.split())
        assert "†" in said
        assert PAUSED.words in said


def test_tables_count_the_trials_and_hold_the_notes(run: Run, analysis: Analysis):
    tables = report_tables(Report(run, analysis))
    at = tables["estimates"].filter(polars.col("connections") == 10)
    counts = dict(at.select("measure", "trials_of_pauses").iter_rows())
    assert (counts["latency_p99_ms"], counts["latency_p50_ms"], counts["throughput_rps"]) == (2, 0, 0)
    noted = tables["points"].filter(polars.col("verdict_notes").list.contains("pauses_explain"))
    assert noted["trial"].to_list() == PAUSED_TRIALS


def test_notes_of_one_kind_are_one_row(run: Run):
    [note] = [one for one in notes(run) if "pauses" in one.example]
    assert (note.server, note.count, note.where, note.status) == ("nginx", 2, "connections = 10", None)


def test_a_run_without_pauses_marks_and_draws_nothing():
    quiet = planted_run()
    content = Report(quiet, analyse(quiet))
    assert not everything(content)["numbers"].marks
    assert "†" not in markdown_bytes(content).decode()
    assert everything(content)["distribution"] is not None
    assert not everything(content)["distribution"].has_pauses


def delays(*stretches_ms: tuple[float, float], side: str) -> Sequence[tuple[float, float]]:
    """The delays by the pauses of a side, in 10 s, by one moment in this number."""
    record = synthetic.point_record("nginx", 10)
    seen = pauses(*stretches_ms)
    load = record.load
    if side == "load":
        generator = load.generator.model_copy(update={"pauses": seen})
        record = synthetic.with_load(record, generator=generator)
    else:
        record = record.model_copy(update={"probe": record.probe.model_copy(update={"pauses": seen})})
    found = latency_distribution("nginx", [record])
    assert found is not None
    return [(one.inverse_tail, one.latency_ms) for one in found.pauses]


@pytest.mark.parametrize("side", ["load", "server"])
def test_what_pauses_do_to_requests_is_drawn_beside_their_latency(side: str):
    found = delays((1000, 2000), side=side)
    # Of 10 s, one second is a pause, so one moment in twenty waits for half a second or more.
    # The line ends where that of the latency does: at one in as many as there were requests.
    assert max(tail for tail, _ in found) <= synthetic.point_record("nginx", 10).load.latency_ms.count
    half = min(found, key=lambda one: abs(one[0] - 20))
    assert half[1] == pytest.approx(500, rel=0.06)
    assert 900 < found[-1][1] <= 1000


def test_the_figure_has_a_dashed_line_where_there_were_pauses(run: Run):
    found = distribution(run, appearances(run.run.servers))
    assert found is not None
    assert found.has_pauses
    dashed = [
        layer for layer in found.figure.specification["layer"] if layer["mark"].get("strokeDash") is not None
    ]
    assert len(dashed) == 1
