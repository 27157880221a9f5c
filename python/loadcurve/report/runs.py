"""The runs in a folder: what each asked, what it answered, and how far it can be trusted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.report import text
from loadcurve.result.run_files import RUN_FILE, has_several_loads
from loadcurve.result.summary import RunSummary, read_summary

DATE_WIDTH = 10
MEASURED_WIDTH = 13


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run folder and its summary."""

    folder: Path
    summary: RunSummary
    name: str
    """By which the list calls it: its folder's, below the folder of several loads that it lies in."""


@dataclass(frozen=True, slots=True)
class UnreadableRun:
    """A folder that could not be read as a run, and why."""

    folder: Path
    reason: str
    name: str


@dataclass(frozen=True, slots=True)
class RunList:
    """The folders in a folder of runs: runs, the newest first, and those that are none or cannot be read."""

    folder: Path
    runs: tuple[ListedRun, ...]
    unreadable: tuple[UnreadableRun, ...]
    not_computed: tuple[NotComputed, ...] = ()
    """What a fault of Loadcurve left out; such runs are among those that cannot be read."""


def list_runs(folder: Path) -> RunList:
    """List the folders in ``folder`` by their summaries, which are made where there are none.

    Raises ``BadInput`` where ``folder`` is no folder, cannot be read, or is a run itself.
    """
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
        is_run = (folder / RUN_FILE).exists()
    except OSError as error:
        raise BadInput(
            f"the runs in {folder} cannot be listed: {error.strerror}. Give the folder that contains the "
            "run folders; the default is loadcurve-runs."
        ) from error
    if is_run:
        raise BadInput(
            f"{folder} is a run folder itself: show it with `loadcurve report {folder}`, or give its parent "
            "folder."
        )
    sections = Sections()
    found = [_listed(path, sections) for one in inside for path in _run_folders(one)]
    runs = [one for one in found if isinstance(one, ListedRun)]
    return RunList(
        folder,
        runs=tuple(sorted(runs, key=lambda one: one.summary.started_at, reverse=True)),
        unreadable=tuple(one for one in found if isinstance(one, UnreadableRun)),
        not_computed=tuple(sections.not_computed),
    )


def _run_folders(folder: Path) -> list[Path]:
    """Return the folder, or those of its loads where it has several."""
    if not has_several_loads(folder):
        return [folder]
    inside = (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(path for path in inside if not path.name.startswith("."))


def _listed(folder: Path, sections: Sections) -> ListedRun | UnreadableRun:
    name = f"{folder.parent.name}/{folder.name}" if has_several_loads(folder.parent) else folder.name
    try:
        summary = sections.get(f"the summary of {folder}", partial(_summary, folder), None)
    except LoadcurveError as error:
        return UnreadableRun(folder, str(error), name)
    except OSError as error:
        return UnreadableRun(folder, f"{folder} cannot be read: {error.strerror}.", name)
    if summary is None:
        return UnreadableRun(folder, sections.not_computed[-1].words, name)
    return ListedRun(folder, summary, name)


def _summary(folder: Path) -> RunSummary | None:
    kept = read_summary(folder)
    if kept is not None:
        return kept
    # Statistics take longer to import than a hundred summaries to read.
    from loadcurve.report.run_summary import make_summary  # noqa: PLC0415

    return make_summary(folder)


def started(summary: RunSummary) -> tuple[str, str]:
    """Return the date and the time of day at which a run started, in the time zone that it was noted in."""
    try:
        moment = datetime.fromisoformat(summary.started_at)
    except ValueError:
        return summary.started_at, ""
    return f"{moment:%Y-%m-%d}", f"{moment:%H:%M}"


def measured(summary: RunSummary) -> list[str]:
    """Return what was measured and found: trials, points by verdict, findings, and whether that is all."""
    points = summary.points
    by_verdict = {"valid": points.valid, "suspect": points.suspect, "invalid": points.invalid}
    return [
        *([] if summary.complete else ["incomplete"]),
        text.plural(summary.trials, "trial"),
        *(f"{count:,} {verdict}" for verdict, count in by_verdict.items() if count),
        *([text.plural(summary.findings, "finding")] if summary.findings else []),
    ]


def runs_table(found: RunList) -> RenderableType:
    """Return the list for a terminal of 80 columns; names and questions are shown as they are."""
    parts: list[RenderableType] = []
    if found.runs:
        table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
        table.add_column("started", width=DATE_WIDTH, no_wrap=True)
        table.add_column("run and question", ratio=1, overflow="fold")
        table.add_column("answer", ratio=1, overflow="fold")
        table.add_column("measured", width=MEASURED_WIDTH, overflow="fold")
        for place, run in enumerate(found.runs):
            if place:
                table.add_row()
            table.add_row(*_cells(run))
        parts.append(table)
    else:
        parts.append(Text(f"There is no run in {found.folder}."))
    if found.unreadable:
        parts += [Text("\nnot listed", style="bold")]
        parts += [Text(f"{one.name}: {one.reason}", overflow="fold") for one in found.unreadable]
    return Group(*parts)


def _cells(run: ListedRun) -> Iterator[Text]:
    summary = run.summary
    yield Text("\n".join(started(summary)))
    question = [("\n" + summary.question, "italic")] if summary.question else []
    yield Text.assemble((run.name, "bold"), f"\n{summary.title}", *question)
    yield Text(summary.answer)
    yield Text("\n".join(measured(summary)), style="" if summary.complete else "yellow")


def runs_json(found: RunList) -> dict[str, Any]:
    """Return the list as plain data."""
    return {
        "format": "loadcurve-runs/1",
        "runs": [{"folder": str(run.folder), **run.summary.model_dump(mode="json")} for run in found.runs],
        "unreadable": [{"folder": str(one.folder), "reason": one.reason} for one in found.unreadable],
    }
