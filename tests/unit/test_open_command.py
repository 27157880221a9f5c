"""`loadcurve open` opens a run's report in the browser that the person has, and prints its path."""

from pathlib import Path

import pytest

from loadcurve.cli.open import browser_command
from support import synthetic_run as synthetic
from support.command import Command

SCREEN = {"DISPLAY": ":0"}


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with `xdg-open` and a browser that writes down what it was to open."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("xdg-open", "browse"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    for variable in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        (SCREEN, ["xdg-open", "/r.html"]),
        ({"WAYLAND_DISPLAY": "w"}, ["xdg-open", "/r.html"]),
        (SCREEN | {"BROWSER": "browse"}, ["browse", "/r.html"]),
        ({"BROWSER": "no-such-browser:browse --new %s"}, ["browse", "--new", "/r.html"]),
        ({"BROWSER": "no-such-browser"}, None),
        ({}, None),
    ],
)
def test_the_browser_named_comes_first_and_then_that_of_the_screen(programs, environment, command):
    found = browser_command(Path("/r.html"), environment)
    assert found == command


def test_the_report_is_made_where_it_is_missing_and_opened(tmp_path, programs, monkeypatch):
    folder = synthetic.write_run(tmp_path / "run")
    monkeypatch.setenv("BROWSER", "browse")
    ended = Command(tmp_path).run("open", "run")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "run/report.html\n", "")
    assert (tmp_path / "opened").read_text() == f"{tmp_path}/run/report.html\n"
    assert (folder / "report.html").is_file()


@pytest.mark.parametrize(
    ("browser", "said"), [("", "no browser was found"), ("false", "false did not open it")]
)
def test_without_a_browser_the_path_is_the_answer(tmp_path, programs, monkeypatch, browser, said):
    synthetic.write_run(tmp_path / "run")
    (tmp_path / "run" / "report.html").touch()
    monkeypatch.setenv("BROWSER", browser)
    ended = Command(tmp_path).run("open", "run")
    assert (ended.returncode, ended.stdout) == (0, "run/report.html\n")
    assert said in ended.stderr


def test_a_folder_that_is_no_run_is_bad_input(tmp_path):
    assert Command(tmp_path).run("open", ".").returncode == 2
