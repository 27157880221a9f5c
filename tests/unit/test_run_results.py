"""What the command says at the end of a run."""

from collections.abc import Callable

import pytest
from rich.console import Console

from loadcurve.cli.report import report_command
from loadcurve.cli.run import show_results
from loadcurve.explain import all as explain
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

    monkeypatch.setattr(explain, "FINDERS", (find,))
    folder = synthetic.write_run(tmp_path / "run")
    show(folder)
    assert looked_at
    assert len(looked_at) == len(set(looked_at))
