"""The notebook of the documentation runs in a kernel of Jupyter."""

import nbformat
import pytest
from docs.run_notebook import execute, read_notebook

from support.tiny_study import study_text

SHORTER = {
    '"quickstart", quick=True, only=["limit", "persistent"], trials=3': '"tiny.toml"',
    'duration="2s"': 'duration="100ms"',
}


def shown(cell: nbformat.NotebookNode) -> list[set[str]]:
    """The forms of each thing that a cell shows, such as HTML and text."""
    return [set(output.get("data", {output.get("name")})) for output in cell.outputs]


def executed(folder, replaced: dict[str, str]) -> nbformat.NotebookNode:
    notebook = read_notebook()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
        for there, instead in replaced.items():
            cell.source = cell.source.replace(there, instead)
    sources = "\n".join(cell.source for cell in notebook.cells)
    assert all(instead in sources for instead in replaced.values())
    execute(notebook, folder)
    return notebook


# tests/unit/test_notebook_cells.py runs the cells without a kernel, and without a load on real servers.
@pytest.mark.long
@pytest.mark.parametrize("replaced", [SHORTER, {}], ids=["shorter", "as it is"])
def test_each_cell_runs_and_shows_what_the_repository_has(tmp_path, replaced):
    (tmp_path / "tiny.toml").write_text(study_text("[servers.limit]\n[servers.persistent]"))
    notebook = executed(tmp_path, replaced)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kept = [cell for cell in read_notebook().cells if cell.cell_type == "code"]
    findings = next(number for number, cell in enumerate(code) if "run.findings" in cell.source)
    assert kept[findings].outputs, "a run without findings would show nothing there"
    del code[findings], kept[findings]
    assert [shown(cell) for cell in code] == [shown(cell) for cell in kept]
    assert "\x1b" not in nbformat.writes(notebook)
    (picture,) = [
        cell.outputs[0].data["text/html"] for cell in code if cell.source.startswith("run = loadcurve.run")
    ]
    assert picture.count("<svg") == 2
