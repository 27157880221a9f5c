"""What a run reports to whoever watches it."""

from collections.abc import Sequence
from typing import Protocol

from loadcurve.analysis.gated import GatedRun
from loadcurve.generate.generator import Progress
from loadcurve.loads.values import Point
from loadcurve.result.records import FailureRecord, PlannedTrial, PointRecord
from loadcurve.server.failure import ServerFailure
from loadcurve.stats.stopping import UntilNarrow, WidePoint
from loadcurve.study.model import Study


class Display(Protocol):
    """Someone who watches a run. Nothing that a display does changes what is measured."""

    def begins(self, studies: Sequence[Study], order: Sequence[PlannedTrial], first_block: int = 0) -> None:
        """A run of this study, or of the studies of several loads, begins, or is resumed at a later block."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def server_failed(self, server: str, failure: ServerFailure) -> None:
        """A server failed before the first trial, as it will in each of them."""

    def trial_begins(self, trial: PlannedTrial) -> None:
        """A server is being started."""

    def point_begins(self, trial: PlannedTrial, point: Point, attempt: int = 1) -> None:
        """A load begins; above 1 it is another attempt at a point at which the machine was disturbed."""

    def on_progress(self, progress: Progress) -> None:
        """Figures of a load in progress."""

    def record_is_safe(self, trial: PlannedTrial, records: Sequence[PointRecord | FailureRecord]) -> None:
        """A point was measured, or a trial has failed; the disk has the records of all its servers."""

    def curve_ends(self, at: PointRecord) -> None:
        """The curve of a trial ended at this point, before the end of the sweep: throughput has fallen."""

    def block_ends(self, blocks: int, wide: Sequence[WidePoint], rule: UntilNarrow) -> None:
        """``blocks`` whole blocks are measured, and these intervals are wider than the study wants."""

    def waits(self, until_unix_s: float) -> None:
        """The next trial of a soak begins then; nothing is measured until then."""

    def gate_looks(self, gate: GatedRun) -> None:
        """A gate has looked at its blocks so far."""
