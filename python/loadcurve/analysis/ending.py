"""How a run ended, as its records show."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loadcurve.analysis.gated import GatedRun, gated, has_time_left, is_decided
from loadcurve.loads.values import Point
from loadcurve.result.folder import Run
from loadcurve.result.measures import MEASURES, is_usable
from loadcurve.result.records import FailureRecord, PointRecord
from loadcurve.result.which_count import until_drop, without_measured
from loadcurve.stats.stopping import Figure, UntilNarrow, WidePoint, may_end, wide_points

Reason = Literal["count", "narrow", "at_most", "decided", "budget", "unfinished", "unknown"]


@dataclass(frozen=True, slots=True)
class CurveEnd:
    """A point at which curves of one server ended, because throughput had fallen markedly."""

    server: str
    point: Point
    trials: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, or that it has not."""

    reason: Reason
    """Why there are no more trials, or that the run has not come to its end.

    All that were planned are done; every interval is narrow; the most are done; a gate is decided; its budget
    has no time for another block; none of these.

    ``unknown`` where a fault of Loadcurve's left out which of them it is.
    """
    rule: UntilNarrow | None
    """When it was to end, where the study does not say a fixed number of trials."""
    blocks: int
    """Whole blocks that are measured, trials that failed among them."""
    trials_expected: int
    """How many trials the run has at its end; as long as it is unfinished, an upper bound."""
    points_expected: int
    """How many points the run holds at its end; as long as it is unfinished, an upper bound."""
    wide: tuple[WidePoint, ...]
    """What is wider than wanted after the last whole block, the widest first; nothing without such a wish."""
    drop_share: float | None = None
    """The fall in throughput that ends a curve; ``None`` where every curve goes to the end of the sweep."""
    curve_ends: tuple[CurveEnd, ...] = ()
    """Where curves ended before the end of the sweep, by server and along the sweep."""


def unknown_ending(run: Run) -> Ending:
    """Return the ending of a run with nothing but its plan."""
    return Ending("unknown", None, 0, len(run.run.order), run.points_expected, ())


def until_narrow(trials: Mapping[str, Any]) -> UntilNarrow | None:
    """Return the rule of a study's table of trials, or ``None`` where it says a fixed number of them."""
    share, count, at_most = (trials.get(key) for key in ("until_share", "count", "at_most"))
    if share is None or count is None or at_most is None or trials.get("measure") not in MEASURES:
        return None
    return UntilNarrow(share, count, at_most, trials["measure"])


def figures(records: Iterable[PointRecord | FailureRecord], rule: UntilNarrow) -> Iterator[Figure]:
    """Yield what of the records the rule looks at."""
    for record in records:
        if isinstance(record, PointRecord) and is_usable(record):
            yield Figure(record.server, record.point, MEASURES[rule.measure].value(record))


def ending(run: Run) -> Ending:
    """Return how a run ended, as its records show."""
    rule = until_narrow(run.run.study.get("trials", {}))
    blocks = _whole_blocks(run)
    until_then = [record for record in run.records if record.block < blocks]
    wide = wide_points(figures(until_then, rule), rule) if rule else []
    reason: Reason = "unfinished"
    if run.complete:
        reason = "at_most" if wide else "narrow" if rule else "count"
    elif rule and may_end(blocks, wide, rule) and len(until_then) == len(run.records):
        reason = "narrow"
    if reason == "unfinished" and len(until_then) == len(run.records):
        reason = _ending_of_gate(run, blocks) or reason
    is_early = reason in {"narrow", "decided", "budget"}
    planned = [trial for trial in run.run.order if not is_early or trial.block < blocks]
    lengths = run.points_of_trials
    return Ending(
        reason=reason,
        rule=rule,
        blocks=blocks,
        trials_expected=len(planned),
        points_expected=sum(lengths[trial.trial] for trial in planned),
        wide=tuple(wide),
        drop_share=until_drop(run.run.study),
        curve_ends=tuple(_curve_ends(run)),
    )


def _ending_of_gate(run: Run, blocks: int) -> Reason | None:
    """Return why a gate ended after these blocks; ``None`` where it has not, or the run is no gate."""
    record = run.run.gate
    if record is None:
        return None
    if is_decided(gated(record, run.kind, run.records, blocks), run.records):
        return "decided"
    return None if has_time_left(record, run.records) else "budget"


def gate_of(run: Run) -> GatedRun | None:
    """Return what a gate comes to after its whole blocks; ``None`` of a run that is no gate."""
    record = run.run.gate
    return None if record is None else gated(record, run.kind, run.records, _whole_blocks(run))


def _curve_ends(run: Run) -> Iterator[CurveEnd]:
    ends = run.curve_ends.values()
    for server in run.run.servers:
        for point in run.run.points:
            trials = tuple(sorted(end.trial for end in ends if (end.server, end.point) == (server, point)))
            if trials:
                yield CurveEnd(server, point, trials)


def _whole_blocks(run: Run) -> int:
    """Return how many blocks from the first on have each of their points, or a failure in its place.

    A failure ends its trial, unless each point has its own start: then it costs that point alone.
    """
    lost = without_measured(run.failures, run.points)
    records = Counter([record.trial for record in run.points] + [record.trial for record in lost])
    over = {trial for trial, count in run.points_of_trials.items() if records[trial] == count}
    if not run.run.starts_each_point:
        over |= {record.trial for record in run.failures}
    unfinished = [planned.block for planned in run.run.order if planned.trial not in over]
    planned_blocks = 1 + max((planned.block for planned in run.run.order), default=-1)
    return min(unfinished, default=planned_blocks)
