"""The index page of a folder of runs."""

from pathlib import Path
from urllib.parse import quote

from loadcurve import units
from loadcurve.files import is_regular
from loadcurve.report.files import write_part
from loadcurve.report.page import rendered
from loadcurve.report.runs import COLUMNS, RunList, measured, started
from loadcurve.result.run_files import REPORT_FILE

INDEX_FILE = "index.html"


def write_index(found: RunList) -> Path:
    """Write ``index.html`` into the folder of the runs and return its path.

    It links to the report of each run that has one, by a relative path, so that the folder can be moved.

    Raises ``LoadcurveError`` where it cannot be written.
    """
    path = found.folder / INDEX_FILE
    write_part(path, render_index(found).encode())
    return path


def render_index(found: RunList) -> str:
    """Return the index page; whether a run has a report is looked up in its folder."""
    values = {
        "folder": found.folder.resolve().name,
        "found": found,
        "reports": {
            run.folder: f"{quote(run.name)}/{REPORT_FILE}"
            for run in found.runs
            if is_regular(run.folder / REPORT_FILE)
        },
        "columns": COLUMNS,
        "started": started,
        "measured": measured,
        "plural": units.plural,
    }
    return rendered("runs.html.jinja", ["report.css", "history.css"], [], values)
