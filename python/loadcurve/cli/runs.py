"""``loadcurve runs``: the runs in a folder."""

import json
from pathlib import Path

import typer

from loadcurve.cli.console import new_console
from loadcurve.cli.damage import fail_where_left_out
from loadcurve.report.runs import COMPUTING_S, list_runs, runs_json, runs_table


def runs_command(folder: Path, *, json_output: bool, html: bool, every_answer: bool = False) -> None:
    """List the runs in a folder as a table or as JSON; with ``html``, write the index page, too.

    Answers that nobody has computed yet are computed for half a second, or all of them, as for the page.

    Raises ``LoadcurveError``: the folder cannot be listed, or the page cannot be written.
    """
    found = list_runs(folder, computing_s=None if every_answer or html else COMPUTING_S)
    if json_output:
        typer.echo(json.dumps(runs_json(found), indent=2))
    else:
        new_console().print(runs_table(found))
    if html:
        from loadcurve.report.runs_page import write_index

        index = write_index(found)
        new_console(stderr=json_output).print(index, soft_wrap=True)
    fail_where_left_out(found.not_computed)
