"""Run folders of before there was one type of load are read and reported as they were."""

import json
from pathlib import Path

import pytest

from loadcurve.loads.kinds import DATABASE, WEB
from loadcurve.report.load import load_summary
from loadcurve.result.folder import read_run

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(("name", "kind"), [("sessions", WEB), ("ycsb", DATABASE)])
def test_the_records_of_an_old_run_are_read(name, kind):
    run = read_run(DATA / f"old-run-{name}")
    assert run.kind is kind
    assert len(run.points) == 4
    for record in run.points:
        assert record.load.load.kind is kind
        assert load_summary(record.load)


def test_the_loads_of_an_old_run_are_told_as_they_were_run():
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
