"""``loadcurve import``."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from loadcurve.cli.console import new_console
from loadcurve.cli.run import show_results
from loadcurve.imported.folder import write_run
from loadcurve.imported.pattern import named_files, point_of
from loadcurve.imported.plan import read_files
from loadcurve.result.run_files import RUNS_FOLDER


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
    read = read_files(named_files(files, trials), named, server, point_of(point))
    folder = out or RUNS_FOLDER / f"import-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    command = ["loadcurve", "import", *files]
    for option, value in (("--as", named), ("--server", server), ("--trials", trials or None)):
        command += [option, value] if value is not None else []
    for value in point:
        command += ["--point", value]
    write_run(folder, read, command)
    show_results(folder, new_console(stderr=True), interrupted=False)
