"""The subcommand on published results: a folder of them that grows, with its pages."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from loadcurve.cli import completion
from loadcurve.cli.commands.options import runs_there
from loadcurve.cli.interrupts import raise_on_interrupts
from loadcurve.errors import BadInput
from loadcurve.result.run_files import is_of_suite, runs_of_suite


def publish(
    folder: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder of published results.")],
    run_folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...", help="Run folders, or those of suites.", autocompletion=completion.run_folders
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the machine is called; default: its processor and memory."),
    ] = None,
    private: Annotated[
        bool,
        typer.Option("--private-facts", help="Keep folders, addresses and names of machines and people."),
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the published results alone; nothing is written.")
    ] = False,
    pages: Annotated[
        bool, typer.Option("--pages", help="Build the pages of what is published already; add no run.")
    ] = False,
) -> None:
    """Add runs to a static site of published results.

    The site is a folder for Git: one file for each run, and pages over all. A file has every trial, with
    intervals, verdicts, versions, settings and digests, and nothing that says whose machine it was. `--check`
    is for the folder's own checks before a change is accepted.
    """
    runs = run_folders or []
    if [check, pages, bool(runs)].count(True) != 1:
        raise typer.BadParameter("expected RUN..., or --check or --pages without any")
    if not runs and (machine is not None or private):
        raise typer.BadParameter("--machine and --private-facts are options of RUN... alone")
    raise_on_interrupts()
    from loadcurve.cli.publish import check_command, pages_command, publish_command

    if check:
        check_command(folder)
    elif pages:
        pages_command(folder)
    else:
        from loadcurve.analysis.publication import Publication

        found = [one for run in runs for one in _runs_in(run)]
        publish_command(runs_there(found), folder, Publication(machine=machine, private=private))


def _runs_in(folder: Path) -> list[Path]:
    """Return the run of a folder, or those of a suite; raises ``BadInput`` where no run of it has begun."""
    if not is_of_suite(folder):
        return [folder]
    if found := runs_of_suite(folder):
        return found
    raise BadInput(
        f"{folder} is the folder of a suite, and no run of it has begun: there is nothing to publish. To "
        f"measure its studies: loadcurve run SUITE --resume {shlex.quote(str(folder))}"
    )
