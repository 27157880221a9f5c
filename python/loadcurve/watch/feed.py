"""What the readers of the page get, made when there is something new and a reader to get it."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from loadcurve.analysis.curves import curves
from loadcurve.analysis.sections import Sections
from loadcurve.errors import BadInput
from loadcurve.files import is_regular
from loadcurve.loads.kinds import LoadKind
from loadcurve.report.appearance import appearances
from loadcurve.report.charts.figure import Figure
from loadcurve.report.columns import with_columns
from loadcurve.report.figures import Part, curve_parts
from loadcurve.result.folder import Run
from loadcurve.result.run_files import REPORT_FILE, RUN_FILE, TRIALS_FILE
from loadcurve.watch.following import FollowedRun
from loadcurve.watch.live import LIVE_FILE, interval_s, read_live
from loadcurve.watch.progress import KeptProgress, RunProgress, read_progress
from loadcurve.watch.so_far import verdict_so_far
from loadcurve.watch.status import Seen

# Computing and drawing take a CPU that a load may need. All that curves are made of changes between two
# loads. Then the next load warms up, or the next server is started, and nothing is measured. Figures are made
# in that time if it is long enough, and else in the next that is.

DRAWING_S = 0.5
"""What a browser takes to draw the figures in sight."""
LONGEST_WAIT_S = 30.0
"""So old may figures become where a run is never quiet for long enough, as without warm-ups."""

LOOK_INTERVAL_S = 0.25
"""How often a folder is looked at, for a reader."""
LONGEST_LOOK_INTERVAL_S = 5.0
"""How often during a load, in which nothing changes but that a server or the run may die."""


def is_quiet(progress: RunProgress | None, now_s: float, needed_s: float) -> bool:
    """Say whether nothing is measured now, nor in the next ``needed_s`` seconds as far as is known."""
    if progress is None or progress.point is None:
        return True
    window_begins_s = progress.since_monotonic_s + (progress.warmup_s or 0.0)
    return now_s + needed_s <= window_begins_s


def until_next_look_s(progress: RunProgress | None, now_s: float) -> float:
    """Return how long nothing has to be looked at: in a load until its end, but for signs of life.

    A long load's are the seconds of it that are kept.
    """
    if is_quiet(progress, now_s, needed_s=0.0) or progress is None or progress.duration_s is None:
        return LOOK_INTERVAL_S
    end_s = progress.since_monotonic_s + (progress.warmup_s or 0.0) + progress.duration_s
    longest_s = interval_s(progress.warmup_s or 0.0, progress.duration_s) or LONGEST_LOOK_INTERVAL_S
    return min(max(LOOK_INTERVAL_S, end_s - now_s), longest_s, LONGEST_LOOK_INTERVAL_S)


SECOND_COLUMNS = (
    "at_s",
    "rate_rps",
    "p50_ms",
    "p90_ms",
    "p99_ms",
    "failed",
    "server_cpus",
    "generator_cpus",
)
"""What the page gets of each second, in its order."""
LOOKED_AT = (RUN_FILE, TRIALS_FILE, REPORT_FILE)
FileState = tuple[int, int] | None
"""Size and time of the last change; ``None`` for a file that is not there."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The figures as one line of JSON, and how many points they hold."""

    points: int
    data: str


@dataclass(frozen=True, slots=True)
class Latest:
    """The run as it was last seen, and the number of that look: with another one something has changed."""

    number: int
    seen: Seen


class Feed:
    """Follows a run folder for all readers at once; without a reader nothing calls it."""

    def __init__(self, folder: Path) -> None:
        """Follow a folder that need not exist yet."""
        self.folder = folder
        self._lock = threading.Lock()
        self._followed = FollowedRun(folder)
        self._state: tuple[list[FileState], KeptProgress | None] | None = None
        self._number = 0
        self._seen = Seen(folder, None, None, has_report=False)
        self._drawn: Drawn | None = None
        self._stale_since_s = 0.0
        self._made_in_s = 0.0

    def look(self, *, run_has_ended: bool = False) -> Latest:
        """Look at the folder, and return what there is to send.

        Who knows that the run has ended says so: of a process that is killed, its lock may go after all else.
        """
        with self._lock:
            kept = read_progress(self.folder)
            if kept is not None and run_has_ended:
                kept = replace(kept, run_lives=False)
            state = ([_file_state(self.folder / name) for name in LOOKED_AT], kept)
            if state != self._state:
                self._state = state
                self._number += 1
                self._read(kept)
            return Latest(self._number, self._seen)

    def seconds(self, before: FileState) -> tuple[FileState, str] | None:
        """Return the seconds of a long load under way as one line of JSON; ``None`` where none is new.

        What is returned first is what the next call has as ``before``.
        """
        state = _file_state(self.folder / LIVE_FILE)
        if state == before:
            return None
        seconds = read_live(self.folder)
        progress = self._seen.progress
        so_far = verdict_so_far(seconds, None if progress is None else progress.point)
        columns = [[getattr(one, name) for name in SECOND_COLUMNS] for one in seconds]
        return state, json.dumps({"seconds": columns, "so_far": so_far and so_far._asdict()})

    def draw(self, *, is_first: bool = False) -> Drawn | None:
        """Return the figures of the run as it was last seen, or older ones; ``None`` where there are none.

        New ones are made when the run is quiet, or at once for a reader's first, who has none.
        """
        with self._lock:
            if self._seen.run is not None:
                self._draw(self._seen.run, is_first=is_first)
            return self._drawn

    def _read(self, kept: KeptProgress | None) -> None:
        points = len(self._seen.run.points) if self._seen.run else 0
        run, problem = self._seen.run, None
        try:
            run = self._followed.read()
        except BadInput as error:
            problem = str(error)
        has_report = is_regular(self.folder / REPORT_FILE)
        self._seen = Seen(self.folder, run, kept, has_report=has_report, problem=problem)
        if run is not None and points == (self._drawn.points if self._drawn else 0) < len(run.points):
            self._stale_since_s = time.monotonic()

    def _draw(self, run: Run, *, is_first: bool) -> None:
        if len(run.points) == (self._drawn.points if self._drawn else 0):
            return
        began_s = time.monotonic()
        needed_s = DRAWING_S + self._made_in_s
        has_waited = began_s - self._stale_since_s >= LONGEST_WAIT_S
        if not (is_first or has_waited or is_quiet(self._seen.progress, time.monotonic(), needed_s)):
            return
        sections = Sections()
        drawn = sections.several("the figures", partial(figures, run))
        if sections.not_computed:
            self._seen = replace(self._seen, problem=" ".join(one.words for one in sections.not_computed))
            self._number += 1
        self._drawn = Drawn(len(run.points), json.dumps(drawn))
        self._made_in_s = time.monotonic() - began_s


def _file_state(file: Path) -> FileState:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def figures(run: Run) -> list[dict[str, Any]]:
    """Return the figures of what is measured, as JSON data, in the order of the page.

    Findings and capacities are not marked in them: they are shown at the end.
    """
    found = curve_parts(run, curves(run), appearances(run.run.servers))
    return [one for place, part in enumerate(found, start=1) for one in _of_part(run.kind, place, part)]


def _of_part(load: LoadKind, place: int, part: Part) -> Iterator[dict[str, Any]]:
    def shown(section: str, number: int, title: str, figure: Figure) -> dict[str, Any]:
        return {
            "id": f"{section}-{place}-{number}",
            "section": section,
            "title": f"{title}, {part.heading}" if part.heading else title,
            "alternative": figure.alternative,
            "specification": with_columns(figure.specification),
        }

    requests = load.requests.capitalize()
    yield shown("throughput", 1, f"{requests} answered per second", part.throughput)
    for number, (title, figure) in enumerate(part.latency.items(), start=1):
        yield shown("latency", number, f"{title}, ms", figure)
    if part.errors is not None:
        yield shown("errors", 1, f"{requests} without a correct answer, % of those due", part.errors)
    for number, (title, figure) in enumerate(part.resources.items(), start=1):
        yield shown("resources", number, title[:1].upper() + title[1:], figure)
