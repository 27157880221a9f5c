"""``loadcurve report RUN --as``: one point of a run in the layout of another load generator."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import typer

from loadcurve import units
from loadcurve.errors import BadInput
from loadcurve.report import text
from loadcurve.report.layouts import ab, httperf, wrk2
from loadcurve.report.layouts.figures import WebPoint, web_point
from loadcurve.result.folder import Run, read_run
from loadcurve.result.records import PointRecord

LAYOUTS: dict[str, Callable[[WebPoint], Iterator[str]]] = {
    "ab": ab.layout,
    "httperf": httperf.layout,
    "wrk2": wrk2.layout,
}
MOST_NAMED = 6
"""An error names at most this many points."""


def layout_command(
    folder: Path, name: str, server: str | None, at: Sequence[str], trial: int | None = None
) -> None:
    """Print a point of one trial, by default the first that has it; stderr says which trial that is.

    Raises ``BadInput``: the options leave no point, or several; the error names them.
    """
    run = read_run(folder)
    if run.run.imported is not None:
        raise BadInput(
            f"--as {name}: the run in {folder} was imported, and its files lack figures that this layout "
            "has; expected a run that was measured here, or --format"
        )
    record = _chosen(run, server, dict(map(_setting, at)), trial)
    others = [one.trial for one in run.points if (one.server, one.point) == (record.server, record.point)]
    if len(others) > 1:
        numbers = units.listing(list(map(str, others)))
        typer.echo(
            f"Trial {record.trial}; this point was measured in the trials {numbers} (--trial)", err=True
        )
    else:
        typer.echo(f"Trial {record.trial}, the only one that measured this point", err=True)
    found = run.run.servers[record.server]
    software = " ".join(filter(None, (found.title, found.version)))
    typer.echo("\n".join(LAYOUTS[name](web_point(record, software))))


def _setting(words: str) -> tuple[str, float]:
    key, _, value = words.partition("=")
    try:
        return key.strip(), float(value)
    except ValueError:
        raise BadInput(
            f'--at: found "{words}"; expected a key and its value, such as connections=50'
        ) from None


def _chosen(run: Run, server: str | None, settings: dict[str, float], trial: int | None) -> PointRecord:
    points: dict[str, PointRecord] = {}
    of_trial = [record for record in run.points if trial in {None, record.trial}]
    if run.points and not of_trial:
        numbers = units.listing([str(number) for number in sorted({record.trial for record in run.points})])
        raise BadInput(f"--trial: found {trial}; {run.folder} has points of the trials {numbers}")
    for record in of_trial:
        points.setdefault(f"{record.server} at {text.point(record.point)}", record)
    fitting = {
        name: record
        for name, record in points.items()
        if server in {None, record.server}
        and all(record.point.get(key) == value for key, value in settings.items())
    }
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    if not points:
        raise BadInput(f"{run.folder} has no measured point to print")
    names = list(fitting or points)
    more = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
    found = f"{len(fitting)} points fit" if fitting else "no point fits"
    listed = units.listing([*names[:MOST_NAMED], *more])
    raise BadInput(f"{found}: expected --server and --at that name one of {listed}")
