"""What the command says at the end of a run."""

from collections.abc import Callable

import pytest
import typer
from rich.console import Console

from loadcurve.analysis import analysis
from loadcurve.cli import main
from loadcurve.cli.report import report_command
from loadcurve.cli.results import show_results
from loadcurve.errors import LoadcurveError
from loadcurve.explain import all as explain
from loadcurve.explain.observation import Rule
from support import synthetic_run as synthetic


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(lambda folder: show_results(folder, Console(), interrupted=False), id="at the end"),
        pytest.param(lambda folder: report_command(folder, None), id="the report again"),
    ],
)
def test_what_is_odd_is_looked_for_once_for_each_server(show: Callable, tmp_path, monkeypatch):
    looked_at = []

    def find(subject):
        looked_at.append(subject.name)
        return []

    monkeypatch.setattr(explain, "RULES", [Rule(0, find)])
    folder = synthetic.write_run(tmp_path / "run")
    show(folder)
    assert looked_at
    assert len(looked_at) == len(set(looked_at))


def without_memory() -> None:
    raise MemoryError


def test_a_report_without_memory_says_so_and_how_to_make_it_later(tmp_path, monkeypatch):
    folder = synthetic.write_run(tmp_path / "run")
    monkeypatch.setattr(analysis, "findings", lambda _: without_memory())
    said = r"not enough memory.* What was measured is kept.* loadcurve report"
    with pytest.raises(LoadcurveError, match=said):
        show_results(folder, Console(), interrupted=False)


def cannot_be_loaded() -> None:
    raise ImportError("_ufuncs.so: failed to map segment from shared object")


@pytest.mark.parametrize(
    ("fails", "said"), [(without_memory, "not enough memory"), (cannot_be_loaded, "failed to map segment")]
)
def test_any_command_without_memory_ends_with_a_sentence(fails, said, monkeypatch, capfd):
    failing = typer.Typer()
    failing.command()(fails)
    monkeypatch.setattr(main, "app", lambda: failing([], standalone_mode=False))
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    said_on_stderr = capfd.readouterr().err
    assert said in said_on_stderr
    assert "Traceback" not in said_on_stderr
