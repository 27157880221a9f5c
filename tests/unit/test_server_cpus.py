"""A server that is bound to other CPUs than those of its study."""

import os

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.noise import same_servers
from loadcurve.errors import BadInput
from loadcurve.explain.subject import subjects
from loadcurve.host.cpus import CpuDivision
from loadcurve.report.arms import loads_in_words, own_loads
from loadcurve.result.records import RunRecord
from loadcurve.runs import trial
from loadcurve.runs.resume import require_as_before
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text

CPUS = sorted(os.sched_getaffinity(0))
needs_two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def study():
    """One server on both CPUs, one of which is the load's, and the same one bound to the other."""
    first, second = CPUS[:2]
    servers = f'[servers.free]\nuse = "limit"\n[servers.bound]\nuse = "limit"\ncpus = [{second}]'
    return study_text(servers, trials=1, host=f"server_cpus = [{first}, {second}]\nload_cpus = [{first}]")


def test_a_bound_server_leaves_the_load_and_the_spare_cpus_as_they_are():
    division = CpuDivision(server=(0, 1), load=(4, 5), spare=(2, 3))
    assert division.with_server([3, 1]) == CpuDivision(server=(1, 3), load=(4, 5), spare=(2,))
    shared = CpuDivision(server=(0, 1), load=(0,))
    assert (shared.overlap, shared.with_server([1]).overlap) == ((0,), ())


@needs_two_cpus
def test_each_server_runs_on_its_own_cpus_under_the_same_load(scripted, monkeypatch):
    serve, given = trial.serve, []

    def seen(found, served, cpus):
        given.append((cpus.server, cpus.load))
        return serve(found, served, cpus)

    monkeypatch.setattr(trial, "serve", seen)
    scripted.measure(study())
    first, second = CPUS[:2]
    assert sorted(given) == sorted([((first, second), (first,)), ((second,), (first,))])


@needs_two_cpus
def test_records_name_the_cpus_and_the_caveat_only_the_servers_that_share_them(scripted):
    scripted.measure(study())
    run, (first, second) = scripted.run, CPUS[:2]
    assert {name: server.cpus for name, server in run.run.servers.items()} == {
        "free": None,
        "bound": (second,),
    }
    [caveat] = [one for one in run.run.caveats if one.code == "cpus_shared"]
    assert caveat.text.startswith(f"the load shares CPU {first} with free, so the two ")
    by_name = {one.name: one for one in subjects(run)}
    assert (by_name["free"].cpus, by_name["bound"].cpus) == ([first, second], [second])
    assert by_name["bound"].cpus_available == 1
    # Two forms of one server, so their difference is not noise.
    assert same_servers(run) == ()


@needs_two_cpus
def test_the_report_says_which_server_ran_where(scripted):
    scripted.measure(study())
    analysis, (first, second) = analyse(scripted.run), CPUS[:2]
    assert own_loads(analysis) == {"bound": f"CPU {second}"}
    assert loads_in_words(analysis) == [f"bound ran on CPU {second} instead of CPUs {first} and {second}."]


@needs_two_cpus
def test_a_run_is_not_resumed_on_other_cpus(scripted, tmp_path):
    scripted.measure(study())
    before = scripted.run.run
    servers = {**before.servers, "bound": before.servers["bound"].model_copy(update={"cpus": (CPUS[0],)})}
    now = RunRecord.model_validate(before.model_dump(by_alias=True) | {"servers": servers})
    with pytest.raises(BadInput, match=r"servers\.bound\.cpus"):
        require_as_before(tmp_path, before, now)


def test_a_cpu_that_there_is_not_is_refused_with_its_line(scripted):
    missing = max(CPUS) + 1
    text = study_text(f"[servers.limit]\ncpus = [{missing}]")
    line = text.splitlines().index(f"cpus = [{missing}]") + 1
    with pytest.raises(
        BadInput, match=rf":{line}: servers\.limit\.cpus: found {missing}; expected CPUs that"
    ):
        scripted.measure(text)


def test_a_server_that_runs_already_is_bound_by_others(scripted):
    text = study_text(f'[servers.mine]\nuse = "url"\nurl = "http://127.0.0.1:9"\ncpus = [{CPUS[0]}]')
    with pytest.raises(BadInput, match=r"servers\.mine\.cpus: not used: the server url is already running"):
        scripted.measure(text)
