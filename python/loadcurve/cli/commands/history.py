"""The subcommand on histories: the figures of runs over time."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands.options import JsonOption, refuse_two_forms, runs_there
from loadcurve.cli.interrupts import raise_on_interrupts

HISTORY_FOLDER = Path("loadcurve-history")
"""Where a history is unless another place is named."""


def history(
    action: Annotated[str, typer.Argument(metavar="add|show", help="Add runs, or show what has changed.")],
    run_folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...", help="With add: run folders.", autocompletion=completion.run_folders
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="The folder of the history.")
    ] = HISTORY_FOLDER,
    commit: Annotated[
        str | None,
        typer.Option(metavar="REVISION", help="What was measured; default: that of the study's folder."),
    ] = None,
    html: Annotated[
        bool, typer.Option("--html", help="With show: also write a page, history.html, into the folder.")
    ] = False,
    printed: Annotated[
        Literal["text", "json", "openmetrics"], typer.Option("--format", help="With show: what is printed.")
    ] = "text",
    json_output: JsonOption = False,
) -> None:
    """Keep figures of runs over time, and show where they changed.

    `history add RUN...` adds one file for each run to a folder that Git can hold and merge. `history show`
    prints every series of figures, and its changes with their sizes.
    """
    runs = run_folders or []
    if action not in {"add", "show"} or (action == "add") != bool(runs):
        raise typer.BadParameter("expected add RUN..., or show")
    raise_on_interrupts()
    if action == "add":
        if html or json_output or printed != "text":
            raise typer.BadParameter("--html, --format and --json are options of show")
        from loadcurve.cli.history import add_command

        add_command(runs_there(runs), folder, commit)
    else:
        if commit is not None:
            raise typer.BadParameter("--commit is an option of add")
        refuse_two_forms(printed, json_output=json_output)
        from loadcurve.cli.history import show_command

        show_command(folder, "json" if json_output else printed, html=html)
