"""A run leaves out the optional servers of its study that are not installed, and says so in one line."""

import sys

import pytest

from loadcurve.analysis.analysis import analyse
from loadcurve.errors import BadInput, NothingMeasured
from loadcurve.report.formats.markdown import markdown_bytes
from loadcurve.report.html import render_page
from loadcurve.report.section import Report
from loadcurve.report.terminal import closing
from loadcurve.result.inputs import LeftOut
from loadcurve.server.catalog import load_catalog
from support.page import Page
from support.scripted_run import ScriptedRun
from support.terminal import printed
from support.tiny_study import study_text, write_entry

LIMIT_AND_OPTIONAL = "[servers.limit]\n[servers.gone]\noptional = true\n[servers.lost]\noptional = true\n"
DEBIAN = {"ID": "debian"}


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    for name, packages in {"gone": '["gone-bin", "tools"]', "lost": '["lost", "tools"]', "odd": "[]"}.items():
        write_entry(
            tmp_path / "catalog" / name,
            binary="no-such-program-anywhere",
            start='"{binary}"',
            more=f"[install]\ndebian = {packages}",
        )
    run = ScriptedRun(tmp_path, monkeypatch)
    catalog = load_catalog([tmp_path / "catalog"])
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: DEBIAN)
    return run


def test_what_is_not_installed_takes_one_line_with_one_command_and_is_no_part_of_the_run(scripted):
    scripted.measure(study_text(LIMIT_AND_OPTIONAL))
    assert (
        "left out, not installed: gone, lost; to add them: apt-get install gone-bin tools lost\n"
        in scripted.talk
    )
    assert "gone is not measured" not in scripted.talk
    line = "left out, not installed: gone, lost; to add them: apt-get install gone-bin tools lost"
    run = scripted.run
    assert run.run.left_out == LeftOut(
        servers=["gone", "lost"], installable=["gone", "lost"], install="apt-get install gone-bin tools lost"
    )
    analysis = analyse(run)
    assert line in printed(closing(Report(run, analysis)), width=200)
    content = Report(run, analysis)
    assert f"{line}." in markdown_bytes(content).decode()
    assert f"L{line[1:]}" in Page(render_page(content)).text
    assert set(scripted.run.run.servers) == {"limit"}
    assert set(scripted.run.run.study["servers"]) == {"limit"}


def test_an_optional_server_of_a_version_that_cannot_do_it_is_left_out_with_the_reason(
    scripted, tmp_path, monkeypatch
):
    write_entry(
        tmp_path / "newer" / "old",
        binary=sys.executable,
        start='"{binary}"',
        more='[settings.fast]\ntype = "boolean"\ndefault = false\ndoc = "Fast."\n'
        '[[unsupported]]\nsettings = { fast = true }\nbefore = "99"\nreason = "it is fast from 99 on."\n',
    )
    catalog = load_catalog([tmp_path / "newer"])
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)
    servers = "[servers.limit]\n[servers.old]\nfast = true\n"
    scripted.measure(study_text(f"{servers}optional = true"))
    assert "left out: old, because old 3" in scripted.talk
    assert "it is fast from 99 on" in scripted.talk
    assert scripted.run.run.left_out is None
    [(name, reason)] = scripted.run.run.unfit.items()
    assert name == "old"
    assert reason.startswith("old 3")
    assert set(scripted.run.run.servers) == {"limit"}
    (tmp_path / "again").mkdir()
    required = ScriptedRun(tmp_path / "again", monkeypatch)
    monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)
    with pytest.raises(BadInput, match="it is fast from 99 on"):
        required.measure(study_text(servers))


def test_the_command_is_for_those_servers_that_this_system_has(scripted):
    scripted.measure(study_text(LIMIT_AND_OPTIONAL + "[servers.odd]\noptional = true"))
    assert "gone, lost, odd; to add gone, lost: apt-get install gone-bin tools lost\n" in scripted.talk


def test_without_a_known_package_the_line_has_no_command(scripted):
    scripted.measure(study_text("[servers.limit]\n[servers.odd]\noptional = true"))
    assert "left out, not installed: odd\n" in scripted.talk


def test_one_server_is_added_by_its_own_command(scripted):
    scripted.measure(study_text("[servers.limit]\n[servers.gone]\noptional = true"))
    assert "left out, not installed: gone; to add it: apt-get install gone-bin tools\n" in scripted.talk


def test_a_server_that_is_not_optional_is_reported_as_missing(scripted):
    scripted.measure(study_text("[servers.limit]\n[servers.gone]"))
    assert "gone is not measured: no program no-such-program-anywhere was found" in scripted.talk
    assert scripted.run.run.servers["gone"].status == "missing"


def test_an_optional_server_that_is_installed_is_measured(scripted):
    scripted.measure(study_text("[servers.limit]\noptional = true\n[servers.gone]\noptional = true"))
    assert {record.server for record in scripted.run.points} == {"limit"}
    assert scripted.run.run.left_out.servers == ["gone"]


def test_an_optional_server_that_is_asked_for_by_name_is_not_optional(scripted):
    with pytest.raises(NothingMeasured, match="gone is not measured"):
        scripted.measure(study_text(LIMIT_AND_OPTIONAL), only=["gone"])


def test_an_optional_server_that_is_installed_and_cannot_be_measured_has_trials(scripted, tmp_path):
    write_entry(tmp_path / "more" / "mute", binary="true", start='"{binary}", "{port}"')
    catalog = load_catalog([tmp_path / "more"])
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("loadcurve.runs.study.load_catalog", lambda _: catalog)
        scripted.measure(study_text("[servers.limit]\n[servers.mute]\noptional = true"))
    assert {trial.server for trial in scripted.run.run.order} == {"limit", "mute"}
