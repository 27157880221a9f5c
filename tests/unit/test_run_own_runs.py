"""Resuming a run of this user's: what is known of it, and what is compared before anything is started."""

from pathlib import Path

import pytest

from loadcurve.errors import BadInput
from loadcurve.host.facts import host_facts
from loadcurve.result.folder import RunFolder, read_run
from loadcurve.runs.own_runs import BEGUN_RUNS
from loadcurve.runs.resume import interrupted_run
from loadcurve.runs.study import StudyRun
from support.scripted_run import ScriptedRun
from support.tiny_study import study_text

STUDY = study_text("[servers.limit]", connections="[1]")


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedRun:
    """A run that was interrupted at its first record."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    scripted = ScriptedRun(tmp_path, monkeypatch)
    with monkeypatch.context() as interrupting:
        interrupting.setattr(RunFolder, "append", interrupt)
        with pytest.raises(KeyboardInterrupt):
            scripted.measure(STUDY)
    return scripted


def resumed(scripted: ScriptedRun) -> StudyRun:
    display = scripted.display()
    run = StudyRun.resume(interrupted_run(scripted.folder, None), display)
    display.begins(run.studies, run.order, run.first_block)
    return run


def test_a_run_is_known_until_it_is_complete(scripted: ScriptedRun, tmp_path: Path):
    begun = tmp_path / "state" / "loadcurve" / BEGUN_RUNS
    assert [file.read_text() for file in begun.iterdir()] == [f"{scripted.folder}\n"]
    resumed(scripted).measure()
    assert read_run(scripted.folder).complete
    assert list(begun.iterdir()) == []


def test_no_server_is_started_where_something_has_changed_since_the_run_was_begun(
    scripted: ScriptedRun, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("loadcurve.runs.study.host_facts", lambda: {**host_facts(), "kernel": "another one"})
    run = resumed(scripted)
    monkeypatch.setattr(
        "loadcurve.runs.planned.try_server", lambda *_, **_named: pytest.fail("a server was started")
    )
    with pytest.raises(BadInput, match=r"host\.kernel.* is another one"):
        run.measure()
