"""What a run shows while it runs: a live display on a terminal, plain lines elsewhere."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.gated import GatedRun
from loadcurve.cli.live_line import CONNECTING, SEPARATOR, live_line
from loadcurve.cli.live_seconds import LiveSeconds
from loadcurve.generate.generator import Progress
from loadcurve.loads.kinds import WEB, LoadKind
from loadcurve.loads.values import Point
from loadcurve.metrics.live import LiveLoad
from loadcurve.report.ending import wide_in_words
from loadcurve.report.reasons import grouped_alike
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.runs.other_runs import NOT_ALONE
from loadcurve.server.failure import ServerFailure
from loadcurve.stats.stopping import UntilNarrow, WidePoint
from loadcurve.study.estimate import estimated_total_s
from loadcurve.study.model import Study
from loadcurve.units import plural
from loadcurve.watch.live import LiveFile, interval_s
from loadcurve.watch.progress import ProgressFile, RunProgress

if TYPE_CHECKING:
    from loadcurve.study.arm import Arm

REFRESH_PER_SECOND = 2
BAR_WIDTH = 30

Shown = TypeVar("Shown", bound="RunDisplay")


class RunDisplay:
    """Follows a run. Every method only notes what it gets; drawing happens elsewhere, twice a second."""

    counted: Literal["points", "trials"] = "points"
    """What the progress bar counts."""
    budget_s: float = math.inf
    """What it is allowed to take, which a pace that is slower than planned does not change."""

    def __init__(self, console: Console, *, live: bool) -> None:
        """Show a run on ``console``, live or in lines."""
        self._console = console
        self._live = live
        self._started_s = time.monotonic()
        self._arms: Mapping[str, Arm] = {}
        self._estimate_s: float | None = None
        self._trials_at_most, self._at_most, self._about = "", "", "about "
        self._points_planned = 0
        self._points_over = 0
        self._points_before = 0
        """Those that an interrupted run had measured before it was resumed."""
        self._trials_planned = 0
        self._points_per_trial = 0
        self._failure_ends_trial = True
        self._trial: PlannedTrial | None = None
        self._waits_until: str | None = None
        """The time of day at which the next trial of a soak begins."""
        self._point: Point | None = None
        """``None`` before the first load of a start."""
        self._point_since = (time.time(), time.monotonic())
        self._progress: Progress | None = None
        self._attempt = 1
        self._shown_caveats: set[tuple[str, str]] = set()
        self._noted: set[str] = set()
        self._said_of: set[tuple[str, str]] = set()
        """Servers, each with why it failed before the first trial."""
        self._said_in_full: list[tuple[str, str]] = []
        """Of servers that failed alike, but for numbers such as ports and workers, the first."""
        self._file: ProgressFile | None = None
        self._seconds: LiveSeconds | None = None
        self._other_systems: LiveLoad | None = None

    def keeps(self, file: ProgressFile, seconds: LiveFile | None = None) -> None:
        """Write down how far the run is, too, whenever a load begins or is over, and long loads' seconds."""
        self._file, self._seconds = file, None if seconds is None else LiveSeconds(seconds)

    def publishes(self, live: LiveLoad) -> None:
        """Show each load to other systems, too."""
        self._other_systems = live

    def begins(self, studies: Sequence[Study], order: Sequence[PlannedTrial], first_block: int = 0) -> None:
        """A run of this study, or of the studies of several loads, begins, or is resumed at a later block."""
        study = studies[0]
        left = [trial for trial in order if trial.block >= first_block]
        self._arms = {name: arm for one in studies for name, arm in one.arms.items()}
        self._points_per_trial = len(study.points())
        self._failure_ends_trial = study.trials.restart != "point"
        self._trials_planned = len(order)
        self._points_planned = self._points_per_trial * len(order)
        self._points_over = self._points_before = self._points_per_trial * (len(order) - len(left))
        self._estimate_s = estimated_total_s(studies, Counter(trial.server for trial in left))
        self._started_s = time.monotonic()
        if study.trials.until_share is not None:
            self._trials_at_most = "at most "
        ends_at_drop = study.trials.until_drop_share is not None
        if study.trials.until_share is not None or ends_at_drop:
            self._at_most = self._about = "at most "
        resumed = f"resumed at trial {left[0].trial + 1} of " if first_block and left else ""
        self.note(
            f"{study.title}: {resumed}{self._trials_at_most}{plural(self._trials_planned, 'trial')} of "
            f"{'at most ' if ends_at_drop else ''}{plural(self._points_per_trial, 'point')}"
            + (f", {self._about}{units.clock(self._estimate_s)}" if self._estimate_s else "")
        )

    def note(self, text: str) -> None:
        """Print a sentence above the display; where it goes to a file, it stays on one line."""
        self._noted.add(text)
        self._console.print(Text(text), soft_wrap=not self._live)

    def server_failed(self, server: str, failure: ServerFailure) -> None:
        """A server failed before the first trial; its trials, which fail for it, do not repeat the reason."""
        self._said_of.add((server, failure.text))
        said = str(failure)
        # Of long outputs the tails begin at other lines, and what they end with is why.
        reason = "\n".join([failure.text, *failure.log_tail.splitlines()[-1:]])
        alike = [name for name, text in self._said_in_full if len(grouped_alike([text, reason])) == 1]
        if alike:
            self.note(f"{server} failed before the first trial as {alike[0]} did")
            return
        self._said_in_full.append((server, reason))
        self.note(f"{server} failed before the first trial: {said}")

    def trial_begins(self, trial: PlannedTrial) -> None:
        """A server is being started."""
        self._trial, self._point, self._progress = trial, None, None
        self._keep(None)

    def point_begins(self, trial: PlannedTrial, point: Point, attempt: int = 1) -> None:
        """A load begins; above 1 it is another attempt at a point at which the machine was disturbed."""
        self._trial, self._point, self._progress, self._attempt = trial, point, None, attempt
        self._point_since = (time.time(), time.monotonic())
        self._keep(point)

    def on_progress(self, progress: Progress) -> None:
        """Shows figures of the load in progress."""
        self._progress = progress
        if self._seconds is not None:
            self._seconds.take(progress)
        if self._other_systems is not None and self._trial is not None:
            labels = {"server": self._trial.server, "trial": str(self._trial.trial)}
            point = {} if self._point is None else {"point": in_words(self._point)}
            self._other_systems.show(labels | point, progress)

    def record_is_safe(self, trial: PlannedTrial, records: Sequence[PointRecord | FailureRecord]) -> None:
        """A point was measured, or a server has failed."""
        if self._other_systems is not None:
            self._other_systems.is_over()
        record = records[0]
        place = f"trial {trial.trial + 1} of {self._trials_at_most}{self._trials_planned}, {trial.server}"
        if isinstance(record, FailureRecord):
            over_with_trial = (trial.trial + 1) * self._points_per_trial
            self._points_over = over_with_trial if self._failure_ends_trial else self._points_over + 1
            at = f" at {in_words(record.point)}" if record.point else ""
            # What failed before the first trial has been said, and is so in each of its trials.
            if (record.server, record.reason.text) not in self._said_of:
                self.note(f"{place}: failed{at}: {record.reason.text}")
            self._keep(None)
            return
        # Where points follow each other without a pause, the next one has begun when a record is safe.
        under_way = None if self._point == record.point else self._point
        if record.attempt > 1:
            # It is not a planned point; its time counts in the pace, from which the time left follows.
            self._keep(under_way)
            return
        self._points_over += 1
        self._keep(under_way)
        for one in records:
            if isinstance(one, PointRecord):
                self._note_new_caveats(one)
        if not self._live and self._points_over % self._points_per_trial == 0:
            self.note(f"{place}: done, {self._time_left()}")

    def curve_ends(self, at: PointRecord) -> None:
        """The curve of a trial ended at this point, before the end of the sweep: throughput has fallen."""
        self._points_over = (at.trial + 1) * self._points_per_trial
        self._keep(None)
        if not self._live:
            place = f"trial {at.trial + 1} of {self._trials_at_most}{self._trials_planned}, {at.server}"
            self.note(
                f"{place}: ended at {in_words(at.point)}, where throughput had fallen, {self._time_left()}"
            )

    def block_ends(self, blocks: int, wide: Sequence[WidePoint], rule: UntilNarrow) -> None:
        """``blocks`` whole blocks are measured, and these intervals are wider than the study wants."""
        if blocks >= rule.least:
            self.note(f"after {plural(blocks, 'trial')} of each server: {wide_in_words(wide, rule)}")

    def waits(self, until_unix_s: float) -> None:
        """The next trial of a soak begins then."""
        self._trial, self._point, self._progress = None, None, None
        self._waits_until = time.strftime("%H:%M:%S", time.localtime(until_unix_s))
        if not self._live:
            self.note(f"the next trial begins at {self._waits_until}")

    def gate_looks(self, gate: GatedRun) -> None:
        """A gate has looked at its blocks so far."""

    def _note_new_caveats(self, record: PointRecord) -> None:
        """Print what must be known of a server's figures, once for each server, or of the machine."""
        for caveat in record.caveats:
            concerned = "" if caveat.code == NOT_ALONE else f"{record.server}: "
            if (concerned, caveat.code) not in self._shown_caveats:
                self._shown_caveats.add((concerned, caveat.code))
                # Of the machine it may be known since before the first trial.
                if (text := f"{concerned}{caveat.text}") not in self._noted:
                    self.note(text)

    def __rich__(self) -> RenderableType:
        """Draw the three lines of the display: what is running, its figures, and how far the run is."""
        trial = self._trial
        if trial is None:
            return Text(self._waiting)
        bar = ProgressBar(total=self._points_planned, completed=self._points_over, width=BAR_WIDTH)
        done = Table.grid(padding=(0, 1))
        done.add_row(bar, Text(self._time_left()))
        lines = (self._running(trial), self._figures())
        return Group(*(Text(line, overflow="ellipsis", no_wrap=True) for line in lines), done)

    @property
    def _waiting(self) -> str:
        """What the run does while no server is under load."""
        if self._waits_until is None:
            return "checking the servers"
        return SEPARATOR.join([self._time_left(), f"the next trial begins at {self._waits_until}"])

    def _running(self, trial: PlannedTrial) -> str:
        parts = [f"trial {trial.trial + 1} of {self._trials_at_most}{self._trials_planned}", trial.server]
        if self._point:
            parts.append(in_words(self._point))
        elif self._progress:
            parts.append("warm-up")
        if self._attempt > 1:
            parts.append(f"attempt {self._attempt}, the machine was disturbed")
        return SEPARATOR.join(parts)

    def _figures(self) -> str:
        if self._point is None and self._progress is None:
            return "starting"
        if self._progress is None or not self._progress.elapsed_s:
            return CONNECTING
        return live_line("", self._progress, self._kind, self._console.width)

    @property
    def _kind(self) -> LoadKind:
        """What kind of load is under way."""
        arm = None if self._trial is None else self._arms.get(self._trial.server)
        return WEB if arm is None else arm.kind

    def _time_left(self) -> str:
        """Say what is done and how long is left."""
        done = f"{self._points_over} of {self._at_most}{self._points_planned} {self.counted}"
        left_s = self._left_s()
        return done if left_s is None else f"{done}, {self._about}{units.clock(left_s)} left"

    def _left_s(self) -> float | None:
        """Return about how long is left: by the pace so far, or by the estimate at first."""
        elapsed_s = time.monotonic() - self._started_s
        left_s = self._left_by_pace_s(elapsed_s)
        return None if left_s is None else min(left_s, max(0.0, self.budget_s - elapsed_s))

    def _left_by_pace_s(self, elapsed_s: float) -> float | None:
        left = self._points_planned - self._points_over
        if not left:
            return None
        since = self._points_over - self._points_before
        if since >= self._points_per_trial:
            return elapsed_s / since * left
        return None if self._estimate_s is None else max(0.0, self._estimate_s - elapsed_s)

    def _keep(self, point: Point | None) -> None:
        """Write down how far the run is, and the point whose load is under way, if one is."""
        if self._file is None or self._trial is None:
            return
        arm = self._arms.get(self._trial.server)
        load = None if point is None or arm is None else arm.load_at(point)
        since_unix_s, since_monotonic_s = (
            (time.time(), time.monotonic()) if point is None else self._point_since
        )
        if self._seconds is not None:
            self._seconds.begins(None if load is None else interval_s(load.warmup_s, load.duration_s))
        self._file.write(
            RunProgress(
                format="loadcurve-progress/1",
                trial=self._trial,
                trials_planned=self._trials_planned,
                point=point,
                attempt=self._attempt if point is not None else 1,
                since_unix_s=since_unix_s,
                since_monotonic_s=since_monotonic_s,
                warmup_s=load.warmup_s if load else None,
                duration_s=load.duration_s if load else None,
                counted=self.counted,
                over=self._points_over,
                planned=self._points_planned,
                at_most=bool(self._at_most),
                left_s=self._left_s(),
            )
        )


@contextmanager
def shown(display: Shown, console: Console) -> Iterator[Shown]:
    """Yield a display of a run, drawn live where the console is a terminal."""
    if not console.is_terminal:
        yield display
        return
    with Live(display, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=True):
        yield display


def in_words(point: Point) -> str:
    """Return a point such as ``connections 50``."""
    return ", ".join(f"{key} {units.setting(value)}" for key, value in point.items())
