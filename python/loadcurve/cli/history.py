"""``loadcurve history``: runs are added to a history, and its changes are shown."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, assert_never

import typer
from rich.text import Text

from loadcurve.analysis.history import entry_of, studies_of
from loadcurve.cli.console import new_console
from loadcurve.host import git
from loadcurve.report.history import history_json, history_lines
from loadcurve.report.terminal_tables import bounded
from loadcurve.result.folder import read_run_record
from loadcurve.result.history import add_entry, read_history
from loadcurve.result.records import RunRecord
from loadcurve.server.revision import revision_of
from loadcurve.units import plural

_GIT = "git "


def add_command(runs: Sequence[Path], folder: Path, commit: str | None) -> None:
    """Add runs to a history; the path of each entry's file is printed.

    All are read before any is added. One without a figure is added, too: that nothing could be measured is a
    fact. Raises ``BadInput`` where one cannot be read as a run, or cannot be added.
    """
    records = [read_run_record(run)[0] for run in runs]
    entries = [
        entry_of(run, commit or _commit_of(record), folder, record)
        for run, record in zip(runs, records, strict=True)
    ]
    talk = new_console(stderr=True)
    for run, entry in zip(runs, entries, strict=True):
        state = add_entry(folder, entry)
        talk.print(
            Text(
                f"{state}: {run}, commit {entry.commit or 'unknown'}, {plural(len(entry.figures), 'figure')}"
            )
        )
        if not entry.figures:
            talk.print(
                Text(f"{run} has no valid point: it is a gap in the history. Why: loadcurve report {run}")
            )
        if entry.machine.fingerprint is None:
            talk.print(Text(f"{run} does not say which machine it is of: it is shown, and joined to no run."))
        typer.echo(folder / f"{entry.run}.json")


def show_command(folder: Path, printed: Literal["text", "json", "openmetrics"], *, html: bool) -> None:
    """Print the series of a history; with ``html``, write its page, too.

    Raises ``LoadcurveError``: the history cannot be read, or the page cannot be written.
    """
    found = read_history(folder)
    studies = studies_of(found.entries)
    talk = new_console(stderr=True)
    for words in found.damage:
        talk.print(Text(words))
    match printed:
        case "text":
            new_console().print(bounded(history_lines(found, studies)))
        case "json":
            typer.echo(json.dumps(history_json(found, studies), indent=2))
        case "openmetrics":
            from loadcurve.report.formats.trackers import history_samples, openmetrics

            typer.echo(openmetrics(history_samples(found.entries)), nl=False)
        case _ as never:
            assert_never(never)
    if html:
        from loadcurve.report.history_page import write_history

        new_console(stderr=printed != "text").print(str(write_history(found, studies)), soft_wrap=True)


def _commit_of(record: RunRecord) -> str | None:
    """Return the revision of the folder that a run's study was read from; ``None`` of one after the run."""
    if record.study_file is None:
        return None
    folder = Path(record.study_file).parent
    revision, committed_s = revision_of(folder), git.answer(folder, "log", "-1", "--format=%ct")
    if revision is None or committed_s is None:
        return None
    is_later = int(committed_s) > datetime.fromisoformat(record.started_at).timestamp()
    return None if is_later else revision.removeprefix(_GIT)
