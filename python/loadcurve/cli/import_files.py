"""``loadcurve import``."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import typer

from loadcurve.cli.console import new_console
from loadcurve.cli.run import show_results
from loadcurve.errors import BadInput
from loadcurve.imported.access_log import write_requests
from loadcurve.imported.folder import write_run
from loadcurve.imported.pattern import named_files, point_of
from loadcurve.imported.plan import read_files
from loadcurve.result.run_files import RUNS_FOLDER

AS_REQUESTS = "requests"
"""What ``--as`` says where an access log is to become a list of requests."""


def import_command(
    files: Sequence[str],
    *,
    named: str | None,
    server: str | None,
    point: Sequence[str],
    trials: str,
    out: Path | None,
) -> None:
    """Make a run of files, and print its summary and, last, its report's path.

    Raises ``BadInput``: a file is not what it should be; nothing was written then.
    """
    if named == AS_REQUESTS:
        _write_requests(files, server=server, point=point, trials=trials, out=out)
        return
    read = read_files(named_files(files, trials), named, server, point_of(point))
    folder = out or RUNS_FOLDER / f"import-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    command = ["loadcurve", "import", *files]
    for option, value in (("--as", named), ("--server", server), ("--trials", trials or None)):
        command += [option, value] if value is not None else []
    for value in point:
        command += ["--point", value]
    write_run(folder, read, command)
    show_results(folder, new_console(stderr=True), interrupted=False)


def _write_requests(
    files: Sequence[str], *, server: str | None, point: Sequence[str], trials: str, out: Path | None
) -> None:
    if len(files) != 1 or server is not None or point or trials:
        raise BadInput("--as requests: expected one access log, and of the other options only --out")
    target = out or Path("requests.txt")
    taken, paths, left_out = write_requests(Path(files[0]), target)
    talk = new_console(stderr=True)
    talk.print(
        f"{taken:,} requests of {paths:,} paths; {left_out:,} by other methods or without a path left out"
    )
    talk.print(f'in a study: requests = "{target}" with pick = "weighted"', markup=False)
    typer.echo(target)
