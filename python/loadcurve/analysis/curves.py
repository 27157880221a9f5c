"""Curves: for every server and point, its trials' figures and the estimates over them.

A percentile is computed within each trial, from that trial's merged histogram, and its estimate is a
geometric mean over the trials with an interval over the trials: it says where the percentile of a fresh start
of the server would lie. It is not the percentile of all requests together: that comes from merging the
trials' histograms and has no interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from loadcurve.analysis.resource_measures import kept_resources
from loadcurve.loads.kinds import LoadKind
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.machine import explained_percentiles
from loadcurve.result.measures import (
    LOADING,
    MEASURES,
    PROTOCOL_MEASURES,
    Measure,
    PointKey,
    is_usable,
    measures,
    point_key,
    protocol_measures,
    wrong_answers,
)
from loadcurve.result.operations import ended_of, measured_labels, operation_measures
from loadcurve.result.outcomes import REASONS, Reason
from loadcurve.result.records import PointRecord
from loadcurve.stats.interval import Estimate
from loadcurve.stats.servers import estimates_of_servers

if TYPE_CHECKING:
    from loadcurve.stats.paired import Array, Logs

VerdictStatus = Literal["valid", "suspect", "invalid"]
VERDICTS: tuple[VerdictStatus, ...] = ("valid", "suspect", "invalid")
"""From the best to the worst."""
OF_ERRORS = frozenset({"errors", "error_status"})
"""Reasons of an invalid verdict that are counts of errors: these are known, whatever else is not."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure at one point.

    The estimate is over the trials whose verdict is not invalid; it is ``None`` where none of them measured
    the quantity, and for what only comparisons look at; its ``n`` is smaller than their number where only
    some did.
    """

    estimate: Estimate | None
    values: list[float | None]
    """Of every trial, the invalid ones too; ``None`` where it was not measured."""


@dataclass(frozen=True, slots=True)
class Requests:
    """What became of the requests of one point, trial by trial."""

    due: list[int]
    failed: list[int | None]
    wrong: list[int]
    """Failed, or answered with a status of 400 or more."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One server at one point, over the trials that measured it; all lists are in their order."""

    point: Point
    trials: list[int]
    blocks: list[int]
    verdicts: list[VerdictStatus]
    requests: Requests
    figures: dict[str, Figure]
    """By the column of the measure."""
    ended_before: list[int] = field(default_factory=list)
    """The blocks whose curve had ended before this point, because throughput had fallen."""
    pauses_explain: dict[str, list[int]] = field(default_factory=dict)
    """By the name of a percentile, such as ``p99``, the trials in which pauses of the platform alone explain
    half or more of it; a percentile of which they do in none is not there."""
    invalid_because: str | None = None
    """The first reason of the last invalid trial, where none is usable."""
    invalid_code: str | None = None
    """The code of that reason."""
    errors_alone: list[int] = field(default_factory=list)
    """The trials that are invalid because of their errors alone."""

    def estimate(self, measure: Measure) -> Estimate | None:
        """Return the estimate of a measure; ``None`` where it was not measured."""
        figure = self.figures.get(measure.column)
        return figure.estimate if figure else None

    def values(self, measure: Measure) -> Sequence[float | None]:
        """Return the figures of the trials."""
        figure = self.figures.get(measure.column)
        return figure.values if figure else [None] * len(self.trials)

    def is_paused(self, percentile: str) -> bool:
        """Say whether pauses of the platform explain a percentile in any trial that its estimate rests on."""
        explained = self.pauses_explain.get(percentile, [])
        return any(self.trials[place] in explained for place in self.usable)

    def is_partial(self, percentile: str) -> bool:
        """Say whether some usable trials have a percentile and others had too few answers for it."""
        known = self.estimate(MEASURES[percentile])
        return known is not None and known.n < len(self.usable)

    @property
    def usable(self) -> list[int]:
        """The places of the trials that may enter an estimate: those whose verdict is not invalid."""
        return [place for place, verdict in enumerate(self.verdicts) if verdict != "invalid"]

    @property
    def counted(self) -> list[int]:
        """The places of the trials whose errors count: the usable ones, and those with too many errors.

        Without the latter a server would have the fewer errors, the more of its loads they spoil.
        """
        return [
            place
            for place, verdict in enumerate(self.verdicts)
            if verdict != "invalid" or self.trials[place] in self.errors_alone
        ]

    @property
    def latency_max_ms(self) -> float | None:
        """The longest latency of any usable trial: a maximum merges by taking the greatest."""
        longest = self.values(MEASURES["max"])
        return max((value for place in self.usable if (value := longest[place]) is not None), default=None)

    @property
    def failed_requests(self) -> int | None:
        """Failed requests of all trials together, or ``None`` where no trial has counted them."""
        known = [count for count in self.requests.failed if count is not None]
        return sum(known) if known else None

    @property
    def verdict(self) -> VerdictStatus | None:
        """The worst verdict of any trial, or ``None`` where no trial measured this point."""
        return max(self.verdicts, key=VERDICTS.index, default=None)


@dataclass(frozen=True, slots=True)
class Curve:
    """One server along the sweep; every planned point is present, measured or not."""

    server: str
    points: list[CurvePoint]


def labels_in(run: Run) -> list[str]:
    """Return the labels of the operations of a run that have curves, such as ``read`` or ``GET /json``."""
    return measured_labels(run.kind, run.points)


def measures_of(load: LoadKind, labels: Sequence[str]) -> list[Measure]:
    """Return what a run with a kind of load is measured by, whose operations have these labels."""
    of_operations = [measure for label in labels for measure in operation_measures(load, label)]
    return [*measures(load).values(), *of_operations, *([LOADING] if load.by_operation else [])]


def curves(run: Run, by: Sequence[Measure] | None = None) -> list[Curve]:
    """Return the curve of every server that was found, in the order of the study; by all measures or some."""
    kept: Sequence[Measure] = ()
    if by is None:
        labels = labels_in(run)
        by = [*measures_of(run.kind, labels), *protocol_measures(run.points)]
        kept = [*kept_resources(run.kind), *([] if run.kind.by_operation else map(ended_of, labels))]
    ends = list(run.curve_ends.values())
    measured: dict[tuple[str, PointKey], list[PointRecord]] = {}
    for record in run.points:
        measured.setdefault((record.server, point_key(record.point)), []).append(record)
    names = [name for name, server in run.run.servers.items() if server.status == "found"]
    found: list[list[CurvePoint]] = [[] for _ in names]
    ended_blocks: list[list[int]] = [[] for _ in names]
    for point in run.sweep_points:
        records = [measured.get((name, point_key(point)), []) for name in names]
        for curve, blocks, at in zip(found, ended_blocks, _at_point(point, records, by, kept), strict=True):
            curve.append(replace(at, ended_before=sorted(blocks)))
        for name, blocks in zip(names, ended_blocks, strict=True):
            blocks += [end.block for end in ends if (end.server, end.point) == (name, point)]
    return [Curve(server=name, points=points) for name, points in zip(names, found, strict=True)]


def protocol_measures_in(found: Sequence[Curve]) -> list[Measure]:
    """Return the measures of TLS and HTTP/2 that these curves have."""
    columns = {column for curve in found for at in curve.points for column in at.figures}
    return [measure for measure in PROTOCOL_MEASURES if measure.column in columns]


def _at_point(
    point: Point,
    servers: Sequence[Sequence[PointRecord]],
    by: Sequence[Measure],
    kept: Sequence[Measure],
) -> list[CurvePoint]:
    """Return one point of every server, each from the records of its trials; ``kept`` without estimates."""
    verdicts = [[trial.load.verdict.status for trial in trials] for trials in servers]
    figures: list[dict[str, Figure]] = [{} for _ in servers]
    for measure in by:
        values = [[measure.value(trial) for trial in trials] for trials in servers]
        usable = (
            [value for value, verdict in zip(*one, strict=True) if verdict != "invalid"]
            for one in zip(values, verdicts, strict=True)
        )
        estimates = estimates_of_servers(list(usable))
        for by_column, estimate, of_trials in zip(figures, estimates, values, strict=True):
            by_column[measure.column] = Figure(estimate, of_trials)
    for measure in kept:
        for by_column, trials in zip(figures, servers, strict=True):
            if measure.column not in by_column:
                by_column[measure.column] = Figure(None, [measure.value(trial) for trial in trials])
    return [_curve_point(point, *one) for one in zip(servers, verdicts, figures, strict=True)]


def _curve_point(
    point: Point,
    trials: Sequence[PointRecord],
    verdicts: list[VerdictStatus],
    figures: dict[str, Figure],
) -> CurvePoint:
    loads = [trial.load for trial in trials]
    reason = _invalid_because(trials)
    return CurvePoint(
        point=point,
        trials=[trial.trial for trial in trials],
        blocks=[trial.block for trial in trials],
        verdicts=verdicts,
        requests=Requests(
            due=[load.requests.due for load in loads],
            failed=[load.requests.failed for load in loads],
            wrong=[wrong_answers(trial) for trial in trials],
        ),
        figures=figures,
        pauses_explain=_pauses_explain(trials),
        invalid_because=reason.text if reason else None,
        invalid_code=reason.code if reason else None,
        errors_alone=[trial.trial for trial in trials if _has_errors_alone(trial)],
    )


def _has_errors_alone(trial: PointRecord) -> bool:
    """Say whether a trial is invalid because of its errors, and has no other reason that could make it so."""
    if is_usable(trial):
        return False
    rows = {reason.code: REASONS.get(reason.code) for reason in trial.load.verdict.reasons}
    # A code of another version may stand for anything.
    codes = {code for code, row in rows.items() if row is None or row.invalid}
    return bool(codes) and codes <= OF_ERRORS


def _invalid_because(trials: Sequence[PointRecord]) -> Reason | None:
    if any(trial.load.verdict.status != "invalid" for trial in trials):
        return None
    reasons = [trial.load.verdict.reasons[0] for trial in trials if trial.load.verdict.reasons]
    return reasons[-1] if reasons else None


def _pauses_explain(trials: Sequence[PointRecord]) -> dict[str, list[int]]:
    explained: dict[str, list[int]] = {}
    for trial in trials:
        for name in explained_percentiles(trial.load, trial.probe):
            explained.setdefault(name, []).append(trial.trial)
    return explained


def usable_logs(found: Sequence[Curve], measure: Measure) -> "tuple[list[int], Logs]":
    """Return the blocks, and by server the logarithms of the measure's positive values of all usable points.

    A server that has none has NaN alone. Zero has no ratio to anything, so a figure that is too small to be
    distinguished from it counts as not measured.
    """
    import numpy as np  # noqa: PLC0415 - it must not slow the start of the command

    blocks = sorted({block for curve in found for at in curve.points for block in at.blocks})
    places = {block: place for place, block in enumerate(blocks)}
    logs: dict[str, Array] = {}
    for curve in found:
        table = logs[curve.server] = np.full((len(blocks), len(curve.points)), np.nan)
        for column, at in enumerate(curve.points):
            for block, verdict, value in zip(at.blocks, at.verdicts, at.values(measure), strict=True):
                if value and verdict != "invalid":
                    table[places[block], column] = math.log(value)
    return blocks, logs


def at_point(logs: "Logs", place: int) -> "Logs":
    """Return the values at one point alone, by its place in the sweep."""
    return {server: table[:, [place]] for server, table in logs.items()}


def points_in(curve: Curve, points: Sequence[Point]) -> list[CurvePoint]:
    """Return a curve at some points, in their order."""
    by_settings = {point_key(at.point): at for at in curve.points}
    return [by_settings[key] for point in points if (key := point_key(point)) in by_settings]
