"""The notebook of the documentation: its cells, one after the other here, with servers of a script.

tests/e2e/test_notebook.py has a kernel of Jupyter, and real servers.
"""

import pytest
from docs.run_notebook import read_notebook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from support.scripted_run import ScriptedRun
from support.tiny_study import study_text

SHORTER = {
    '"quickstart", quick=True, only=["limit", "persistent"], trials=3': '"tiny.toml"',
    'duration="2s"': 'duration="100ms"',
}


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A shell as that of a kernel, which shows things in every form that they have."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.display_formatter.active_types = shell.display_formatter.format_types
    return shell


def test_each_cell_runs_and_shows_what_the_repository_has(shell, tmp_path, monkeypatch):
    ScriptedRun(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(study_text("[servers.limit]\n[servers.persistent]"))
    for cell in read_notebook().cells:
        if cell.cell_type != "code":
            continue
        source = cell.source
        for there, instead in SHORTER.items():
            source = source.replace(there, instead)
        with capture_output() as said:
            ended = shell.run_cell(source)
        ended.raise_error()
        shown = [] if ended.result is None else [set(shell.display_formatter.format(ended.result)[0])]
        if "run.findings" in source:
            # How many there are depends on what was measured.
            continue
        if ended.result is None and said.stdout:
            shown = [{"stdout"}]
        assert shown == [set(output.get("data", {output.get("name")})) for output in cell.outputs], source
