"""A run's trials, from its study to the records in its folder; servers and loads follow a script."""

import errno

import pytest

from loadcurve.errors import BadInput, LoadcurveError, NothingMeasured
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.result.folder import RunFolder
from loadcurve.result.records import LimitUse
from loadcurve.result.rig import Ceiling, Noise
from loadcurve.server.failure import ServerFailure
from support.scripted_run import ScriptedRun, ScriptedServer, answered
from support.tiny_study import study_text

LIMIT = "[servers.limit]"
TWO = "[servers.limit]\n[servers.simple]"
DIED = ServerFailure("died", "limit ended with status 3 during the trial.", "last words")
START = ["start limit", "verify limit", "stop limit"]
"""What the look at a server before the first trial does."""


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def failures(scripted):
    return [(one.trial, one.point, one.reason.code) for one in scripted.run.failures]


@pytest.mark.parametrize("restart", ["sweep", "point"])
def test_a_server_is_started_for_each_trial_or_for_each_point(scripted, restart):
    assert scripted.measure(study_text(LIMIT, trials=2, restart=restart)) == 4
    loads = 2 if restart == "sweep" else 1
    start = ["start limit", "verify limit", *["load limit"] * loads, "stop limit"]
    assert scripted.script.events == START + start * (4 // loads)
    measured = [(one.trial, one.point) for one in scripted.run.points]
    assert measured == [(trial, {"connections": count}) for trial in (0, 1) for count in (1, 2)]


def fails_after_a_load(monkeypatch, name, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(ScriptedServer, name, fail)


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        OSError(errno.ENOSPC, "No space left on device"),
        ServerFailure("machine_lost", "the machine left was lost"),
    ],
)
def test_a_load_is_recorded_where_what_the_probe_saw_cannot_be_summed_up(scripted, monkeypatch, error):
    fails_after_a_load(monkeypatch, "observed", error)
    assert scripted.measure(study_text(LIMIT, trials=1)) == 2
    assert failures(scripted) == []
    for record in scripted.run.points:
        assert record.probe.server is None
        ((code, text),) = [(one.code, one.text) for one in record.probe.caveats]
        assert code == "probe_unreadable"
        assert str(error.args[-1]) in text


def test_a_server_that_turns_out_to_have_ended_in_a_load_costs_its_trial(scripted, monkeypatch):
    fails_after_a_load(monkeypatch, "observed", DIED)
    scripted.measure(study_text(LIMIT, trials=1))
    assert failures(scripted) == [(0, {"connections": 1}, "died")]


def test_an_interrupt_while_the_probe_is_read_interrupts(scripted, monkeypatch):
    fails_after_a_load(monkeypatch, "observed", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        scripted.measure(study_text(LIMIT, trials=1))


WARMED = 'warmup = { rate = 15, duration = "10s" }\n[host]'


def warmed(**changes):
    return study_text(LIMIT, **changes).replace("[host]", WARMED)


@pytest.mark.parametrize(("restart", "starts"), [("sweep", 1), ("point", 2)])
def test_each_start_is_warmed_up_at_a_rate_before_its_first_point(scripted, restart, starts):
    scripted.measure(warmed(trials=1, restart=restart, load='duration = "100ms"\ncalls = 3'))
    plans = [plan.load for _, plan in scripted.script.plans]
    assert [plan.model for plan in plans].count("open") == starts
    assert [plan.model for plan in plans][:2] == ["open", "closed"]
    warmup, first = plans[:2]
    assert (warmup.rate_rps, warmup.duration_s, warmup.connections, warmup.warmup_s) == (15, 10, 1, 0)
    assert (warmup.requests, warmup.calls, warmup.http) == (first.requests, 3, first.http)
    assert [one.point["connections"] for one in scripted.run.points] == [1, 2]


def test_a_server_that_dies_in_its_warm_up_costs_its_trial(scripted):
    def dies(plan, observe):
        scripted.script.dead["limit"] = DIED
        observe(None)
        pytest.fail("a warm-up of a dead server continues")

    scripted.script.loads["limit"] = dies
    scripted.measure(warmed(trials=2))
    assert failures(scripted) == [(trial, None, "died") for trial in (0, 1)]


def test_a_warm_up_without_a_right_answer_is_a_failure(scripted):
    def answers_wrong(plan, _):
        result = answered(plan)
        return result.model_copy(update={"requests": result.requests.model_copy(update={"ok": 0})})

    scripted.script.loads["limit"] = answers_wrong
    scripted.measure(warmed(trials=1))
    assert failures(scripted) == [(0, None, "wrong_answer")]
    assert "requests of the warm-up was answered correctly" in scripted.run.failures[0].reason.text


def test_what_is_drawn_at_random_is_the_same_for_all_servers_of_a_block_and_another_in_the_next(scripted):
    scripted.measure(study_text(TWO, trials=2), seed=7)
    seeds = {(server, plan.seed) for server, plan in scripted.script.plans}
    assert seeds == {("limit", 7), ("limit", 8), ("simple", 7), ("simple", 8)}
    assert [plan.seed for _, plan in scripted.script.plans] == [7] * 4 + [8] * 4


def test_a_start_that_fails_costs_its_trial_and_no_point_of_it_is_named(scripted):
    scripted.script.failures["limit", "start"] = ServerFailure("not_ready", "it is not ready")
    assert scripted.measure(study_text(TWO, trials=2)) == 4
    assert [(point, code) for _, point, code in failures(scripted)] == [(None, "not_ready")] * 2
    assert "limit failed before the first trial: it is not ready" in scripted.talk
    assert scripted.run.complete


def test_a_server_that_fails_before_the_first_trial_is_not_started_again_and_why_is_said_once(scripted):
    scripted.script.failures["limit", "start"] = ServerFailure("not_ready", "it is not ready")
    scripted.measure(study_text(TWO, trials=3))
    assert [code for _, _, code in failures(scripted)] == ["not_ready"] * 3
    assert scripted.script.events.count("start limit") == 1
    assert scripted.script.events.count("start simple") == 1 + 3
    assert scripted.talk.count("it is not ready") == 1
    assert "limit: failed" not in scripted.talk


def test_a_start_that_fails_names_the_point_that_it_was_for(scripted):
    scripted.script.failures["limit", "start"] = ServerFailure("not_ready", "it is not ready")
    scripted.measure(study_text(LIMIT, trials=1, restart="point"))
    assert failures(scripted) == [(0, {"connections": count}, "not_ready") for count in (1, 2)]
    assert (scripted.run.points_lost, scripted.run.complete) == (2, True)


def test_a_server_with_wrong_answers_is_put_under_no_load(scripted):
    scripted.script.failures["limit", "verify"] = ServerFailure("wrong_answer", "GET / was wrong")
    assert scripted.measure(study_text(LIMIT, trials=1)) == 0
    assert failures(scripted) == [(0, None, "wrong_answer")]
    assert "load limit" not in scripted.script.events


@pytest.mark.parametrize("is_watched", [True, False], ids=["during the load", "after a look"])
@pytest.mark.parametrize(("restart", "lost"), [("sweep", 2), ("point", 1)])
def test_a_death_is_a_failure_at_its_point_and_the_run_goes_on(scripted, restart, lost, is_watched):
    def dies(plan, observe):
        if plan.connections == 1:
            scripted.script.dead["limit"] = DIED
            if is_watched:
                observe(None)
                pytest.fail("a load on a dead server continues")
        return answered(plan)

    scripted.script.loads["limit"] = dies
    assert scripted.measure(study_text(LIMIT, trials=2, restart=restart)) == 4 - 2 * lost
    assert failures(scripted) == [(trial, {"connections": 1}, "died") for trial in (0, 1)]
    assert [one.log_tail for one in scripted.run.failures] == ["last words"] * 2
    assert (scripted.run.points_lost, scripted.run.complete) == (2 * lost, True)
    assert "limit: failed at connections 1: limit ended with status 3 during the trial." in scripted.talk
    assert scripted.script.events.count("start limit") == scripted.script.events.count("stop limit")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (NothingMeasured("20 files may be open"), "load_not_started", "20 files may be open"),
        (
            OSError(errno.EMFILE, "", "/proc/stat"),
            "system_refused",
            "the system refused an operation that the trial requires: /proc/stat: Too many open files",
        ),
    ],
)
def test_a_load_that_this_machine_cannot_start_is_a_failure_and_the_run_goes_on(scripted, error, code, said):
    def refused(*_):
        raise error

    scripted.script.loads["limit"] = refused
    assert scripted.measure(study_text(TWO, trials=1)) == 2
    assert failures(scripted)[0][1:] == ({"connections": 1}, code)
    assert scripted.run.failures[0].reason.text == said


def test_points_without_an_answer_do_not_count_as_measured(scripted):
    requests = {"due": 9, "sent": 9, "answered": 0, "ok": 0, "failed": 9, "unanswered": 0, "never_sent": 0}
    scripted.script.loads["limit"] = lambda plan, _: answered(plan, requests=requests)
    assert scripted.measure(study_text(LIMIT, trials=1)) == 0
    assert len(scripted.run.points) == 2


def test_what_a_limit_of_memory_does_is_reported_for_each_point_alone(scripted):
    readings = [(0, 10), (2, 20), (2, 20), (3, 30)]
    scripted.script.limit_uses["limit"] = [
        LimitUse(oom_kills=kills, memory_peak_bytes=peak) for kills, peak in readings
    ]
    scripted.measure(study_text(LIMIT, trials=1))
    used = [(one.limit_use.oom_kills, one.limit_use.memory_peak_bytes) for one in scripted.run.points]
    assert used == [(2, 20), (1, 30)]


def test_a_point_near_the_rigs_ceiling_is_suspect_and_others_are_not(scripted, monkeypatch):
    def kept(kind, rig):
        ceilings = {"measured_at": "2026", "body_bytes": 0, "rig": rig, "host": {}}
        level = {"runs": 1, "lowest_requests_per_s": 1, "highest_requests_per_s": 1, "p50_ms": 1, "p99_ms": 1}
        level |= {"generator_cpu_share": 1, "verdict": {"status": "valid", "reasons": [], "notes": []}}
        point = {"connections": 1, "requests_per_s": 1000.0, **level}
        return None if kind is Noise else Ceiling.model_validate({**ceilings, "points": [point]})

    monkeypatch.setattr("loadcurve.runs.planned.kept", kept)
    scripted.script.loads["limit"] = lambda plan, _: answered(plan, rate_rps=500.0 * plan.connections)
    scripted.measure(study_text(LIMIT, trials=1))
    codes = [[reason.code for reason in one.load.verdict.reasons] for one in scripted.run.points]
    assert codes == [[], ["rig_ceiling"]]


def test_an_interrupt_stops_the_server_and_keeps_the_points_before(scripted):
    def interrupted(plan, _):
        if plan.connections == 2:
            raise LoadInterrupted(answered(plan))
        return answered(plan)

    scripted.script.loads["limit"] = interrupted
    with pytest.raises(KeyboardInterrupt):
        scripted.measure(study_text(LIMIT, trials=2))
    assert [one.point["connections"] for one in scripted.run.points] == [1]
    assert (scripted.run.failures, scripted.run.complete) == ([], False)
    assert scripted.script.events[-1] == "stop limit"


def test_results_that_cannot_be_written_are_refused_before_the_first_trial(scripted, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadInput, match=r"the results cannot be written to .*--out"):
        scripted.measure(study_text(LIMIT), out=tmp_path / "file" / "run")
    assert scripted.script.events in ([], START)


def test_a_record_that_cannot_be_written_ends_the_run_and_its_server(scripted, monkeypatch):
    def full(*_):
        raise LoadcurveError("no space left")

    monkeypatch.setattr(RunFolder, "append", full)
    with pytest.raises(LoadcurveError, match="no space left"):
        scripted.measure(study_text(LIMIT, trials=2))
    assert scripted.script.events == [*START, "start limit", "verify limit", "load limit", "stop limit"]
