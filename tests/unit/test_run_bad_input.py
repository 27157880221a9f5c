"""`loadcurve run`: a study or an option that cannot be used is refused before anything happens."""

import tempfile

import pytest

from support.command import Command
from support.tiny_study import study_text


@pytest.fixture
def command(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Command(tmp_path / "work")


def test_a_mistake_in_the_study_is_named_with_its_line(command):
    command.write("tiny.toml", study_text(load="conections = 3\nrequests_total = 10"))
    finished = command.run("run", "tiny.toml", "--out", "run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "tiny.toml:10: " in finished.stderr
    assert 'did you mean "connections"?' in finished.stderr
    assert_nothing_happened(command)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.toml"], "nowhere.toml: there is no such file"),
        (["quikstart"], 'did you mean "quickstart"?'),
        (["tiny.toml", "--only", "limmit"], 'did you mean "limit"?'),
        (["tiny.toml", "--trials", 0], "--trials"),
        (["tiny.toml", "--catalog", "nowhere"], "nowhere is not a folder"),
        (["tiny.toml", "--watch-address", "127.0.0.1:0"], "--watch-address requires --watch"),
        ([], "expected a study file, or --resume RUN"),
        (["--resume", "begun", "--trials", 3], "a resumed run keeps its original options"),
    ],
)
def test_a_mistake_on_the_command_line_is_named(arguments, said, command):
    command.write("tiny.toml", study_text())
    command.write("begun/run.json", "{}")
    out = [] if "begun" in arguments else ["--out", "run"]
    finished = command.run("run", *arguments, *out)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert said in finished.stderr
    assert_nothing_happened(command)


@pytest.mark.parametrize(
    ("study", "temporary"),
    [("tiny-\udcff.toml", "tmp"), ("tiny.toml", "tmp-\udcff")],
    ids=["study", "TMPDIR"],
)
def test_a_path_that_no_record_can_name_is_refused(study, temporary, command, tmp_path, monkeypatch):
    """A byte that is no UTF-8 in a path is one of these surrogates in Python."""
    command.write(study, study_text())
    (tmp_path / temporary).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / temporary))
    finished = command.run("run", study, "--out", "run")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "the path is not valid UTF-8, but records contain it" in finished.stderr
    assert_nothing_happened(command)


def assert_nothing_happened(command):
    """No result was written, and no start of a server was recorded."""
    assert not (command.work / "run").exists()
    assert not (command.work.parent / "state").exists()
