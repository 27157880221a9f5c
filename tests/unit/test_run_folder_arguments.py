"""What is named as a run folder is looked at before anything else is done."""

import sys

import pytest
from typer.testing import CliRunner

from loadcurve.cli import watch
from loadcurve.cli.main import app
from loadcurve.errors import BadInput
from loadcurve.result.run_files import new_folder, no_run_folder
from support import synthetic_run as synthetic


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "nowhere"],
        ["report", "run", "nowhere"],
        ["report", "nowhere", "--findings"],
        ["report", "nowhere", "--format", "md"],
        ["compare", "run", "nowhere"],
        ["compare", "nowhere", "run"],
        ["watch", "nowhere"],
        ["run", "--resume", "nowhere"],
    ],
    ids=" ".join,
)
def test_a_folder_that_is_no_run_is_named(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(watch, "BEGINS_WITHIN_S", 0.0)
    synthetic.write_run(tmp_path / "run")
    finished = CliRunner().invoke(app, arguments)
    assert isinstance(finished.exception, BadInput)
    assert str(finished.exception).startswith("nowhere is not a run folder: there is no such folder. Give")
    assert finished.exception.exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "nowhere.toml"],
        ["capacity", "nowhere.toml", "--slo", "p99 < 1s"],
        ["crosscheck", "nowhere.toml"],
    ],
    ids=" ".join,
)
def test_a_study_that_is_not_there_is_named_before_what_runs_one_is_imported(arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, f"loadcurve.cli.{arguments[0]}", None)
    finished = CliRunner().invoke(app, arguments)
    assert isinstance(finished.exception, BadInput)
    assert str(finished.exception).startswith("nowhere.toml: there is no such file, and no bundled study")


@pytest.mark.parametrize("options", [[], ["--as", "requests"]], ids=["results", "a log"])
def test_a_file_that_is_not_there_is_named_before_what_reads_it_is_imported(options, monkeypatch):
    monkeypatch.setitem(sys.modules, "loadcurve.cli.import_files", None)
    finished = CliRunner().invoke(app, ["import", "nowhere.csv", *options])
    assert isinstance(finished.exception, BadInput)
    assert str(finished.exception) == "nowhere.csv cannot be read: No such file or directory."


def test_runs_that_begin_in_one_second_have_folders_of_their_own():
    assert len({new_folder("quickstart") for _ in range(20)}) > 18


def test_a_folder_of_runs_and_a_file_are_told_apart_from_a_run(tmp_path):
    for name in "dcba":
        synthetic.write_run(tmp_path / "runs" / name)
    (tmp_path / "runs.zip").touch()
    (tmp_path / "empty").mkdir()
    said = {name: str(no_run_folder(tmp_path / name)) for name in ("runs", "runs.zip", "empty")}
    runs = tmp_path / "runs"
    assert said["runs"].endswith(
        f"but has some: give one of {runs / 'a'}, {runs / 'b'}, {runs / 'c'} and 1 more."
    )
    assert "runs.zip is not a run folder: it is a file." in said["runs.zip"]
    assert said["runs.zip"].endswith("known by the end of its name: call it runs.loadcurve.zip.")
    assert "empty is not a run folder: it contains no run.json." in said["empty"]
