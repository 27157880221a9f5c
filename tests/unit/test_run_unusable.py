"""Servers that cannot be measured: they are looked for as in any run, and nothing is started."""

import pytest

from loadcurve.errors import NothingMeasured
from loadcurve.server.catalog import load_catalog
from support.recording_server import deaf_port
from support.report_pages import write_report
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text, write_missing_server

UNUSABLE = {
    "plain": ('use = "limit"\nbinary = "plain.txt"', "not_started", "plain.txt is not executable; if it is"),
    "nowhere": ('use = "limit"\nbinary = "nowhere"', "not_started", "there is no program "),
    "echo": ('use = "limit"\nbinary = "/bin/echo"', "version_unknown", "printed nothing that matches"),
    "command": (
        'use = "command"\nstart = ["no-such-program", "{port}"]\nversion = "1"',
        "not_started",
        "no program no-such-program was found on PATH",
    ),
    "beside": (
        'use = "command"\nstart = ["bin/none", "{port}"]\nversion = "1"',
        "not_started",
        "there is no program ",
    ),
    "nameless": (
        'use = "command"\nstart = ["sh", "{port}"]',
        "version_unknown",
        'such as version = "1.2", or version_command = [',
    ),
    "speechless": (
        'use = "command"\nstart = ["sh", "{port}"]\nversion_command = ["echo", "none"]',
        "version_unknown",
        "printed nothing that matches the pattern",
    ),
    "url": ('use = "url"\nurl = "URL"', "not_ready", "no connection (127.0.0.1: Connection refused)"),
}
"""Servers by what a study says of them, with the failure of their trials and words of it."""


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    return ScriptedRun(tmp_path, monkeypatch)


def test_what_the_study_names_and_cannot_be_used_fails_in_each_trial(scripted, tmp_path):
    (tmp_path / "plain.txt").write_text("no program")
    tables = "\n".join(f"[servers.{name}]\n{keys}" for name, (keys, *_) in UNUSABLE.items())
    with deaf_port() as address:
        study = study_text(f"{tables}\n[servers.limit]").replace("URL", f"http://{address}")
        assert scripted.measure(study) == 4
    run = scripted.run
    assert len(run.failures) == len(UNUSABLE) * 2
    printed = " ".join(scripted.talk.split())
    for name, (_, code, said) in UNUSABLE.items():
        failures = [one for one in run.failures if one.server == name]
        assert [one.reason.code for one in failures] == [code] * 2
        assert said in failures[0].reason.text
        assert said in run.run.servers[name].problem
        assert f"{name}: failed: {failures[0].reason.text}" in printed
    assert run.complete
    assert "Trials that failed" in write_report(scripted.folder).read_text()


def test_without_a_server_that_can_be_measured_nothing_is_written(scripted, tmp_path, monkeypatch):
    write_missing_server(tmp_path / "catalog", "gone")
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", load_catalog)
    study = study_text('[servers.gone]\n[servers.nowhere]\nuse = "limit"\nbinary = "/no/such/program"')
    with pytest.raises(NothingMeasured) as raised:
        scripted.command(study, catalogs=[tmp_path / "catalog"])
    said = str(raised.value)
    assert "none of the study's servers can be measured" in said
    assert "install it with: make -C gone install" in said
    assert "there is no program /no/such/program" in said
    assert not scripted.folder.exists()
