"""`loadcurve open` opens a run's report in the browser that the person has, and prints its path."""

from pathlib import Path

import pytest

from loadcurve.cli.open import browser_command
from loadcurve.host import own_files
from loadcurve.report.files import write_own_page
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
    monkeypatch.setenv("BROWSER", browser)
    ended = Command(tmp_path).run("open", "run")
    assert (ended.returncode, ended.stdout) == (0, "run/report.html\n")
    assert said in ended.stderr


FOREIGN = "<script>alert('whoever has made this folder')</script>"


def spoiled(folder: Path) -> None:
    (folder / "report.html").write_text(FOREIGN)


def linked(folder: Path) -> None:
    (folder / "other.html").write_text(FOREIGN)
    (folder / "report.html").symlink_to("other.html")


def changed(folder: Path) -> None:
    assert Command(folder.parent).run("report", "run").returncode == 0
    with (folder / "report.html").open("a") as page:
        page.write(FOREIGN)


@pytest.mark.parametrize("prepare", [spoiled, linked, changed])
def test_a_report_that_is_not_of_our_making_is_made_anew(tmp_path, programs, monkeypatch, prepare):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BROWSER", "browse")
    folder = synthetic.write_run(tmp_path / "run")
    prepare(folder)
    assert Command(tmp_path).run("open", "run").returncode == 0
    report = folder / "report.html"
    assert not report.is_symlink()
    assert FOREIGN not in report.read_text()
    assert "nginx" in report.read_text()


def test_a_report_of_our_making_is_opened_as_it_is_wherever_its_folder_has_gone(
    tmp_path, programs, monkeypatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BROWSER", "browse")
    synthetic.write_run(tmp_path / "run")
    assert Command(tmp_path).run("report", "run").returncode == 0
    (tmp_path / "run").rename(tmp_path / "moved")
    written = (tmp_path / "moved" / "report.html").stat()
    assert Command(tmp_path).run("open", "moved").returncode == 0
    # Not written again: the file is the same one.
    assert (tmp_path / "moved" / "report.html").stat().st_ino == written.st_ino


def test_what_another_user_may_write_into_the_state_makes_no_page_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    page = tmp_path / "page.html"
    write_own_page(page, FOREIGN)
    assert own_files.is_own("pages", page)
    assert not own_files.is_own("studies", page)
    [known] = (tmp_path / "loadcurve" / "pages").iterdir()
    known.chmod(0o666)
    assert not own_files.is_own("pages", page)


def test_a_folder_that_is_no_run_is_bad_input(tmp_path):
    assert Command(tmp_path).run("open", ".").returncode == 2
