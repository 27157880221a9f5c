"""Run ``docs/notebook.ipynb`` and keep what it shows, as ``make notebook`` does."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("notebook.ipynb")
LANGUAGE = {"name": "python"}


def read_notebook() -> nbformat.NotebookNode:
    """Return the notebook as it is in the repository."""
    return nbformat.read(NOTEBOOK, as_version=4)


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Execute all cells in a new kernel that works in this folder, and put what they show into the notebook.

    Raises ``CellExecutionError`` with the traceback of the first cell that fails.
    """
    NotebookClient(
        notebook,
        kernel_name="python3",
        # It warns that its ports on the loopback interface are not encrypted.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        timeout=None,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    # The rest of it is the version of this Python, which would change with each machine.
    notebook.metadata["language_info"] = LANGUAGE


def main() -> None:
    """Write the notebook anew; its run folder is not kept."""
    notebook = read_notebook()
    with tempfile.TemporaryDirectory() as folder:
        execute(notebook, Path(folder))
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
