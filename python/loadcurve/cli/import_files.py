"""``loadcurve import``."""

import re
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from loadcurve.cli.console import new_console
from loadcurve.cli.results import results_prepared, show_results
from loadcurve.errors import BadInput
from loadcurve.imported.access_log import RequestFilter
from loadcurve.imported.folder import write_run
from loadcurve.imported.left_out import LeftOut
from loadcurve.imported.pattern import named_files, point_of
from loadcurve.imported.plan import Imported, read_files
from loadcurve.imported.recording import write_recording
from loadcurve.imported.weighted import write_requests
from loadcurve.result.run_files import new_folder
from loadcurve.units import plural

_METHOD = re.compile(r"[A-Za-z]{1,20}", re.ASCII)
_STATUS = re.compile(r"[1-5](?:xx|\d\d)", re.ASCII)
_FILES_SHOWN_MAX = 5
AS_REQUESTS, AS_RECORDING = "requests", "recording"
"""What ``--as`` says where an access log is to become a list of requests, with weights or with times."""


def import_command(
    files: Sequence[str],
    *,
    named: str | None,
    server: str | None,
    point: Sequence[str],
    trials: str,
    method: str | None = None,
    statuses: str | None = None,
    out: Path | None,
) -> None:
    """Make a run of files, and print its summary and, last, its report's path.

    Raises ``BadInput``: a file is not what it should be; nothing was written then.
    """
    if named in (AS_REQUESTS, AS_RECORDING):
        if len(files) != 1 or server is not None or point or trials:
            raise BadInput(
                f"--as {named}: expected one access log, and no options but --method, --status and --out"
            )
        write = _write_requests if named == AS_REQUESTS else _write_recording
        write(Path(files[0]), out or Path(f"{named}.txt"), _wanted(method, statuses))
        return
    if method is not None or statuses is not None:
        raise BadInput(
            f"--method and --status: expected --as {AS_REQUESTS} or --as {AS_RECORDING}, and an access log"
        )
    with results_prepared():
        read = read_files(named_files(files, trials), named, server, point_of(point))
    folder = out or new_folder("import")
    command = ["loadcurve", "import", *files]
    for option, value in (("--as", named), ("--server", server), ("--trials", trials or None)):
        command += [option, value] if value is not None else []
    for value in point:
        command += ["--point", value]
    write_run(folder, read, command)
    _tell_rows_left_out(read)
    show_results(folder, new_console(stderr=True), interrupted=False)


def _tell_rows_left_out(read: Sequence[Imported]) -> None:
    """Say which rows of each file no figure includes: a rate without them may look like that of all."""
    said = [
        f"{one.path}: {note.text}"
        for one in read
        for note in one.figures.notes
        if note.code == "rows_left_out"
    ]
    talk = new_console(stderr=True)
    for line in said[:_FILES_SHOWN_MAX]:
        talk.print(line, markup=False, highlight=False)
    if len(said) > _FILES_SHOWN_MAX:
        talk.print(f"and so of {len(said) - _FILES_SHOWN_MAX:,} more; the report has all", markup=False)


def _wanted(method: str | None, statuses: str | None) -> RequestFilter:
    """Read ``--method`` and ``--status``; raises ``BadInput``."""
    if method is not None and not _METHOD.fullmatch(method):
        raise BadInput(f"--method {method}: expected a method such as GET or HEAD")
    given = [] if statuses is None else [one.strip().lower() for one in statuses.split(",")]
    if wrong := [one for one in given if not _STATUS.fullmatch(one)]:
        raise BadInput(f"--status {wrong[0]}: expected statuses such as 404 or 2xx, separated by commas")
    return RequestFilter(method=(method or RequestFilter().method).upper(), statuses=frozenset(given))


def _write_requests(log: Path, target: Path, wanted: RequestFilter) -> None:
    written = write_requests(log, target, wanted)
    talk = new_console(stderr=True)
    talk.print(f"{plural(written.requests, 'request')} of {plural(written.paths, 'path')}")
    _tell(written.left_out, talk)
    in_study, _ = _of_method(wanted)
    talk.print(f'in a study: requests = "{target}" with pick = "weighted"{in_study}', markup=False)
    typer.echo(target)


def _write_recording(log: Path, target: Path, wanted: RequestFilter) -> None:
    written = write_recording(log, target, wanted)
    talk = new_console(stderr=True)
    talk.print(
        f"{plural(written.requests, 'request')} of {plural(written.paths, 'path')} in "
        f"{written.length_s:,.3f} s, logged to {written.step_s:g} s"
    )
    _tell(written.left_out, talk)
    in_study, in_command = _of_method(wanted)
    talk.print(f'in a study: requests = "{target}" with arrivals = "recorded"{in_study}', markup=False)
    talk.print(f"or: loadcurve load URL --urls {target} --arrivals recorded{in_command}", markup=False)
    typer.echo(target)


def _of_method(wanted: RequestFilter) -> tuple[str, str]:
    """Return what says the method in a study and on the command line, where it is not the usual one."""
    if wanted.method == RequestFilter().method:
        return "", ""
    return f' and method = "{wanted.method}"', f" --method {wanted.method}"


def _tell(left_out: LeftOut, talk: Console) -> None:
    for line in left_out.words():
        talk.print(line, markup=False, highlight=False, soft_wrap=True)
