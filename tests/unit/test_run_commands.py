"""`loadcurve run` and `loadcurve capacity`: records, words and exit codes; all measuring is scripted."""

import json
import os
from pathlib import Path

import pytest

from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.generate.generator import LoadInterrupted
from loadcurve.result.outcomes import Verdict
from loadcurve.result.run_files import RUN_FILE
from loadcurve.runs import prepare
from loadcurve.server.failure import ServerFailure
from loadcurve.server.ledger import CleanedUp
from loadcurve.server.presence import Neighbour
from loadcurve.server.running import RunningServer
from loadcurve.stats.slo import parse_objective
from support.scripted_run import ScriptedRun, answered
from support.tiny_study import study_text

LIMIT = "[servers.limit]"


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def interrupted(plan, _):
    raise LoadInterrupted(answered(plan))


def test_the_options_that_change_a_study_are_recorded_as_they_were_given(scripted, tmp_path):
    options = {"only": ["limit"], "trials": 1, "quick": True, "catalogs": [tmp_path]}
    scripted.measure(study_text("[servers.limit]\n[servers.simple]"), **options)
    recorded = ["--quick", "--trials", "1", "--only", "limit", "--catalog", str(tmp_path)]
    assert scripted.run.run.options == recorded
    assert {one.server for one in scripted.run.points} == {"limit"}


def test_a_run_beside_another_one_and_what_a_killed_one_left_are_reported(scripted, monkeypatch):
    left = CleanedUp("nginx", 77, (78,), (), None)
    monkeypatch.setattr("loadcurve.runs.study.clean_up_after_killed_runs", lambda: [left])
    monkeypatch.setattr("loadcurve.runs.study.neighbours", lambda: [Neighbour(99, is_elsewhere=False)])
    scripted.measure(study_text(LIMIT, trials=1))
    assert left.text in scripted.talk
    said = "another run was in progress on this machine (process 99)"
    assert said in scripted.talk
    assert {one.code for one in scripted.run.run.caveats} >= {"not_alone"}


@pytest.fixture
def running(monkeypatch):
    """Take a server that runs elsewhere for one that answers."""

    def found(entry, settings, overrides):
        return RunningServer(entry, overrides.url, "127.0.0.1:9", "127.0.0.1:9", "1.0", settings, "http")

    monkeypatch.setattr(prepare, "find_running_server", found)
    return lambda url: f'[servers.running]\nuse = "url"\nurl = "{url}"'


@pytest.mark.parametrize("is_started_here", [True, False])
def test_that_both_sides_share_cpus_is_reported_for_servers_that_are_started_here(
    scripted, running, is_started_here
):
    server = LIMIT if is_started_here else running("http://127.0.0.1:9")
    scripted.measure(study_text(server, trials=1, host="server_cpus = [0]\nload_cpus = [0]"))
    assert ("cpus_shared" in {one.code for one in scripted.run.run.caveats}) == is_started_here


@pytest.fixture
def usable_cpus():
    """Give what has this thread run on some CPUs alone, until the end of the test."""
    before = os.sched_getaffinity(0)
    yield lambda cpus: os.sched_setaffinity(0, cpus)
    os.sched_setaffinity(0, before)


def test_a_machine_of_one_cpu_runs_both_sides_on_it_with_a_caveat(scripted, usable_cpus):
    cpu = min(os.sched_getaffinity(0))
    usable_cpus({cpu})
    scripted.measure(study_text(LIMIT, trials=1))
    [said] = [one.text for one in scripted.run.run.caveats if one.code == "cpus_shared"]
    assert f"the servers and the load share CPU {cpu}, so the two disturb each other" in said
    assert said in " ".join(scripted.talk.split())


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs, one for each side")
def test_cpus_that_are_not_given_are_divided_and_that_is_no_caveat(scripted):
    scripted.measure(study_text(LIMIT, trials=1))
    record = scripted.run.run
    assert "cpus_shared" not in {one.code for one in record.caveats}
    assert set(record.host["server_cpus"]) & set(record.host["load_cpus"]) == set()


def test_no_password_of_a_running_server_is_recorded(scripted, running):
    scripted.measure(study_text(running("mongodb://me:geheim@127.0.0.1:9"), trials=1))
    files = {file.name: file.read_text() for file in scripted.folder.iterdir()}
    assert set(files) == {"run.json", "run-copy.json", "study.toml", "trials.jsonl"}
    assert all("mongodb://127.0.0.1:9" in files[name] for name in ("run.json", "study.toml"))
    assert [name for name, text in files.items() if "geheim" in text] == []


def test_a_run_with_a_usable_point_ends_with_0_and_its_numbers_are_kept(scripted, capsys):
    assert scripted.command(study_text(LIMIT, trials=1)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(scripted.folder / "report.html").replace("\n", "")
    kept = json.loads((scripted.folder / "numbers.json").read_text())
    assert kept["summary"]["points"] == {"valid": 2, "suspect": 0, "invalid": 0}


def test_a_run_without_a_folder_of_its_own_has_one_by_its_study_and_the_time(
    scripted, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert scripted.command(study_text(LIMIT, trials=1), out=None) == 0
    folder = Path(capsys.readouterr().out.splitlines()[-1]).parent
    assert folder.absolute().parent == tmp_path / "loadcurve-runs"
    # A study that is called `study.toml` goes by the name of its folder.
    assert folder.name.startswith(f"{tmp_path.name}-")


def test_a_run_of_invalid_points_alone_ends_with_3(scripted):
    verdict = Verdict(status="valid", reasons=(), notes=()).with_reason("errors", "all failed", "invalid")
    scripted.script.loads["limit"] = lambda plan, _: answered(plan, verdict=verdict.model_dump())
    assert scripted.command(study_text(LIMIT, trials=1)) == 3


def test_a_run_in_which_a_planned_server_has_nothing_usable_ends_with_3_and_names_it(scripted, capsys):
    verdict = Verdict(status="valid", reasons=(), notes=()).with_reason("errors", "all failed", "invalid")
    scripted.script.loads["limit"] = lambda plan, _: answered(plan, verdict=verdict.model_dump())
    assert scripted.command(study_text(f"{LIMIT}\n[servers.simple]", trials=1)) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("without a usable figure: limit at connections = 1 and 2: all failed.")


def test_a_run_in_which_a_planned_server_does_not_start_ends_with_3_and_names_it(scripted, capsys):
    scripted.script.failures["simple", "start"] = ServerFailure("not_ready", "it is not ready")
    assert scripted.command(study_text(f"{LIMIT}\n[servers.simple]", trials=1)) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("without a usable figure: simple at connections = 1 and 2: it is not ready.")


def test_a_run_of_failures_alone_measures_nothing_and_names_the_file_with_the_reasons(scripted):
    scripted.script.failures["limit", "start"] = ServerFailure("not_ready", "it is not ready")
    with pytest.raises(NothingMeasured, match=r"trials\.jsonl records the reason for each trial"):
        scripted.command(study_text(LIMIT, trials=1))


def test_an_interrupted_run_ends_with_130_and_has_its_report(scripted, capsys):
    scripted.script.loads["limit"] = interrupted
    assert scripted.command(study_text(LIMIT)) == 130
    assert "interrupted: what was measured is kept" in capsys.readouterr().err
    assert (scripted.folder / "report.html").exists()


def test_a_run_that_is_interrupted_before_it_measures_leaves_no_folder(scripted, capsys, monkeypatch):
    def interrupt(*_, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("loadcurve.runs.planned.try_server", interrupt)
    assert scripted.command(study_text(LIMIT)) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted before anything was measured"
    assert not (scripted.folder / RUN_FILE).exists()


def test_a_request_for_no_file_of_the_persons_own_folder_is_refused_with_its_line(scripted, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "10k.txt").write_text("x")
    study = study_text(LIMIT, content='folder = "site"')
    with pytest.raises(BadInput) as raised:
        scripted.measure(study)
    line = study.splitlines().index('requests = ["/1k.txt"]') + 1
    assert f':{line}: load.requests: found "/1k.txt"; expected the path of a file in' in str(raised.value)
    assert 'did you mean "/10k.txt"?' in str(raised.value)
    assert not scripted.folder.exists()


# --- searches


def latency_of(plan, _):
    """A latency of a millisecond for each connection, up to those that the server does not survive."""
    p50 = dict(answered(plan).latency_ms) | {"p50": float(plan.connections)}
    return answered(plan, latency_ms=p50)


@pytest.mark.parametrize(("limit_ms", "code"), [(5.5, 0), (0.5, 3)])
def test_a_search_ends_with_0_where_any_load_keeps_the_limits(scripted, limit_ms, code):
    scripted.script.loads["limit"] = latency_of
    study = study_text(LIMIT, connections="[1, 16]", trials=2)
    assert scripted.capacity_command(study, f"p50 < {limit_ms}ms") == code
    if code == 0:
        # Of whole numbers of connections the greatest below the limit.
        kept = {one.point["connections"] for one in scripted.run.points if one.point["connections"] < 5.5}
        assert max(kept) == 5


def test_a_search_without_limits_takes_those_of_the_study_and_of_neither_it_says_both_ways(scripted):
    scripted.script.loads["limit"] = latency_of
    study = study_text(LIMIT, connections="[1, 16]", trials=1)
    with pytest.raises(BadInput, match=r'names no limits: expected --slo LIMITS.* or limits = "p99 < 10ms"'):
        scripted.capacity_command(study, None)
    assert scripted.capacity_command(f'limits = "p50 < 5.5ms"\n{study}', None) == 0
    assert scripted.run.run.search.slo == "p50 < 5.5ms"


def test_a_folder_that_is_in_use_is_refused_before_anything_is_looked_at(scripted, capsys):
    scripted.folder.mkdir()
    (scripted.folder / "mine.txt").write_text("mine")
    with pytest.raises(BadInput, match="is not empty"):
        scripted.command(study_text(LIMIT, trials=1))
    assert capsys.readouterr().err == ""
    assert [one.name for one in scripted.folder.iterdir()] == ["mine.txt"]


def test_servers_that_fail_alike_before_the_first_trial_are_one_reason(scripted, capsys):
    for name, workers in (("limit", 1), ("simple", 2)):
        reason = f"`app --workers {workers}` ended with 1 before it answered"
        scripted.script.failures[name, "start"] = ServerFailure("died", reason, "no module app")
    with pytest.raises(NothingMeasured):
        scripted.command(study_text(f"{LIMIT}\n[servers.simple]", trials=1))
    said = capsys.readouterr().err
    assert "simple failed before the first trial as limit did" in said
    assert said.count("no module app") == 1


def test_a_failure_is_one_reason_though_the_ends_of_long_outputs_begin_at_other_lines(scripted, capsys):
    for name, log in (("limit", "line 1\nline 2\nno module app"), ("simple", "line 2\nno module app")):
        failure = ServerFailure("died", "It ended with status 3 before it was ready.", log)
        scripted.script.failures[name, "start"] = failure
    with pytest.raises(NothingMeasured):
        scripted.command(study_text(f"{LIMIT}\n[servers.simple]", trials=1))
    assert "simple failed before the first trial as limit did" in capsys.readouterr().err


def test_limits_that_always_hold_on_a_range_of_the_command_line_say_at_least(scripted, capsys):
    study = study_text(LIMIT, connections="[3]", trials=1, restart="point")
    assert scripted.capacity_command(study, "p50 < 10s", "connections", 2.0, 5.0) == 0
    assert "its capacity is at least 5 connections" in " ".join(capsys.readouterr().out.split())
    assert [one.point["connections"] for one in scripted.run.points] == [2, 4, 5]
    options = ["--slo", "p50 < 10s", "--key", "connections", "--from", "2", "--to", "5"]
    assert scripted.run.run.options == options


def test_a_load_that_a_server_does_not_survive_bounds_the_search(scripted):
    def frail(plan, _):
        if plan.connections > 5:
            scripted.script.dead["limit"] = ServerFailure("died", "limit has ended")
        return answered(plan)

    scripted.script.loads["limit"] = frail
    study = study_text(LIMIT, connections="[1, 16]", trials=1, restart="point")
    assert scripted.capacity_command(study, "p50 < 10s") == 0
    assert max(one.point["connections"] for one in scripted.run.points) == 5
    assert min(one.point["connections"] for one in scripted.run.failures) == 6


def test_a_search_has_the_least_trials_of_a_study_that_goes_on_until_intervals_are_narrow(scripted):
    study = study_text(LIMIT, connections="[1, 4]").replace(
        "count = 2", 'count = 8\nuntil = "3 %"\nat_most = 10'
    )
    scripted.capacity_command(study, "p50 < 10s")
    assert len(scripted.run.run.order) == 8


def test_a_server_with_the_searched_key_in_a_load_of_its_own_is_searched_along_it(scripted):
    servers = '[servers.limit]\n[servers.other]\nuse = "simple"\nload = { connections = 3, calls = 1 }'
    scripted.script.loads |= {"limit": latency_of, "simple": latency_of}
    study = study_text(servers, connections="[1, 16]", trials=1)
    assert scripted.capacity_command(study, "p50 < 5.5ms") == 0
    reached = {one.server: [] for one in scripted.run.points}
    for one in scripted.run.points:
        reached[one.server].append(one.point["connections"])
    assert max(reached["other"]) > 3
    assert parse_objective(scripted.run.run.search.slo) == parse_objective("p50 < 5.5ms")
