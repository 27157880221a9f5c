"""Trials whose points follow each other without a pause; servers and loads follow a script."""

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from loadcurve.generate.engine import ENGINE
from loadcurve.loads.http import ClosedLoad, OpenLoad
from loadcurve.loads.plan import HttpPlan
from loadcurve.server.failure import ServerFailure
from support.limit_server import limit_server
from support.read_study import problems_of
from support.scripted_run import ScriptedRun, answered
from support.tiny_study import study_text

LIMIT = "[servers.limit]"
DIED = ServerFailure("died", "limit ended with status 3 during the trial.", "last words")


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


SESSIONS = """\
title = "Sessions"
[content]
"1k.txt" = "1KiB"
[load]
model = "sessions"
requests = ["/1k.txt"]
warmup = 0
duration = "1s"
[sweep]
connection_rate = [1, 2]
[trials]
between_points = "continue"
[servers.limit]
"""
COUNTED = """\
title = "A number of requests"
[content]
"1k.txt" = "1KiB"
[load]
model = "closed"
requests = ["/1k.txt"]
warmup = 0
requests_total = 100
[sweep]
connections = [1, 2]
[trials]
between_points = "continue"
[servers.limit]
"""


NO_CONNECTION = "not for sessions: they close their connections, so that there is none to continue with"
NO_END = 'requires a duration, such as "30s", at whose end the next point begins'


@pytest.mark.parametrize(("study", "problem"), [(SESSIONS, NO_CONNECTION), (COUNTED, NO_END)])
def test_what_has_nothing_to_continue_with_is_refused_at_the_key(tmp_path, study, problem):
    path = tmp_path / "study.toml"
    path.write_text(study)
    assert problems_of(path) == [f":12: trials.between_points: {problem}"]


def continued(*lines, **changes):
    """A study of one trial whose points follow each other; ``lines`` are keys of its trials."""
    more = "\n".join(['between_points = "continue"', *lines])
    return study_text(LIMIT, **{"trials": 1, "more_of_trials": more, **changes})


def measured(scripted):
    return [one.point["connections"] for one in scripted.run.points]


def test_one_load_goes_through_all_points_of_a_trial_and_each_has_its_record(scripted):
    assert scripted.measure(continued(trials=2, connections="[1, 2, 5]")) == 6
    ends = [event for event in scripted.script.events if event == "end load limit"]
    assert (len(ends), measured(scripted)) == (2, [1, 2, 5] * 2)
    assert scripted.run.complete


def test_a_point_is_recorded_while_the_next_one_is_measured(scripted):
    recorded = []

    def looks(plan, observe):
        recorded.append(len(scripted.run.points) if scripted.folder.exists() else 0)
        return answered(plan)

    scripted.script.loads["limit"] = looks
    scripted.measure(continued(connections="[1, 2, 5, 9]"))
    # The record of the first point is there when the third begins: nothing waits for it.
    assert recorded == [0, 0, 1, 2]


def test_the_warm_up_after_a_start_is_the_first_level_of_the_load(scripted):
    scripted.measure(
        continued('warmup = { rate = 15, duration = "10s" }', load='duration = "1s"\npipeline = 3')
    )
    warmup, *points = [plan for _, plan in scripted.script.plans]
    assert (warmup.load.model, warmup.load.rate_rps, warmup.load.duration_s) == ("open", 15, 10)
    assert (warmup.load.pipeline, warmup.load.timeout_s) == (3, points[0].load.timeout_s)
    assert [plan.connections for plan in points] == measured(scripted) == [1, 2]
    assert scripted.script.events.count("end load limit") == 1


def test_a_warm_up_without_a_right_answer_ends_the_load_and_names_no_point(scripted):
    def answers_wrong(plan, _):
        result = answered(plan)
        return result.model_copy(update={"requests": result.requests.model_copy(update={"ok": 0})})

    scripted.script.loads["limit"] = answers_wrong
    scripted.measure(continued('warmup = { rate = 15, duration = "1s" }'))
    [failure] = scripted.run.failures
    assert (failure.point, failure.reason.code, measured(scripted)) == (None, "wrong_answer", [])
    assert scripted.script.events[-2:] == ["end load limit", "stop limit"]


def test_a_server_that_dies_costs_the_point_under_way_and_those_behind_it(scripted):
    def dies_at_five(plan, observe):
        if plan.connections == 5:
            scripted.script.dead["limit"] = DIED
            observe(None)
            pytest.fail("a load on a dead server continues")
        return answered(plan)

    scripted.script.loads["limit"] = dies_at_five
    scripted.measure(continued(connections="[1, 2, 5, 9]"))
    [failure] = scripted.run.failures
    assert (measured(scripted), failure.point, failure.reason.code) == ([1, 2], {"connections": 5}, "died")


def test_the_load_ends_where_throughput_has_fallen_and_what_had_begun_behind_it_is_no_point(scripted):
    rates = {1: 1000.0, 2: 1500.0, 5: 1000.0, 9: 900.0, 20: 800.0}
    scripted.script.loads["limit"] = lambda plan, _: answered(plan, rates[plan.connections])
    scripted.measure(continued('until_drop = "30 %"', connections="[1, 2, 5, 9, 20]"))
    assert measured(scripted) == [1, 2, 5]
    assert [plan.connections for _, plan in scripted.script.plans] == [1, 2, 5, 9]
    assert scripted.script.events[-2:] == ["end load limit", "stop limit"]


def test_times_of_points_are_those_of_their_levels(scripted):
    scripted.measure(continued(connections="[1, 2, 5]"))
    begins = [one.started_at for one in scripted.run.points]
    assert begins == sorted(begins)


CLOSED = ClosedLoad.model_validate(
    {
        "model": "closed",
        "requests": ["/1k.txt"],
        "connections": 2,
        "duration": "300ms",
        "warmup": 0,
        "timeout": "5s",
    }
)


@pytest.fixture
def content(tmp_path):
    """A folder with the file that is asked for."""
    (tmp_path / "1k.txt").write_bytes(bytes(1024))
    return tmp_path


def plans_for(address, *loads):
    return [HttpPlan(load=load, address=address, authority=address, threads=1) for load in loads]


def test_the_engine_tells_of_each_level_while_it_is_under_way_and_keeps_its_connections(content):
    wider = CLOSED.model_copy(update={"connections": 5})
    looks = []
    with limit_server(content) as address:
        plans = plans_for(address, CLOSED, wider, CLOSED)
        results = [*ENGINE.run_levels(plans, lambda level, progress: looks.append((level, progress)))]
    assert [result.connections.opened for result in results] == [2, 3, 0]
    assert [result.load.connections for result in results] == [2, 5, 2]
    begins = [result.window_start_monotonic_s for result in results]
    assert [after - before for before, after in pairwise(begins)] == pytest.approx([0.3, 0.3])
    assert {level for level, _ in looks} == {0, 1, 2}
    for level, progress in looks:
        if level < 2 and progress.elapsed_s is not None:
            assert 0 <= progress.elapsed_s < 0.3
            assert progress.answered <= results[level].requests.answered + results[level].requests.due


def test_levels_that_were_over_are_reported_when_one_who_watches_raises(content):
    def raises(level, progress):
        # By then the last requests of the first level have long ended.
        if level == 1 and progress.answered > 100:
            raise DIED

    endless = CLOSED.model_copy(update={"duration_s": 1000.0})
    with limit_server(content) as address:
        levels = ENGINE.run_levels(plans_for(address, CLOSED, endless), raises)
        assert next(levels).requests.answered > 0
        with pytest.raises(ServerFailure):
            next(levels)


def test_the_load_ends_with_its_iterator(content):
    endless = CLOSED.model_copy(update={"duration_s": 1000.0})
    with limit_server(content) as address:
        levels = ENGINE.run_levels(plans_for(address, CLOSED, endless), lambda *_: None)
        next(levels)
        began_s = time.monotonic()
        levels.close()
    assert time.monotonic() - began_s < 100


def test_an_open_loop_goes_on_at_another_rate_with_its_schedule(content):
    at_100, at_200 = (
        OpenLoad.model_validate(
            {**CLOSED.model_dump(include={"warmup_s", "timeout_s"}), "model": "open", "requests": ["/1k.txt"]}
            | {"connections": 2, "rate_rps": rate, "duration_s": 0.5},
            by_alias=False,
            by_name=True,
        )
        for rate in (100.0, 200.0)
    )
    with limit_server(content) as address:
        first, second = ENGINE.run_levels(plans_for(address, at_100, at_200), lambda *_: None)
    assert (first.requests.due, second.requests.due) == (50, 100)
    assert first.rate_rps.asked == pytest.approx(100)


def test_levels_that_do_not_go_together_are_refused():
    other = replace(plans_for("127.0.0.1:9", CLOSED)[0], seed=3)
    with pytest.raises(Exception, match="differ only in"):
        next(ENGINE.run_levels([*plans_for("127.0.0.1:9", CLOSED), other], lambda *_: None))
