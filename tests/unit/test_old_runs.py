"""Run folders of before there was one type of load are read and reported as they were."""

import json
import shutil
from pathlib import Path

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.report.comparison import comparison_lines
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.load import load_summary
from loadcurve.report.runs import list_runs
from loadcurve.report.section import Report
from loadcurve.report.terminal import summary
from loadcurve.result.folder import read_run
from support.terminal import printed

DATA = Path(__file__).parents[1] / "data"
OLD_RUNS = ("sessions", "ycsb")
PICTURES = {"png", "svg", "pdf"}
"""These are the page's charts, which take the drawing program seconds each."""


@pytest.mark.parametrize(("name", "kind"), [("sessions", WEB), ("ycsb", DATABASE)])
def test_the_records_of_an_old_run_are_read(name, kind):
    run = read_run(DATA / f"old-run-{name}")
    assert run.kind is kind
    assert len(run.points) == 4
    for record in run.points:
        assert record.load.load.kind is kind
        assert load_summary(record.load)


def test_the_loads_of_an_old_run_are_reported_as_they_were_run():
    sessions = read_run(DATA / "old-run-sessions").points[0].load.load
    assert (sessions.requests, sessions.calls, sessions.pipeline) == (["GET /1k.txt", "GET /2k.txt"], 4, 2)
    asked = read_run(DATA / "old-run-ycsb").points[0].load.load
    assert [stretch.to_rps for stretch in asked.rate_rps] == [400]
    assert (asked.workload_name, asked.workload.records, asked.phase) == ("a", 100, "run")


def test_the_loading_of_an_old_runs_records_is_one_of_its_measurements():
    points = read_run(DATA / "old-run-ycsb").points
    assert [[*point.measurements] for point in points] == [["loading", "load"]] * 4
    written = [json.loads(line) for line in (DATA / "old-run-ycsb" / "trials.jsonl").read_text().splitlines()]
    for point, line in zip(points, written, strict=True):
        assert point.measurements["loading"].rate_rps.answered == line["loading"]["rate_rps"]["answered"]
        assert point.load.rate_rps.answered == line["load"]["rate_rps"]["answered"]
    assert [[*point.measurements] for point in read_run(DATA / "old-run-sessions").points] == [["load"]] * 4


def test_an_old_run_and_a_new_one_of_the_same_study_are_of_one_load():
    study = read_run(DATA / "old-run-sessions").run.study["load"]
    assert (study["pipeline"], study["connections_total"]) == (2, None)


@pytest.mark.parametrize("name", OLD_RUNS)
@pytest.mark.parametrize("form", sorted(set(FORMATS) - PICTURES))
def test_every_form_of_a_report_can_be_made_of_an_old_run(name, form):
    run = read_run(DATA / f"old-run-{name}")
    analysis = analyse(run)
    assert analysis.not_computed == []
    files = dict(FORMATS[form](Report(run, analysis)))
    is_of_another_kind = form == "wrk2" and run.kind is DATABASE
    assert bool(files) is not is_of_another_kind
    assert all(files.values())


@pytest.mark.parametrize("name", OLD_RUNS)
def test_an_old_run_is_summed_up_listed_and_compared_as_a_new_one(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(DATA / f"old-run-{name}", folder)
    run = read_run(folder)
    analysis = analyse(run)
    assert all(arm in printed(summary(Report(run, analysis))) for arm in run.run.servers)
    assert [one.folder for one in list_runs(tmp_path).runs] == [folder]
    comparison = compare_runs(analysis, analysis)
    assert comparison.regressions(0.05) == []
    assert printed(comparison_lines(comparison), width=200)
