"""A curve that rises until throughput falls markedly: where a trial ends, and what is then complete."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.ending import ending
from loadcurve.report.ending import trials_in_words
from loadcurve.report.section import Report
from loadcurve.report.sections import everything, summary_words
from loadcurve.result.folder import RunFolder
from loadcurve.result.records import PlannedTrial
from loadcurve.runs.points import RepeatedPoints, SweptPoints, UntilDrop
from loadcurve.runs.resume import interrupted_run
from loadcurve.watch.feed import Feed
from loadcurve.watch.status import status
from support import synthetic_run as synthetic
from support.disturbed import SERVER_CPUS, record
from support.scripted_run import ScriptedRun, answered
from support.tiny_study import study_text

CPUS = {"nginx": SERVER_CPUS}
TRIAL = PlannedTrial(trial=0, block=0, server="nginx")


QUIET = record({"connections": 1})
STOLEN = record({"connections": 1}, steal=0.1)


def at(connections, rate_rps, like=QUIET, attempt=1):
    """A point of the trial with this throughput, on a quiet machine or another one."""
    rates = like.load.rate_rps.model_copy(update={"answered": float(rate_rps)})
    one = like.model_copy(update={"point": {"connections": connections}, "attempt": attempt})
    return synthetic.with_load(one, rate_rps=rates)


def gone_through(rates, share, *, most=0, disturbed=None):
    """The places of the sweep that a trial with these throughputs measures, one after the other.

    The first attempts at places that are ``disturbed``, as many as it says, answer a third less.
    """
    sweep = [{"connections": place + 1} for place in range(len(rates))]
    points = RepeatedPoints(UntilDrop(SweptPoints(sweep), share), most, CPUS, at_once=True)
    last, visited = None, []
    while (point := points.next_point(TRIAL, last)) is not None:
        place = sweep.index(point)
        visited.append(place)
        attempt = visited.count(place)
        if attempt <= (disturbed or {}).get(place, 0):
            last = at(place + 1, rates[place] * 2 / 3, STOLEN, attempt)
        else:
            last = at(place + 1, rates[place], attempt=attempt)
    return visited


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6), st.integers(1, 99))
def test_a_trial_ends_at_the_first_point_that_is_so_far_below_the_greatest_before_it(rates, per_cent):
    def hundredths_below(place):
        """How far a rate is below the limit, in hundredths, as whole numbers have it."""
        greatest = max(rates[:place], default=0)
        return (100 - per_cent) * greatest - 100 * rates[place] if greatest else -1

    below = [hundredths_below(place) for place in range(len(rates))]
    visited = gone_through(rates, per_cent / 100)
    end = visited[-1]
    assert visited == list(range(end + 1))
    # The binary fraction of a share may put a rate that is exactly at the limit on either side of it.
    assert below[end] >= 0 or end == len(rates) - 1
    assert not any(one > 0 for one in below[:end])


def test_every_trial_begins_anew():
    points = UntilDrop(SweptPoints([{"connections": 1}, {"connections": 2}]), 0.1)
    for rate_rps in (1000, 100):
        points.next_point(TRIAL, None)
        assert points.next_point(TRIAL, at(1, rate_rps)) == {"connections": 2}


def test_a_disturbed_machine_ends_no_curve_and_its_point_comes_again_at_once():
    assert STOLEN.load.verdict.status == "suspect"
    rates = [100.0, 100.0, 100.0, 50.0, 100.0]
    assert gone_through(rates, 0.2, most=2, disturbed={1: 1}) == [0, 1, 1, 2, 3]
    # Disturbed until the last attempt, it says nothing of the server.
    assert gone_through(rates, 0.2, most=2, disturbed={1: 9}) == [0, 1, 1, 1, 2, 3]


def test_an_invalid_point_ends_no_curve_and_is_not_the_greatest():
    points = UntilDrop(SweptPoints([{"connections": place} for place in range(1, 5)]), 0.2)

    def after(connections, rate_rps, *, usable):
        one = at(connections, rate_rps)
        return points.next_point(TRIAL, one if usable else synthetic.spoiled(one))

    points.next_point(TRIAL, None)
    assert after(1, 1000.0, usable=False) == {"connections": 2}
    assert after(2, 500.0, usable=True) == {"connections": 3}
    assert after(3, 100.0, usable=False) == {"connections": 4}
    assert after(3, 100.0, usable=True) is None


STEADY = {1: 100.0, 2: 200.0, 4: 210.0, 8: 205.0}
EARLY = {1: 100.0, 2: 70.0, 4: 50.0, 8: 10.0}
LATE = {1: 100.0, 2: 200.0, 4: 150.0, 8: 10.0}


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def study(trials=2, share="20 %", **changes):
    text = study_text("[servers.limit]", trials=trials, connections="[1, 2, 4, 8]", **changes)
    return text.replace("[host]", f'until_drop = "{share}"\n[host]')


def measured(scripted, *curves, **changes):
    """Run a study whose trials have these throughputs by connections."""
    place = -1

    def load(plan, _):
        nonlocal place
        place += plan.connections == 1
        return answered(plan, curves[place][plan.connections])

    scripted.script.loads["limit"] = load
    scripted.measure(study(len(curves), **changes))
    return scripted.run


@pytest.mark.parametrize("restart", ["sweep", "point"])
def test_points_beyond_the_end_of_a_curve_are_neither_lost_nor_missing(scripted, restart):
    run = measured(scripted, EARLY, LATE, STEADY, restart=restart)
    assert [(one.trial, one.point["connections"]) for one in run.points] == [
        *[(0, 1), (0, 2)],
        *[(1, 1), (1, 2), (1, 4)],
        *[(2, 1), (2, 2), (2, 4), (2, 8)],
    ]
    assert (run.points_expected, run.points_lost, run.complete) == (9, 0, True)
    ended = ending(run)
    assert (ended.reason, ended.blocks, ended.trials_expected, ended.points_expected) == ("count", 3, 3, 9)
    assert [(end.server, end.point["connections"], end.trials) for end in ended.curve_ends] == [
        ("limit", 2, (0,)),
        ("limit", 4, (1,)),
    ]


def test_a_run_repeats_a_disturbed_point_before_it_goes_on(scripted):
    disturbed = STOLEN.load.verdict.model_dump()

    def load(plan, _):
        is_first = len(scripted.script.plans) == 2
        changes = {"verdict": disturbed} if is_first else {}
        return answered(plan, 10.0 if is_first else LATE[plan.connections], duration_s=10.0, **changes)

    scripted.script.loads["limit"] = load
    scripted.measure(study(1, repeat_disturbed=3))
    measured_at = [plan.connections for _, plan in scripted.script.plans]
    assert measured_at == [1, 2, 2, 4]
    assert [one.point["connections"] for one in scripted.run.points] == [1, 2, 4]


def test_a_trial_that_was_interrupted_before_its_curve_ended_is_unfinished(scripted):
    run = measured(scripted, EARLY, LATE)
    cut = dataclasses.replace(run, records=run.records[:-1])
    assert not cut.complete
    assert (ending(cut).reason, ending(cut).blocks) == ("unfinished", 1)


def test_a_failure_before_the_end_of_the_curve_costs_what_was_still_to_be_measured(scripted):
    run = measured(scripted, STEADY, LATE)
    died = synthetic.trial_records(synthetic.run_record())
    failure = next(one for one in died if one.kind == "failure")
    lost = failure.model_copy(update={"trial": 0, "block": 0, "server": "limit", "point": {"connections": 4}})
    failed = dataclasses.replace(run, records=[*run.records[:2], lost, *run.records[4:]])
    assert (failed.points_lost, failed.points_expected, failed.complete) == (2, 7, True)
    assert ending(failed).blocks == 2


def test_a_drop_at_the_last_point_ends_nothing_early(scripted):
    run = measured(scripted, {**STEADY, 8: 10.0})
    assert (run.curve_ends, run.points_expected, run.complete) == ({}, 4, True)
    assert "ended at" not in scripted.talk


def test_an_interrupted_run_goes_on_with_the_trial_whose_curve_had_not_ended(scripted, monkeypatch, tmp_path):
    append, written = RunFolder.append, []

    def append_three(folder, one):
        append(folder, one)
        written.append(one)
        if len(written) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "append", append_three)
    with pytest.raises(KeyboardInterrupt):
        measured(scripted, EARLY, LATE)
    interrupted = interrupted_run(tmp_path / "run", None)
    assert interrupted.first_block == 1


def test_who_watches_reads_where_a_curve_ended_and_that_the_points_are_at_most_this_many(scripted, tmp_path):
    measured(scripted, EARLY, LATE)
    assert "2 trials of at most 4 points" in scripted.talk
    said = "trial 1 of 2, limit: ended at connections 2, where throughput had fallen, 4 of at most 8 points"
    assert said in scripted.talk
    now = status(Feed(tmp_path / "run").look().seen, 0.0)
    assert (now["phase"], now["progress"]["words"]) == ("over", "5 of 5 points measured")


def test_the_report_names_the_ends_and_of_how_many_trials_a_figure_is(scripted):
    run = measured(scripted, EARLY, LATE, LATE)
    analysis = analyse(run)
    said = trials_in_words(analysis)
    assert said[0] == (
        "Curves ended where throughput was 20 % or more below the greatest before it: limit at connections "
        "= 2 (1 trial) and 4 (2 trials)."
    )
    assert "of the remaining trials only" in said[1]
    content = Report(run, analysis)
    rows = everything(content)["numbers"].table.rows
    assert [row.trials.shown for row in rows] == [
        "3 of 3",
        "3 of 3",
        "2 of 2, 1 ended before",
    ]
    assert "8 of 8 points were measured" in " ".join(summary_words(content))


def test_points_that_no_trial_has_reached_are_on_no_axis_and_in_no_table(scripted):
    run = measured(scripted, EARLY, LATE)
    assert [point["connections"] for point in run.sweep_points] == [1, 2, 4]
    content = Report(run, analyse(run))
    assert [row.figures[0].sort for row in everything(content)["numbers"].table.rows] == [1, 2, 4]
    assert everything(content)["loads"].keys() == {1, 2, 4}
    untouched = dataclasses.replace(run, records=[])
    assert untouched.sweep_points == untouched.run.points


def test_without_an_end_the_report_says_so(scripted):
    said = trials_in_words(analyse(measured(scripted, STEADY, STEADY)))
    assert (
        "In no trial did throughput fall by 20 %, so every curve continues to the end of the sweep."
    ) in said


def test_no_ranking_counts_a_point_beyond_the_end_as_left_out(scripted):
    study_of_two = study(2).replace("[servers.limit]", "[servers.limit]\n[servers.simple]")
    curves = {"limit": EARLY, "simple": STEADY}
    for name, curve in curves.items():
        scripted.script.loads[name] = lambda plan, _, curve=curve: answered(plan, curve[plan.connections])
    scripted.measure(study_of_two)
    rankings = analyse(scripted.run).rankings
    left_out = [one for ranking in rankings for one in ranking.left_out if one.server == "limit"]
    assert [one for one in left_out if one.point["connections"] > 2] == []
