"""Curves under loads that differ: what each form of the report states of them."""

import dataclasses
import io

import pytest
from rich.console import Console

from loadcurve.analysis.analysis import analyse
from loadcurve.analysis.noise import same_servers
from loadcurve.report.arms import own_settings
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.report.sections import everything, summary_words
from loadcurve.report.servers import measured_servers
from loadcurve.report.terminal import summary
from loadcurve.result.differences import condition_differences, conditions_of
from loadcurve.result.folder import Run

OWN = {"calls": 1, "duration_s": 4.0, "headers": {"Cookie": "secret"}}
CAUTION = (
    "nginx has a load other than the study's: ranks and ratios to other servers compare the loads, too, "
    "not only the servers."
)
IN_WORDS = "The load on nginx differs: duration = 4 s instead of 2 s, calls = 1, other headers."


def with_own_load(run: Run, **own: object) -> Run:
    """The run, with these options in the load of nginx."""
    common = run.run.study["load"]
    servers = {"nginx": {"load": {**common, **own}}, "tiny": {"load": None}}
    record = run.run.model_copy(update={"study": {**run.run.study, "servers": servers}})
    return dataclasses.replace(run, run=record)


@pytest.fixture(scope="module")
def differing(run: Run) -> Run:
    return with_own_load(run, **OWN)


def test_an_arms_load_is_its_own_or_else_the_studys(run: Run, differing: Run):
    assert differing.load_of("nginx") == {**run.run.study["load"], **OWN}
    assert differing.load_of("tiny") == differing.load_of("apache") == run.run.study["load"]


def test_a_setting_of_an_old_run_that_is_called_load_is_none(run: Run):
    study = {**run.run.study, "servers": {"nginx": {"load": "heavy"}}}
    old = dataclasses.replace(run, run=run.run.model_copy(update={"study": study}))
    assert (old.load_of("nginx"), old.own_load("nginx")) == (run.run.study["load"], {})


def test_only_what_differs_is_among_the_numbers(differing: Run):
    servers = analyse(differing).run.servers
    assert {name: server.load for name, server in servers.items() if server.load} == {"nginx": OWN}


def test_every_form_states_what_differs_and_no_secret(differing: Run):
    analysis = analyse(differing)
    content = Report(differing, analysis)
    output = io.StringIO()
    Console(file=output, width=80).print(summary(content))
    assert IN_WORDS in " ".join(output.getvalue().split())
    assert CAUTION in " ".join(output.getvalue().split())
    markdown = markdown_bytes(content).decode()
    assert IN_WORDS in markdown
    assert CAUTION in markdown
    assert everything(content)["own_loads"] == {"nginx": "duration = 4 s, calls = 1, other headers"}
    html = render_page(content)
    assert "<span>duration = 4 s, calls = 1, other headers</span>" in html
    assert CAUTION.replace("'", "&#39;") in html
    assert not any("secret" in text for text in (output.getvalue(), markdown))


def test_servers_under_the_same_other_load_have_one_sentence_and_many_paths_are_counted(run: Run):
    weighted = {
        "pick": "weighted",
        "weights": [1.0] * 36,
        "requests": [f"/class-{k}.html" for k in range(36)],
    }
    common = {**run.run.study["load"], **weighted}
    page = {**common, "pick": "random", "weights": None, "requests": [f"/page-{k}.html" for k in range(71)]}
    servers = {name: {"load": page} for name in ("nginx", "tiny")}
    study = {**run.run.study, "load": common, "servers": servers}
    mixed = dataclasses.replace(run, run=run.run.model_copy(update={"study": study}))
    content = Report(mixed, analyse(mixed))
    assert (
        "The load on nginx and tiny differs: requests = 71 paths instead of 36 paths, "
        "pick = random instead of weighted, no weights." in summary_words(content)
    )


def on_machines(run: Run, **machines: str | None) -> Run:
    """The run, with these machines for its servers."""
    servers = {
        name: server.model_copy(update={"server_machine": machines[name]})
        for name, server in run.run.servers.items()
        if name in machines
    }
    return dataclasses.replace(
        run, run=run.run.model_copy(update={"servers": {**run.run.servers, **servers}})
    )


def test_servers_on_different_machines_are_named_with_theirs(run: Run):
    apart = on_machines(run, nginx="web", tiny=None)
    content = Report(apart, analyse(apart))
    assert everything(content)["own_loads"]["nginx"] == "on web"
    assert everything(content)["own_loads"]["tiny"] == "on this machine"
    assert "nginx ran on machine web." in summary_words(content)


def test_one_machine_for_all_servers_is_named_once(run: Run):
    together = on_machines(run, **dict.fromkeys(run.run.servers, "web"))
    content = Report(together, analyse(together))
    assert everything(content)["own_loads"] == {}
    [sentence] = [one for one in summary_words(content) if "ran on machine" in one]
    assert sentence.endswith("ran on machine web.")


def with_settings(run: Run, **settings: dict[str, object]) -> Run:
    """The run, with arms of one server of the catalogue that have these settings."""
    first = run.run.servers["nginx"]
    servers = {
        name.replace("_", "-"): first.model_copy(update={"settings": own}) for name, own in settings.items()
    }
    return dataclasses.replace(
        run, run=run.run.model_copy(update={"servers": {**run.run.servers, **servers}})
    )


def test_arms_of_one_server_are_named_with_the_settings_in_which_they_differ(run: Run):
    arms = with_settings(
        run, nginx={"workers": 1, "tls": False, "log": True}, more={"workers": 4, "tls": False, "log": True}
    )
    content = Report(arms, analyse(arms))
    assert everything(content)["own_loads"] == {"nginx": "workers = 1", "more": "workers = 4"}
    assert any(one.what.endswith(", workers = 4") for one in measured_servers(analyse(arms)))


def test_a_setting_that_is_in_the_name_of_its_arm_is_not_repeated(run: Run):
    arms = with_settings(run, nginx={"workers": 1, "log": False}, nginx_workers_2={"workers": 2, "log": True})
    found = own_settings(analyse(arms).run.servers)
    assert found["nginx-workers-2"] == ["log = true"]
    assert found["nginx"] == ["workers = 1", "log = false"]


def test_of_many_settings_that_differ_the_number_is_said(run: Run):
    arms = with_settings(run, nginx=dict.fromkeys("abcd", 1), more=dict.fromkeys("abcd", 2))
    assert own_settings(analyse(arms).run.servers)["more"] == ["4 other settings"]


def test_equal_loads_are_not_spoken_of(run: Run):
    content = Report(run, analyse(run))
    assert everything(content)["own_loads"] == {}
    assert "differs" not in " ".join(summary_words(content))
    assert everything(content)["ranking"].caution is None


def test_servers_under_the_same_other_load_are_compared_without_a_caution(run: Run):
    study = {**run.run.study, "servers": {name: {"load": {"calls": 1}} for name in run.run.servers}}
    alike = dataclasses.replace(run, run=run.run.model_copy(update={"study": study}))
    assert everything(Report(alike, analyse(alike)))["ranking"].caution is None


def test_runs_whose_arms_differ_in_load_were_not_measured_under_the_same_conditions(run: Run):
    [difference] = condition_differences(conditions_of(run), conditions_of(with_own_load(run, calls=1)))
    assert (difference.aspect, difference.name, difference.new) == ("load", "servers.nginx.calls", 1)


def test_the_same_server_under_another_load_is_no_evidence_of_noise(run: Run):
    servers = {**run.run.servers, "tiny": run.run.servers["nginx"]}
    twins = dataclasses.replace(run, run=run.run.model_copy(update={"servers": servers}))
    assert same_servers(twins) == (("nginx", "tiny"),)
    assert same_servers(with_own_load(twins, calls=1)) == ()


def test_throughput_is_asked_for_where_one_arm_of_a_database_has_a_rate(run: Run):
    study = {**run.run.study, "load": {"work": "ycsb", "model": "ycsb", "rate_rps": None}}
    database = dataclasses.replace(run, run=run.run.model_copy(update={"study": study}))
    assert database.is_closed_loop
    assert not with_own_load(database, rate_rps=100.0).is_closed_loop


def test_loads_of_different_machines_are_named_with_theirs(run: Run):
    sent = {"nginx": ["here", "left"], "tiny": [f"ray-{number}" for number in range(1, 10)]}
    servers = {
        name: server.model_copy(update={"load_machines": sent.get(name)})
        for name, server in run.run.servers.items()
    }
    apart = dataclasses.replace(run, run=run.run.model_copy(update={"servers": servers}))
    content = Report(apart, analyse(apart))
    assert everything(content)["own_loads"]["nginx"] == "load from here and left"
    assert everything(content)["own_loads"]["tiny"] == "load from 9 machines"
    assert everything(content)["own_loads"]["apache"] == "load from this machine"
    assert "The load on nginx came from here and left." in summary_words(content)
    assert "The load on tiny came from 9 machines." in summary_words(content)
