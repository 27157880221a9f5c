"""Which point of a trial comes next."""

from pathlib import Path

import pytest

from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.runs.capacity import CapacitySearch, SearchOptions, search_document
from loadcurve.runs.points import SweptPoints
from loadcurve.stats.slo import parse_objective
from loadcurve.study.model import Study
from loadcurve.toml.document import TomlDocument
from support.synthetic_run import point_record
from support.tiny_study import study_text

TRIAL = PlannedTrial(trial=0, block=0, server="limit")
POINTS = [{"connections": 1}, {"connections": 2}]


def failed_at(connections: int, code: str) -> FailureRecord:
    return FailureRecord.model_validate(
        {"kind": "failure", **TRIAL.model_dump(), "point": {"connections": connections}, "log_tail": ""}
        | {"started_at": "2026-03-14T09:27:00Z", "reason": {"code": code, "text": code}}
    )


def measured_at(connections: int) -> PointRecord:
    return point_record("nginx", 10).model_copy(update={"point": {"connections": connections}})


def search(folder: Path, limits: str) -> CapacitySearch:
    file = folder / "tiny.toml"
    file.write_text(study_text(connections="[1, 1000]"))
    options = SearchOptions(parse_objective(limits))
    return CapacitySearch(search_document(TomlDocument.read(file), options).to_model(Study), options)


def test_a_load_on_databases_is_searched_along_whole_numbers_of_threads(tmp_path: Path):
    file = tmp_path / "tiny.toml"
    load = '[load]\nmodel = "ycsb"\nworkload = "a"\noperations = 100\n'
    file.write_text(f'title = "Tiny"\n{load}[sweep]\nthreads = [1, 4]\n[servers.postgresql]\n')
    options = SearchOptions(parse_objective("p50 < 10s"))
    searching = CapacitySearch(search_document(TomlDocument.read(file), options).to_model(Study), options)
    assert (searching.record.key, searching.record.low, searching.record.high) == ("threads", 1, 4)
    tried = [searching.next_point(TRIAL, None)]
    for threads in (1, 2):
        last = measured_at(1).model_copy(update={"point": {"threads": threads}})
        tried.append(searching.next_point(TRIAL, last))
    assert tried == [{"threads": 1}, {"threads": 2}, {"threads": 4}]


def search_of_rates(folder: Path, duration: str) -> CapacitySearch:
    file = folder / "tiny.toml"
    text = study_text(load=f'connections = 9\nduration = "{duration}"').replace('"closed"', '"open"')
    file.write_text(text.replace("connections = [1, 2]", "rate = [20, 3000]"))
    options = SearchOptions(parse_objective("p50 < 1ms, p99 < 10ms"))
    return CapacitySearch(search_document(TomlDocument.read(file), options).to_model(Study), options)


def test_a_search_for_a_rate_begins_where_a_load_has_enough_answers_for_the_limits(tmp_path: Path):
    # 0.99 ** 368 < 0.025: a p99 requires 368 answers; random arrivals vary by their square root.
    searching = search_of_rates(tmp_path, "2s")
    first = searching.next_point(TRIAL, None)
    assert first is not None
    assert 368 / 2 < first["rate"] <= (368 + 3 * 368**0.5) / 2 + 1
    assert f"begins at {first['rate']:g} per second" in (searching.beginning_in_words or "")


@pytest.mark.parametrize("duration", ["60s", "100ms"])
def test_a_search_begins_where_it_was_asked_to_if_that_is_enough_or_nothing_is(tmp_path: Path, duration: str):
    searching = search_of_rates(tmp_path, duration)
    assert (searching.next_point(TRIAL, None), searching.beginning_in_words) == ({"rate": 20}, None)


@pytest.mark.parametrize(
    "more",
    [
        "[quick]\nsweep = { connections = [1, 16] }",
        "[quick]\nsweep = { connections = [16] }",
        '[[require]]\nmeasure = "p99"\nbelow = "10ms"\nat = { connections = 16 }',
    ],
    ids=["several points", "one point", "a requirement"],
)
def test_a_search_has_the_ends_of_the_sweep_though_its_study_names_points_between_them(
    tmp_path: Path, more: str
):
    file = tmp_path / "tiny.toml"
    file.write_text(f"{study_text(connections='[1, 16, 256]')}\n{more}\n")
    options = SearchOptions(parse_objective("p99 < 10ms"))
    study = search_document(TomlDocument.read(file), options).to_model(Study)
    for one in (study, study.quick()):
        found = CapacitySearch(one, options).record
        assert (found.key, found.low, found.high) == ("connections", 1, 256)


def test_a_sweep_goes_on_behind_each_point_measured_or_failed():
    sweep = SweptPoints(POINTS)
    assert sweep.next_point(TRIAL, None) == POINTS[0]
    assert sweep.next_point(TRIAL, measured_at(1)) == POINTS[1]
    assert sweep.next_point(TRIAL, failed_at(1, "died")) == POINTS[1]
    assert sweep.next_point(TRIAL, measured_at(2)) is None


def test_a_search_goes_up_while_the_limits_hold_and_down_where_the_server_died(tmp_path: Path):
    searching = search(tmp_path, "p50 < 10s")
    assert searching.next_point(TRIAL, None) == {"connections": 1}
    assert searching.next_point(TRIAL, measured_at(1)) == {"connections": 2}
    assert searching.next_point(TRIAL, measured_at(2)) == {"connections": 4}
    assert searching.next_point(TRIAL, failed_at(4, "out_of_memory")) == {"connections": 3}
    assert searching.next_point(TRIAL, failed_at(3, "died")) is None


def test_a_failure_that_is_not_of_the_load_tells_a_search_nothing(tmp_path: Path):
    searching = search(tmp_path, "p50 < 10s")
    searching.next_point(TRIAL, None)
    assert searching.next_point(TRIAL, failed_at(1, "port_taken")) == {"connections": 2}


def test_servers_are_searched_apart_from_each_other(tmp_path: Path):
    searching = search(tmp_path, "p50 < 10s")
    searching.next_point(TRIAL, None)
    searching.next_point(TRIAL, measured_at(1))
    other = PlannedTrial(trial=1, block=0, server="nginx")
    again = PlannedTrial(trial=2, block=1, server="limit")
    assert searching.next_point(other, None) == {"connections": 1}
    # What limit's first trial found, 1 connection and more, is where its second one begins.
    assert searching.next_point(again, None) == {"connections": 1}
