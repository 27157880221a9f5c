"""An installation without the extra ``report``: loads run, and whatever else says what to install."""

import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from loadcurve.cli.report_packages import OF_REPORTS
from loadcurve.exit_codes import EXIT_DONE, EXIT_INVALID
from loadcurve.result.folder import read_run
from support.limit_server import limit_server

PROJECT = Path(__file__).parents[2]
MODULES = {"vl_convert_python": "vl_convert"}
"""Packages whose module has another name."""
WITHOUT = f"""
import sys
for name in {sorted(OF_REPORTS)}:
    sys.modules[name] = None
"""


def run_without(program: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program for which the packages of reports cannot be imported."""
    command = [sys.executable, "-c", WITHOUT + program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command so."""
    return run_without("import sys; from loadcurve.cli.main import main; main()", *words)


def test_the_extra_has_the_packages_that_the_command_knows_to_be_its():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    names = [Requirement(one).name.replace("-", "_") for one in project["optional-dependencies"]["report"]]
    assert {MODULES.get(name, name) for name in names} == OF_REPORTS


@pytest.mark.parametrize("words", [["--help"], ["load", "--help"], ["servers"], ["studies"], ["generators"]])
def test_what_needs_no_report_works_without_its_packages(words: list[str]):
    finished = command(*words)
    assert (finished.returncode, finished.stderr) == (EXIT_DONE, "")


def test_a_load_runs_without_the_packages_of_reports():
    # Nobody listens on the discard port of this machine, which is what the command must come to say.
    finished = command("load", "http://127.0.0.1:9/", "-d", "100ms", "--timeout", "500ms")
    assert finished.returncode == 4
    assert "127.0.0.1:9" in finished.stderr
    assert "pip" not in finished.stderr


@pytest.mark.parametrize(
    "words", [["--html", "page.html"], ["--watch"], ["--out", "kept", "--html", "page.html"]]
)
def test_a_page_that_cannot_be_written_is_refused_before_the_load(words: list[str], tmp_path):
    # A listener that would have a connection waiting if the load had begun.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        places = [str(tmp_path / word) if word in {"page.html", "kept"} else word for word in words]
        finished = command("load", url, "-d", "1h", *places)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert finished.returncode == 2
    asked = next(word for word in ("--html", "--watch") if word in words)
    assert finished.stderr.startswith(f"loadcurve: {asked}")
    assert finished.stderr.endswith("pip install 'loadcurve[report]'\n")
    assert list(tmp_path.iterdir()) == []


def test_a_kept_load_warns_before_it_runs_and_keeps_its_records(tmp_path):
    content = tmp_path / "content"
    content.mkdir()
    (content / "x").write_text("x")
    with limit_server(content) as address:
        finished = command(
            "load", f"http://{address}/x", "-n", "10", "-c", "1", "--json", "--out", tmp_path / "kept"
        )
    # So short a load may be judged invalid on a busy machine.
    assert finished.returncode in {EXIT_DONE, EXIT_INVALID}, finished.stderr
    warning, *_, said = finished.stderr.splitlines()
    assert warning.endswith("pip install 'loadcurve[report]'")
    assert said == str(tmp_path / "kept")
    run = read_run(tmp_path / "kept")
    assert run.complete
    assert run.points[0].load.requests.answered == 10


def test_a_load_in_python_requires_no_packages_of_reports():
    finished = run_without("import loadcurve; loadcurve.load; print(loadcurve.Load.__name__)")
    assert (finished.stdout, finished.stderr) == ("Load\n", "")


@pytest.mark.parametrize("words", [["run", "quickstart"], ["capacity", "quickstart", "--slo", "p99 < 1s"]])
def test_a_study_says_what_to_install(words: list[str]):
    finished = command(*words)
    assert finished.returncode == 2
    assert "install them with: pip install 'loadcurve[report]'" in finished.stderr
    assert finished.stdout == ""
