"""Figures for tools that follow them over time, read as their readers read them."""

import json
from pathlib import Path

import jsonschema
import pytest
from junitparser import Error, JUnitXml, Skipped
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from loadcurve.analysis.history import entry_of
from loadcurve.report.formats.trackers import history_samples, openmetrics
from loadcurve.report.formats.write import write_formats
from loadcurve.result.history import HistoryMachine
from support import synthetic_run as synthetic

BENCHER_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema",
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {
                        key: {"type": "number"} for key in ("value", "lower_value", "upper_value")
                    },
                    "required": ["value"],
                }
            },
        }
    },
}
"""bencher.dev/bmf.json."""
TRUTH = synthetic.SERVERS["nginx"].throughput_rps(50)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("trackers")
    synthetic.write_run(folder / "run")
    forms = ["github-benchmark", "bencher", "openmetrics"]
    return {path.name: path.read_text() for path in write_formats(folder / "run", forms, None, folder).paths}


def test_benchers_schema_takes_each_figure_with_its_interval(files: dict[str, str]):
    read = json.loads(files["report-bencher.json"])
    jsonschema.validate(read, BENCHER_SCHEMA)
    figure = read["nginx at connections = 50"]["throughput-rps"]
    assert figure["value"] == pytest.approx(TRUTH)
    assert figure["upper_value"] == pytest.approx(TRUTH * synthetic.REACH)
    # Names of benchmarks may have 1,024 characters, and those of measures 64.
    assert max(map(len, read)) <= 1024
    assert max(len(measure) for measures in read.values() for measure in measures) <= 64


def test_github_action_benchmark_has_a_file_for_either_better_side(files: dict[str, str]):
    bigger, smaller = (
        json.loads(files[f"report-github-benchmark-{side}.json"]) for side in ("bigger", "smaller")
    )
    # The fields of its BenchmarkResult: these, and no others.
    for one in (*bigger, *smaller):
        assert {"name", "unit", "value"} <= set(one) <= {"name", "unit", "value", "range", "extra"}
        assert isinstance(one["value"], float)
        assert isinstance(one["range"], str)
    names = [one["name"] for one in (*bigger, *smaller)]
    assert len(names) == len(set(names))
    (figure,) = [one for one in bigger if one["name"] == "nginx: throughput at connections = 50"]
    assert (figure["value"], figure["unit"]) == (pytest.approx(TRUTH), "requests/s")
    assert {one["name"].partition(": ")[2].split()[0] for one in bigger} == {"throughput"}


def test_prometheus_reads_a_gauge_for_each_measure_and_each_end(files: dict[str, str]):
    families = {one.name: one for one in text_string_to_metric_families(files["report-openmetrics.txt"])}
    labels = {"server": "nginx", "connections": "50", "study": synthetic.run_record().study["title"]}
    for name, value in (("", TRUTH), ("_high", TRUTH * synthetic.REACH)):
        family = families[f"loadcurve_throughput_rps{name}"]
        assert family.type == "gauge"
        (sample,) = [one for one in family.samples if one.labels == labels]
        assert sample.value == pytest.approx(value)


def test_prometheus_reads_a_history_at_the_moments_of_its_runs(tmp_path: Path):
    entry = entry_of(synthetic.write_run(tmp_path / "run"), None, tmp_path)
    later = entry.model_copy(update={"started_at": "2026-03-15T00:00:00Z"})
    text = openmetrics(history_samples([entry, later])).decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}
    samples = [
        one for one in families["loadcurve_throughput_rps"].samples
        if one.labels["server"] == "nginx" and one.labels["connections"] == "50"
    ]  # fmt: skip
    assert [float(one.timestamp) for one in samples] == [1773480413.0, 1773532800.0]


@pytest.mark.parametrize(
    "other",
    [
        {"title": "Another study", "conditions": "b" * 64},
        {"conditions": "b" * 64},
        {"machine": HistoryMachine(fingerprint="b" * 64, name="a machine", kernel=None)},
    ],
)
def test_runs_that_a_history_does_not_join_are_in_series_of_their_own(tmp_path: Path, other):
    entry = entry_of(synthetic.write_run(tmp_path / "run"), None, tmp_path)
    machine = HistoryMachine(fingerprint="a" * 64, name="a machine", kernel=None)
    entry = entry.model_copy(
        update={"figures": entry.figures[:1], "machine": machine, "conditions": "a" * 64}
    )
    later = entry.model_copy(update={"started_at": "2026-03-15T00:00:00Z"})
    text = openmetrics(history_samples([entry, later, later.model_copy(update=other)])).decode()
    [family, *_] = text_string_to_metric_families(text)
    series = [json.dumps(one.labels, sort_keys=True) for one in family.samples]
    assert [series.count(one) for one in dict.fromkeys(series)] == [2, 1]
    assert {one.labels["study"] for one in family.samples} == {entry.title, other.get("title", entry.title)}


def test_a_name_that_no_label_may_have_is_escaped(tmp_path: Path):
    entry = entry_of(synthetic.write_run(tmp_path / "run"), None, tmp_path)
    hostile = 'a"b\\c\nd'
    figure = entry.figures[0].model_copy(update={"arm": hostile, "point": {"server": 1.0, "2x-y": 2.0}})
    text = openmetrics(history_samples([entry.model_copy(update={"figures": [figure]})])).decode()
    (first, *_) = text_string_to_metric_families(text)
    labels = first.samples[0].labels
    assert labels["server"] == hostile
    assert (labels["point_server"], labels["point_2x_y"]) == ("1", "2")


def test_junit_has_a_test_for_each_measure_of_each_server_and_point(tmp_path: Path):
    record = synthetic.run_record()
    dead = [one for one in synthetic.trial_records(record) if one.server != "tiny"]
    folder = synthetic.write_run(tmp_path / "run", record, dead)
    (path,) = write_formats(folder, ["junit"], None, None).paths
    (suite,) = JUnitXml.fromfile(str(path))
    cases = list(suite)
    measured = [one for one in cases if one.classname == "nginx"]
    # What a history keeps: throughput, CPU time, p50, p90, p99 and memory.
    assert len(measured) == 6 * len(synthetic.CONNECTIONS)
    assert not [one for one in measured if one.result and not isinstance(one.result[0], Skipped)]
    (throughput,) = [one for one in measured if one.name == "throughput at connections = 50"]
    assert throughput.system_out.endswith("requests/s; valid")
    without = [one for one in cases if one.classname == "tiny"]
    assert len(without) == 6 * len(synthetic.CONNECTIONS)
    assert all(isinstance(one.result[0], Error) for one in without)
    assert suite.errors == len(without)
    assert suite.tests == len(cases)
