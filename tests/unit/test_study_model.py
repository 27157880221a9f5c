"""What a study that was read can say: its points, its loads, its short form, its duration."""

import itertools
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.loads.http import ClosedLoad, OpenLoad, SessionsLoad
from loadcurve.loads.rates import RateStretch
from loadcurve.loads.table import attributes
from loadcurve.result.measure_names import RankedMeasureName
from loadcurve.result.measures import MEASURES
from loadcurve.study.estimate import TRIAL_START_S, estimated_duration_s
from loadcurve.study.model import Study

CLOSED = {"model": "closed", "requests": ["/a"], "duration": "2s", "warmup": "1s"}
OPEN = {"model": "open", "requests": ["/a"], "duration": "2s"}
SESSIONS = {"model": "sessions", "requests": ["/a"], "warmup": "1s", "connection_rate": 50}


def study(load=CLOSED, sweep=None, **tables):
    return Study.model_validate(
        {
            "title": "A title",
            "content": {"a": "1KiB"},
            "load": load,
            "sweep": sweep or {"connections": [1, 10]},
            "servers": {"nginx": {}},
            **tables,
        }
    )


def test_one_swept_key_gives_a_point_for_each_value():
    assert study().points() == [{"connections": 1}, {"connections": 10}]


def test_several_swept_keys_give_their_product_with_the_last_changing_fastest():
    points = study(OPEN, {"rate": [100, 200.5], "connections": [5, 10]}).points()
    assert points == [
        {"rate": 100, "connections": 5},
        {"rate": 100, "connections": 10},
        {"rate": 200.5, "connections": 5},
        {"rate": 200.5, "connections": 10},
    ]


def test_the_load_at_a_point_has_the_keys_of_the_point_set():
    load = study().arms["nginx"].load_at({"connections": 10})
    assert isinstance(load, ClosedLoad)
    assert (load.connections, load.duration_s, load.warmup_s) == (10, 2.0, 1.0)


def test_an_open_load_takes_its_rate_from_the_point():
    load = study({**OPEN, "connections": 4}, {"rate": [100, 200.5]}).arms["nginx"].load_at({"rate": 200.5})
    assert isinstance(load, OpenLoad)
    assert (load.rate_rps, load.connections, load.arrivals) == (200.5, 4, "constant")


def test_a_point_read_back_as_floats_gives_whole_connections():
    load = study().arms["nginx"].load_at({"connections": 10.0})
    assert load.connections == 10
    assert isinstance(load.connections, int)


def test_a_number_of_requests_can_be_swept():
    counted = study({"model": "closed", "requests": ["/a"], "connections": 1}, {"requests_total": [10, 100]})
    load = counted.arms["nginx"].load_at({"requests_total": 100})
    assert isinstance(load, ClosedLoad)
    assert (load.requests_total, load.duration_s) == (100, None)


@pytest.mark.parametrize(
    ("load", "key"),
    [
        (CLOSED, "pipeline"),
        (CLOSED, "calls"),
        (OPEN | {"connections": 1}, "rate"),
        (OPEN | {"rate": 1}, "pipeline"),
        (SESSIONS | {"num_connections": 5, "calls": 8}, "burst"),
        (SESSIONS | {"num_connections": 5}, "calls"),
        (SESSIONS, "num_connections"),
        (SESSIONS | {"num_connections": 5}, "connections"),
    ],
)
def test_every_number_of_a_load_can_be_swept(load, key):
    sweep = (
        {key: [4, 8]}
        if "connections" in load or load["model"] == "sessions"
        else {
            key: [4, 8],
            "connections": [8],
        }
    )
    swept = study(load, sweep)
    field = attributes(type(swept.load))[key]
    assert [getattr(swept.arms["nginx"].load_at(point), field) for point in swept.points()] == [4, 8]


@pytest.mark.parametrize(("key", "attribute"), [("think", "think_s"), ("timeout", "timeout_s")])
def test_a_duration_is_swept_in_seconds(key, attribute):
    swept = study({**CLOSED, "connections": 1}, {key: ["1ms", "2s", 3]})
    assert swept.points() == [{key: 0.001}, {key: 2.0}, {key: 3}]
    assert [getattr(swept.arms["nginx"].load_at(point), attribute) for point in swept.points()] == [
        0.001,
        2.0,
        3.0,
    ]


def test_no_thinking_at_all_can_be_one_value_of_a_sweep():
    assert study({**CLOSED, "connections": 1}, {"think": [0, "1ms"]}).points() == [
        {"think": 0},
        {"think": 0.001},
    ]


def test_a_changing_rate_reaches_every_point():
    changing = study(OPEN | {"rate": "0-100:10s, 100:5s"})
    load = changing.arms["nginx"].load_at({"connections": 10})
    assert isinstance(load, OpenLoad)
    assert load.rate_rps == [
        RateStretch(length_s=10, from_rps=0, to_rps=100),
        RateStretch(length_s=5, from_rps=100, to_rps=100),
    ]


@pytest.mark.parametrize(
    ("more", "at_once"),
    [
        ({"num_connections": 500}, 500),
        ({"num_connections": 20_000}, 10_000),
        ({"duration": "1s"}, 10_000),
        ({"num_connections": 500, "connections": 7}, 7),
        ({"num_connections": 5, "connections": 20_000}, 20_000),
    ],
)
def test_all_sessions_may_be_open_at_once_up_to_ten_thousand_unless_the_study_says_otherwise(more, at_once):
    load = study(SESSIONS | more, {"calls": [1]}).arms["nginx"].load_at({"calls": 1})
    assert isinstance(load, SessionsLoad)
    assert load.connections_at_once == at_once


def test_a_server_uses_the_entry_of_its_name_unless_it_says_otherwise():
    servers = study(
        servers={"nginx": {}, "nginx-4": {"use": "nginx", "workers": 4, "binary": "nginx-new"}}
    ).servers
    assert (servers["nginx"].use, servers["nginx"].settings) == ("nginx", {})
    assert (servers["nginx-4"].use, servers["nginx-4"].binary) == ("nginx", Path("nginx-new").absolute())
    assert servers["nginx-4"].settings == {"workers": 4}


def test_a_study_writes_itself_with_every_default_and_with_units_in_the_names():
    written = study().model_dump(mode="json")
    assert written["load"]["warmup_s"] == 1.0
    assert written["load"]["timeout_s"] == 5.0
    assert written["trials"] == {
        "count": 5,
        "every_s": None,
        "restart": "sweep",
        "warmup": None,
        "until_share": None,
        "at_most": 20,
        "repeat_disturbed": 3,
        "measure": "throughput",
        "until_drop_share": None,
        "between_points": "pause",
    }
    assert written["host"] == {
        "server_machine": "here",
        "load_machines": None,
        "load_nodes": None,
        "server_cpus": None,
        "load_cpus": None,
        "probe_interval_s": 0.1,
        "cpus_per_vcpu": 1.0,
        "burst": False,
    }
    assert written["content"]["a"] == 1024


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=30, unique=True),
    st.integers(1, 50),
    st.integers(1, 5000),
    st.integers(0, 5000),
)
def test_the_quick_form_is_short_and_keeps_the_ends_of_the_sweep(connections, trials, duration_ms, warmup_ms):
    load = CLOSED | {"duration": f"{duration_ms}ms", "warmup": f"{warmup_ms}ms"}
    full = study(load, {"connections": connections}, trials={"count": trials})
    quick = full.quick()
    kept = quick.sweep["connections"]
    assert quick.trials.count == min(trials, 3)
    assert quick.load.duration_s == min(duration_ms / 1000, 0.4)
    assert quick.load.warmup_s == min(warmup_ms / 1000, 0.2)
    assert len(kept) == min(len(connections), 8)
    assert kept == [value for value in connections if value in kept]
    assert (kept[0], kept[-1]) == (connections[0], connections[-1])


def test_the_quick_form_goes_to_the_end_of_the_sweep_because_short_loads_vary():
    falling = study(trials={"until_drop": "10 %"})
    assert falling.trials.until_drop_share == 0.1
    assert falling.quick().trials.until_drop_share is None


def test_the_quick_form_chooses_evenly():
    quick = study(sweep={"connections": list(range(1, 16))}).quick()
    kept = quick.sweep["connections"]
    assert kept == [1, 3, 5, 7, 9, 11, 13, 15]
    assert {right - left for left, right in itertools.pairwise(kept)} == {2}


def test_the_quick_form_of_several_swept_keys_has_at_most_eight_points():
    quick = study(OPEN, {"rate": [1, 2, 3], "connections": [4, 5, 6], "threads": [1, 2, 3]}).quick()
    assert len(quick.points()) == 8
    assert quick.sweep == {"rate": [1, 3], "connections": [4, 6], "threads": [1, 3]}


def test_the_quick_form_keeps_a_number_of_requests():
    quick = study({"model": "closed", "requests": ["/a"], "requests_total": 1000}).quick()
    load = quick.arms["nginx"].load_at({"connections": 1})
    assert isinstance(load, ClosedLoad)
    assert (load.requests_total, load.duration_s) == (1000, None)


def test_the_quick_form_shortens_a_swept_duration():
    load = {key: value for key, value in CLOSED.items() if key != "duration"} | {"connections": 1}
    assert study(load, {"duration": ["100ms", "1s", "10s"]}).quick().sweep == {"duration": [0.1, 0.4]}


def test_the_estimate_adds_up_trials_points_and_starts():
    assert estimated_duration_s(study(), {"nginx": 8}) == 8 * (2 * (1.0 + 2.0) + TRIAL_START_S)


def test_a_fresh_server_for_every_point_costs_a_start_for_every_point():
    restarted = study(trials={"count": 4, "restart": "point"})
    assert estimated_duration_s(restarted, {"nginx": 4}) == 4 * 2 * (1.0 + 2.0 + TRIAL_START_S)


def test_a_warm_up_after_each_start_takes_its_time():
    warmed = study(trials={"warmup": {"rate": 15, "duration": "10s"}})
    assert estimated_duration_s(warmed, {"nginx": 8}) == 8 * (2 * (1.0 + 2.0) + TRIAL_START_S + 10)
    assert warmed.quick().trials.warmup == warmed.trials.warmup.model_copy(update={"duration_s": 0.4})


@pytest.mark.parametrize(
    ("load", "sweep"),
    [
        ({"model": "closed", "requests": ["/a"], "requests_total": 5}, {"connections": [1]}),
        ({"model": "closed", "requests": ["/a"], "connections": 1}, {"requests_total": [5]}),
        (SESSIONS | {"connection_rate": "5-10:9s", "num_connections": 9}, {"calls": [1]}),
    ],
)
def test_the_duration_of_a_number_that_comes_at_no_constant_rate_is_unknown(load, sweep):
    assert estimated_duration_s(study(load, sweep), {"nginx": 1}) is None


def test_the_estimate_of_a_number_of_sessions_comes_from_their_rate():
    # A warm-up of 1 s and 100 connections at 50 per second, then 200 of them; 1 s for the start.
    sessions = study(SESSIONS, {"num_connections": [100, 200]})
    assert estimated_duration_s(sessions, {"nginx": 1}) == (1 + 2) + (1 + 4) + TRIAL_START_S


def test_the_estimate_of_a_number_of_requests_in_an_open_loop_comes_from_their_rate():
    load = {"model": "open", "requests": ["/a"], "rate": 100, "requests_total": 300, "warmup": "1s"}
    assert estimated_duration_s(study(load, {"connections": [1]}), {"nginx": 1}) == 1 + 3 + TRIAL_START_S


def test_the_estimate_follows_a_swept_duration():
    load = {"model": "closed", "requests": ["/a"], "connections": 1, "warmup": "1s"}
    swept = study(load, {"duration": ["2s", "4s"]})
    assert estimated_duration_s(swept, {"nginx": 1}) == (1 + 2) + (1 + 4) + TRIAL_START_S


def test_trials_until_an_interval_is_narrow_begin_with_enough_of_them():
    trials = study(trials={"until": "3 %"}).trials
    assert (trials.until_share, trials.count, trials.at_most, trials.measure) == (0.03, 8, 20, "throughput")
    assert trials.most == 20


def test_a_fixed_number_of_trials_is_the_most_there_are():
    assert study(trials={"count": 4}).trials.most == 4


def test_the_quick_form_does_not_wait_for_narrow_intervals():
    trials = study(trials={"until": "3 %", "at_most": 30, "measure": "p99"}).quick().trials
    assert (trials.count, trials.most) == (3, 3)


def test_a_question_can_be_answered_by_every_measure_of_which_one_value_is_the_better():
    assert get_args(RankedMeasureName) == tuple(
        one.name for one in MEASURES.values() if one.better is not None
    )
