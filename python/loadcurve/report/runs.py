"""The runs in a folder: what each asked, what it answered, and how far it can be trusted."""

import contextlib
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import Thread
from typing import Any

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from loadcurve.analysis.sections import NotComputed, Sections
from loadcurve.errors import BadInput, LoadcurveError
from loadcurve.report.listed_summary import ListedSummary
from loadcurve.report.summary_cache import KeptSummary, files_state, keep_summaries, read_summaries
from loadcurve.result.run_files import LOADS_FILE, RUN_FILE, require_run_folder
from loadcurve.units import ABSENT, plural

DATE_WIDTH = 10
MEASURED_WIDTH = 13
COMPUTING_S = 0.5
"""How long a list computes answers that nobody has computed yet, imports included; it shows the other runs
without theirs."""
COMPUTED_AT_LEAST = 5
"""Answers that a list computes however long that takes, so that short lists are whole."""
LEFT_MAX = 100
"""Where former lists left more runs without their answers, these are computed by request alone: otherwise one
list after the other would be late for them."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run folder and its summary."""

    folder: Path
    summary: ListedSummary
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
    """The folders in a folder of runs: runs, the newest first, and what holds no run or cannot be read."""

    folder: Path
    runs: tuple[ListedRun, ...]
    unreadable: tuple[UnreadableRun, ...]
    not_computed: tuple[NotComputed, ...] = ()
    """What a fault of Loadcurve left out; such runs are among those that cannot be read."""

    @property
    def unanswered(self) -> int:
        """How many runs are listed without their answers, which have not been computed."""
        return sum(one.summary.answer is None for one in self.runs)


@dataclass
class _Lister:
    """What lists the runs of one folder."""

    folder: Path
    kept: Mapping[str, KeptSummary]
    until_s: float | None
    """When no more answers are computed, by the monotonic clock; ``None`` for never."""
    sections: Sections = field(default_factory=Sections)
    working_folder: str = field(default_factory=os.getcwd)
    found: dict[str, KeptSummary] = field(default_factory=dict)
    """The summaries of this list, to be kept."""
    computed: int = 0
    computes: bool = False
    """Whether answers are computed now; before that, runs without one wait."""
    waiting: list[Path] = field(default_factory=list)

    def listed(self, folder: Path) -> ListedRun | UnreadableRun:
        """Return a folder as the list has it."""
        # A folder of several loads lies in the folder of runs, and its runs in it.
        is_of_several = folder.parent != self.folder
        name = f"{folder.parent.name}/{folder.name}" if is_of_several else folder.name
        try:
            summary = self.sections.get(f"the summary of {folder}", partial(self._summary, folder), None)
        except LoadcurveError as error:
            return UnreadableRun(folder, str(error), name)
        except OSError as error:
            return UnreadableRun(folder, f"{folder} cannot be read: {error.strerror}.", name)
        if summary is None:
            return UnreadableRun(folder, self.sections.not_computed[-1].words, name)
        return ListedRun(folder, summary, name)

    @property
    def _is_late(self) -> bool:
        """Whether other answers are left to another list."""
        if self.until_s is None or self.computed < COMPUTED_AT_LEAST:
            return False
        return time.monotonic() > self.until_s

    @cached_property
    def _leaves_answers(self) -> bool:
        """Whether answers that former lists have left out are not computed."""
        left = sum(one.summary.answer is None for one in self.kept.values())
        return self.until_s is not None and left > LEFT_MAX

    def _summary(self, folder: Path) -> ListedSummary | None:
        key, files = os.path.join(self.working_folder, folder), files_state(folder)  # noqa: PTH118 -- is quicker
        kept = self.kept.get(key)
        if kept is not None and kept.files == files and self._stays(kept):
            self.found[key] = kept
            return kept.summary
        require_run_folder(folder)
        # What checks a summary takes longer to import than a list to be shown.
        from loadcurve.result.summary import read_summary  # noqa: PLC0415

        summary = read_summary(folder)
        if summary is not None:
            listed = ListedSummary.of(summary)
        elif self.computes:
            # Statistics take longer to import than a hundred summaries to read.
            from loadcurve.report.run_summary import make_summary  # noqa: PLC0415

            self.computed += 1
            listed = ListedSummary.of(make_summary(folder))
            files = files_state(folder)
        else:
            self._will_compute(folder)
            listed = _unanswered(folder)
        self.found[key] = KeptSummary(files, listed)
        return listed

    def _stays(self, kept: KeptSummary) -> bool:
        """Say whether nothing is to be added to a summary."""
        return kept.summary.answer is not None or self._leaves_answers

    def _will_compute(self, folder: Path) -> None:
        """Leave an answer until all others are listed, while what computes it is imported."""
        if not self.waiting:
            Thread(target=_import_statistics).start()
        self.waiting.append(folder)

    def computed_ones(self) -> Iterator[tuple[Path, ListedRun | UnreadableRun]]:
        """Yield runs whose answers have waited, with these, as long as there is time."""
        self.computes = True
        for folder in self.waiting:
            if self._is_late:
                return
            yield folder, self.listed(folder)


def list_runs(folder: Path, *, computing_s: float | None = None) -> RunList:
    """List the folders in ``folder`` by their summaries, which are computed where there are none.

    With a time this ends after it, but for some runs. The newest come first.

    Raises ``BadInput`` where ``folder`` is no folder, cannot be read, or is a run itself.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if not one.name.startswith(".") and one.is_dir())
        inside = [folder / name for name in names]
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
    until_s = None if computing_s is None else time.monotonic() + computing_s
    lister = _Lister(folder, read_summaries(folder), until_s)
    folders = sorted((path for one in inside for path in _run_folders(one)), key=_changed_ns, reverse=True)
    by_folder = {one: lister.listed(one) for one in folders}
    by_folder.update(lister.computed_ones())
    if lister.found != lister.kept:
        keep_summaries(folder, lister.found)
    found = [by_folder[one] for one in sorted(by_folder, key=os.fspath)]
    runs = [one for one in found if isinstance(one, ListedRun)]
    return RunList(
        folder,
        runs=tuple(sorted(runs, key=lambda one: one.summary.started_at, reverse=True)),
        unreadable=tuple(one for one in found if isinstance(one, UnreadableRun)),
        not_computed=tuple(lister.sections.not_computed),
    )


def _import_statistics() -> None:
    # What fails here fails again where it is needed, and is reported there.
    with contextlib.suppress(Exception):
        import loadcurve.report.run_summary  # noqa: F401, PLC0415


def _run_folders(folder: Path) -> list[Path]:
    """Return the folder, or those of its loads where it has several."""
    if not os.path.lexists(f"{folder}/{LOADS_FILE}"):
        return [folder]
    inside = (path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(path for path in inside if not path.name.startswith("."))


def _changed_ns(folder: Path) -> int:
    try:
        return os.lstat(f"{folder}/{RUN_FILE}").st_mtime_ns
    except OSError:
        return 0


def _unanswered(folder: Path) -> ListedSummary:
    """Return what the record of a run says; raises ``BadInput`` where the folder is that of no run."""
    from loadcurve.result.folder import read_run_record  # noqa: PLC0415 -- as for statistics

    record, _ = read_run_record(folder)
    question = record.study.get("question")
    return ListedSummary(
        started_at=record.started_at,
        title=str(record.study.get("title") or record.study_name),
        question=str(question) if question else None,
    )


def started(summary: ListedSummary) -> tuple[str, str]:
    """Return the date and the time of day at which a run started, in the time zone that it was noted in."""
    try:
        moment = datetime.fromisoformat(summary.started_at)
    except ValueError:
        return summary.started_at, ""
    return f"{moment:%Y-%m-%d}", f"{moment:%H:%M}"


def measured(summary: ListedSummary) -> list[str]:
    """Return what was measured and found: trials, points by verdict, findings, and whether that is all."""
    if summary.points is None or summary.trials is None:
        return [ABSENT]
    return [
        *([] if summary.complete else ["incomplete"]),
        plural(summary.trials, "trial"),
        *(f"{count:,} {verdict}" for verdict, count in summary.points.items() if count),
        *([plural(summary.findings, "finding")] if summary.findings else []),
    ]


def runs_table(found: RunList) -> RenderableType:
    """Return the list for a terminal of 80 columns; names and questions are shown as they are."""
    parts: list[RenderableType] = (
        [_Rows(found.runs)] if found.runs else [Text(f"There is no run in {found.folder}.")]
    )
    if found.unanswered:
        count = plural(found.unanswered, "run")
        said = f"\n{count} without an answer, which has not been computed yet; to compute all: "
        parts.append(Text(f"{said}loadcurve runs {shlex.quote(str(found.folder))} --all"))
    if found.unreadable:
        parts += [Text("\nnot listed", style="bold")]
        parts += [Text(f"{one.name}: {one.reason}", overflow="fold") for one in found.unreadable]
    return Group(*parts)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of runs; rich's own tables take a millisecond for each."""

    runs: Iterable[ListedRun]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the lines of all rows, with an empty one between two."""
        gaps = 3
        room = max(options.max_width - DATE_WIDTH - MEASURED_WIDTH - gaps, 2)
        widths = (DATE_WIDTH, room - room // 2, room // 2, MEASURED_WIDTH)
        # Where no style shows, a run is one segment: rich takes as long for a piece of a line.
        segments = _segments if console.color_system else _joined
        yield from segments(_lines([[(head, _DIM)] for head in COLUMNS], widths))
        gap: list[Piece] = []
        for run in self.runs:
            yield from segments([*gap, *_lines([cell(run) for cell in COLUMNS.values()], widths)])
            gap = [("\n", _PLAIN)]


_DIM, _BOLD, _ITALIC, _YELLOW = (Style.parse(one) for one in ("dim", "bold", "italic", "yellow"))
_PLAIN = Style.null()
Piece = tuple[str, Style]
Cell = list[Piece]
"""Paragraphs, each in one style."""


def _named(run: ListedRun) -> Cell:
    question = [(run.summary.question, _ITALIC)] if run.summary.question else []
    return [(run.name, _BOLD), (run.summary.title, _PLAIN), *question]


def _measured(run: ListedRun) -> Cell:
    style = _YELLOW if run.summary.complete is False else _PLAIN
    return [(one, style) for one in measured(run.summary)]


COLUMNS: Mapping[str, Callable[[ListedRun], Cell]] = {
    "started": lambda run: [(one, _PLAIN) for one in started(run.summary)],
    "run and question": _named,
    "answer": lambda run: [(ABSENT if run.summary.answer is None else run.summary.answer, _PLAIN)],
    "measured": _measured,
}
"""The headings of the list, and how a terminal shows what is below them."""


def _segments(pieces: Iterable[Piece]) -> Iterator[Segment]:
    """Yield pieces of text, neighbours of one style as one segment."""
    for style, alike in groupby(pieces, key=itemgetter(1)):
        yield Segment("".join(text for text, _ in alike), style)


def _joined(pieces: Iterable[Piece]) -> Iterator[Segment]:
    yield Segment("".join(text for text, _ in pieces))


def _lines(cells: Iterable[Cell], widths: tuple[int, ...]) -> Iterator[Piece]:
    """Yield the lines of one row: what is too long for its column continues below."""
    columns = [
        [(line, style) for words, style in cell for line in _folded(words, width)]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for place in range(max(map(len, columns))):
        for column, width in zip(columns, widths, strict=True):
            line, style = column[place] if place < len(column) else ("", _PLAIN)
            yield line, style
            if column is not columns[-1]:
                yield " " * (width - _columns_of(line) + 1), _PLAIN
        yield "\n", _PLAIN


def _columns_of(words: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(words) if words.isascii() and words.isprintable() else cell_len(words)


def _folded(words: str, width: int) -> Iterator[str]:
    """Yield a text in lines of a width, divided between words, and within one that is longer."""
    line, used = "", 0
    for word in re.split(r"[ \n\r\t\v\f]", words):
        length = _columns_of(word)
        if line and used + 1 + length <= width:
            line, used = f"{line} {word}", used + 1 + length
            continue
        if line:
            yield line
        line, used = word, length
        if length > width:
            *whole, line = chop_cells(word, width)
            yield from whole
            used = _columns_of(line)
    yield line


def runs_json(found: RunList) -> dict[str, Any]:
    """Return the list as plain data."""
    return {
        "format": "loadcurve-runs/1",
        "runs": [{"folder": str(run.folder), **run.summary.plain()} for run in found.runs],
        "unreadable": [{"folder": str(one.folder), "reason": one.reason} for one in found.unreadable],
    }
