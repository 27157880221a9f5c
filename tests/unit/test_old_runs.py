"""Run folders of earlier formats are read and reported as they were: those of before there was one type of
load, and those of before work and protocol were recorded.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.comparison import compare_runs
from loadcurve.errors import BadInput
from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.report.comparison import comparison_lines
from loadcurve.report.formats.write import FORMATS
from loadcurve.report.load import load_summary
from loadcurve.report.runs import list_runs
from loadcurve.report.section import Report
from loadcurve.report.terminal import summary
from loadcurve.result.folder import read_run
from loadcurve.result.run_files import RUN_FILE, TRIALS_FILE
from loadcurve.tools.own.reader import read_json
from loadcurve.tools.source import Source
from support.terminal import printed

DATA = Path(__file__).parents[1] / "data"
OLD_RUNS = ("sessions", "ycsb", "closed")
PICTURES = {"png", "svg", "pdf"}
"""These are the page's charts, which take the drawing program seconds each."""


@pytest.mark.parametrize(("name", "kind"), [("sessions", WEB), ("ycsb", DATABASE), ("closed", WEB)])
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


@pytest.mark.parametrize(
    ("name", "work", "protocol"),
    [("sessions", "http", "http"), ("ycsb", "ycsb", "postgresql"), ("closed", "http", "http")],
)
def test_work_and_protocol_of_an_old_run_are_those_of_its_model_and_its_database(name, work, protocol):
    run = read_run(DATA / f"old-run-{name}")
    assert {run.load_of(arm)["work"] for arm in run.run.servers} == {work}
    loads = [load.load for point in run.points for load in point.measurements.values()]
    assert {(load.work, load.protocol) for load in loads} == {(work, protocol)}


def test_a_run_of_the_second_format_names_an_own_load_of_a_server():
    run = read_run(DATA / "old-run-closed")
    assert run.run.format == "loadcurve-run/2"
    assert run.own_load("again") == {"calls": 10}
    assert [point.load.load.calls for point in run.points if point.server == "again"] == [10, 10]


@pytest.mark.parametrize("file", [RUN_FILE, TRIALS_FILE])
def test_an_old_record_of_an_unknown_load_model_is_refused_and_not_taken_for_a_web_load(tmp_path, file):
    folder = tmp_path / "run"
    shutil.copytree(DATA / "old-run-sessions", folder)
    text = (folder / file).read_text()
    (folder / file).write_text(re.sub('"model": ?"sessions"', '"model":"messages"', text))
    with pytest.raises(BadInput, match=r"work"):
        read_run(folder)


@pytest.mark.parametrize("name", OLD_RUNS)
def test_an_old_result_of_a_load_is_imported_as_todays(name, tmp_path):
    line = (DATA / f"old-run-{name}" / TRIALS_FILE).read_text().splitlines()[0]
    record = json.loads(line)
    printed_then = record.get("measurements", record)["load"]
    assert printed_then["format"] == "loadcurve-load/1"
    (tmp_path / "load.json").write_text(json.dumps(printed_then))
    measured = read_json(Source(tmp_path / "load.json")).measured
    assert measured is not None
    point = read_run(DATA / f"old-run-{name}").points[0]
    assert measured == point.load.model_copy(update={"window_start_monotonic_s": None})


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
