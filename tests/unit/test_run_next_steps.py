"""What a run on a terminal ends with: commands to try next, after a first look at a study alone."""

import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from loadcurve.cli.results import show_results
from loadcurve.cli.run import Ending, next_steps, program_name
from loadcurve.runs.study import RunOptions
from loadcurve.study.find import find_study
from support import synthetic_run as synthetic

FOLDER = Path("loadcurve-runs/quickstart-1")
OWN = Path("my.toml")


@pytest.fixture(autouse=True)
def _called_by_name(monkeypatch):
    monkeypatch.setattr("loadcurve.cli.run.program_name", lambda: "loadcurve")


def commands(argument, study_file, **options):
    shown = next_steps(argument, study_file, FOLDER, RunOptions(**options))
    if shown is None:
        return None
    return [line.strip() for line in shown.plain.splitlines() if line.strip().startswith("loadcurve")]


OPEN = f"loadcurve open {FOLDER}"


def test_a_shortened_run_of_a_bundled_study_leads_to_the_report_the_whole_study_and_ones_own():
    argument = "studies/quickstart.toml"
    found = commands(argument, find_study("quickstart"), quick=True)
    assert found == [OPEN, "loadcurve run studies/quickstart.toml", "loadcurve init"]
    # A checkout has the bundled studies under another path.
    assert commands(argument, Path(__file__).parents[2] / argument, quick=True) == found


def test_a_whole_run_of_a_bundled_study_leads_to_the_report_and_ones_own():
    assert commands("quickstart", find_study("quickstart")) == [OPEN, "loadcurve init"]


def test_a_shortened_run_of_ones_own_study_leads_to_the_report_and_the_whole_study():
    assert commands("my.toml", OWN, quick=True) == [OPEN, "loadcurve run my.toml"]


def test_a_whole_run_of_ones_own_study_ends_without_advice():
    assert commands("my.toml", OWN) is None


def test_the_command_is_written_as_a_shell_finds_it(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "loadcurve"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["bin/loadcurve"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program_name() == "bin/loadcurve"
    monkeypatch.setenv("PATH", str(program.parent))
    assert program_name() == "loadcurve"


@pytest.mark.parametrize(("is_interrupted", "said"), [(False, ["Next", "open it"]), (True, [])])
def test_what_to_try_next_comes_before_the_path_of_the_report(tmp_path, capsys, is_interrupted, said):
    run = synthetic.run_record()
    # Without the server that is missing each planned one has usable points.
    planned = [one for one in run.order if one.server in {"nginx", "apache", "tiny"}]
    folder = synthetic.write_run(tmp_path, run.model_copy(update={"order": planned}))
    talk = Console(file=sys.stdout)
    ending = Ending(talk, Text("Next\nopen it"), interrupted=is_interrupted)
    show_results(folder, talk, interrupted=False, before_path=ending)
    *before, path = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert path == str(folder / "report.html")
    assert before[len(before) - len(said) :] == said
    assert ending.usable == (not is_interrupted)
