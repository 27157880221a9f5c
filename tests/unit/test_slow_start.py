"""A program that takes long to be ready: what is said of it meanwhile, and what of one that ends."""

import re
import threading
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import create_autospec

import pytest

from loadcurve.runs.slow_start import slow_start_said
from loadcurve.server import reach
from loadcurve.server.catalog import load_catalog
from loadcurve.server.environment_beside import advice_on_module
from loadcurve.server.failure import ServerFailure
from loadcurve.server.found import StartableServer
from loadcurve.server.live import LiveServer

LACKS = "    from flask import Flask\nModuleNotFoundError: No module named 'flask'\n"


def server_that_printed(text: str) -> LiveServer:
    server = create_autospec(LiveServer, instance=True)
    server.log_tail.return_value = text
    server.why_not_ready.return_value = "the last status was 500"
    return server


@pytest.mark.parametrize(
    ("printed", "said"),
    [("compiling\n", "Its output so far:\n    compiling"), ("", "It has printed nothing")],
)
def test_what_a_slow_program_has_printed_is_said_while_it_is_waited_for(printed: str, said: str):
    notes, has_spoken = [], threading.Event()

    def say(text: str) -> None:
        notes.append(text)
        has_spoken.set()

    found = StartableServer(load_catalog()["command"])
    with slow_start_said("mine", found, server_that_printed(printed), say, patience_s=0.0):
        assert has_spoken.wait(60)
    assert len(notes) == 1
    assert re.match(
        r"mine is not ready after 0 s, and has up to \d+ s: the last status was 500\. It", notes[0]
    )
    assert said in notes[0]


def test_another_reason_that_comes_later_is_said_once():
    notes, has_spoken = [], threading.Event()

    def say(text: str) -> None:
        notes.append(text)
        if len(notes) == 2:
            has_spoken.set()

    server = server_that_printed("x")
    server.why_not_ready.side_effect = chain(["refused", "refused"], repeat("it listens on port 1"))
    found = StartableServer(load_catalog()["command"])
    with slow_start_said("mine", found, server, say, patience_s=0.0, interval_s=0.001):
        assert has_spoken.wait(60)
    assert notes[0].startswith("mine is not ready after 0 s, and has up to 60 s: refused. It")
    assert notes[1:] == ["mine is still not ready: it listens on port 1."]


def test_nothing_is_said_of_a_program_that_is_ready_soon_or_of_the_catalogue():
    notes: list[str] = []
    server, catalog = server_that_printed("x"), load_catalog()
    with slow_start_said("mine", StartableServer(catalog["command"]), server, notes.append, patience_s=600):
        pass
    with slow_start_said("nginx", StartableServer(catalog["nginx"]), server, notes.append, patience_s=0.0):
        pass
    assert notes == []


@pytest.fixture
def application(tmp_path: Path) -> Path:
    """A folder with an environment that has the program gunicorn."""
    program = tmp_path / "venv/bin/gunicorn"
    program.parent.mkdir(parents=True)
    program.touch()
    return tmp_path


def test_an_environment_that_was_not_activated_is_named_where_a_package_is_missing(application: Path):
    said = advice_on_module(application, Path("/usr/bin/gunicorn"), LACKS)
    assert "It ran by /usr/bin/gunicorn, which lacks the package flask" in said
    assert said.endswith("begin start with venv/bin/gunicorn.")


@pytest.mark.parametrize(
    ("program", "said"),
    [("/usr/bin/gunicorn", "Address already in use"), ("/usr/bin/hypercorn", LACKS)],
)
def test_no_environment_is_named_where_it_would_not_help(application: Path, program: str, said: str):
    assert advice_on_module(application, Path(program), said) == ""
    assert advice_on_module(application, application / "venv/bin/gunicorn", LACKS) == ""


@pytest.mark.parametrize(
    ("interpreter", "said"),
    [("python3", "cannot run {}/python3, by which {}/app is run"), ("gone", "{}/gone, which does not exist")],
)
def test_the_interpreter_of_a_script_that_a_user_cannot_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interpreter: str, said: str
):
    script = tmp_path / "app"
    script.write_text(f"#!{tmp_path}/{interpreter} -I\nprint()\n")
    (tmp_path / "python3").touch()
    monkeypatch.setattr(reach, "may_run", lambda _user, program: program == script)
    monkeypatch.setattr(reach, "closed_folder", lambda _user, _path: Path("/root"))
    user = SimpleNamespace(name="nobody")
    with pytest.raises(ServerFailure) as caught:
        reach.reachable_program("mine", user, script, [], tmp_path)
    assert said.replace("{}", str(tmp_path)) in caught.value.text
