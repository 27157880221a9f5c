"""When a run has enough trials: a fixed number, or as many as make every interval narrow.

Every decision follows from the records alone, so a stored run tells by itself why it ended.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from loadcurve.result.folder import Run
from loadcurve.result.records import FailureRecord, Point, PointRecord
from loadcurve.stats.curves import PointKey, estimate_over_trials, is_usable, point_key
from loadcurve.stats.measures import MEASURES, Measure

LEAST_ADAPTIVE_TRIALS = 8
"""An interval at which one stops because it is narrow covers the truth less often than it says.

From this number of trials on it does so in at least 93 % of the studies; see METHODOLOGY.md.
"""


Reason = Literal["count", "narrow", "at_most", "unfinished"]


@dataclass(frozen=True, slots=True)
class UntilNarrow:
    """Trials are repeated until no interval reaches farther than this share from its value."""

    share: float
    least: int
    most: int
    measure: Measure


@dataclass(frozen=True, slots=True)
class WidePoint:
    """A server at a point whose interval is wider than wanted."""

    server: str
    point: Point
    half_width: float | None
    """How far the farther end of the interval lies from the value, as a share of it; ``None`` without one."""

    @property
    def width_order(self) -> float:
        """Where it stands among others: no interval at all is the widest."""
        return float("inf") if self.half_width is None else self.half_width


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, or that it has not."""

    reason: Reason
    """All trials that were planned; every interval is narrow; the most trials are done; none of these."""
    blocks: int
    """Whole blocks that are measured, trials that failed among them."""
    points_expected: int
    """How many points the run holds at its end; as long as it is unfinished, at most so many."""
    wide: tuple[WidePoint, ...]
    """What is wider than wanted after the last whole block, the widest first; nothing without such a wish."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The rule's measure at one usable point of one trial; ``None`` where it was not measured."""

    server: str
    point: Point
    value: float | None


def until_narrow(trials: Mapping[str, Any]) -> UntilNarrow | None:
    """Return the rule of a study's table of trials, or ``None`` where it says a fixed number of them."""
    share = trials.get("until_share")
    if share is None:
        return None
    measures: dict[str, Measure] = dict(MEASURES.items())
    return UntilNarrow(share, trials["count"], trials["at_most"], measures[trials["measure"]])


def figures(records: Iterable[PointRecord | FailureRecord], rule: UntilNarrow) -> Iterator[Figure]:
    """Yield what of the records the rule looks at."""
    for record in records:
        if isinstance(record, PointRecord) and is_usable(record):
            yield Figure(record.server, record.point, rule.measure.value(record))


def wide_points(figures: Iterable[Figure], rule: UntilNarrow) -> list[WidePoint]:
    """Return the servers and points whose interval is wider than the rule wants, the widest first.

    A point that no trial could measure is not waited for: more of the same would not make it narrow. One that
    a single trial has measured has no interval yet, and is.
    """
    by_place: dict[tuple[str, PointKey], list[Figure]] = {}
    for figure in figures:
        by_place.setdefault((figure.server, point_key(figure.point)), []).append(figure)
    wide = []
    for place in by_place.values():
        estimate = estimate_over_trials(figure.value for figure in place)
        if estimate is None:
            continue
        half_width = estimate.relative_half_width
        if half_width is None or half_width > rule.share:
            wide.append(WidePoint(place[0].server, place[0].point, half_width))
    return sorted(wide, key=lambda one: one.width_order, reverse=True)


def may_end(blocks: int, wide: Sequence[WidePoint], rule: UntilNarrow) -> bool:
    """Say whether a run may end after so many whole blocks: from the least number on, if nothing is wide."""
    return blocks >= rule.least and not wide


def ending(run: Run) -> Ending:
    """Return how a run ended, as its records tell."""
    rule = until_narrow(run.run.study.get("trials", {}))
    blocks = _whole_blocks(run)
    until_then = [record for record in run.records if record.block < blocks]
    wide = wide_points(figures(until_then, rule), rule) if rule else []
    reason: Reason = "unfinished"
    if run.complete:
        reason = "at_most" if wide else "narrow" if rule else "count"
    elif rule and may_end(blocks, wide, rule) and len(until_then) == len(run.records):
        reason = "narrow"
    planned = [trial for trial in run.run.order if reason != "narrow" or trial.block < blocks]
    return Ending(reason, blocks, len(planned) * len(run.run.points), tuple(wide))


def _whole_blocks(run: Run) -> int:
    """Return how many blocks from the first on have each of their points, or a failure in its place.

    A failure ends its trial, unless each point has a start of its own: then it costs that point alone.
    """
    records = Counter(record.trial for record in run.records)
    over = {trial for trial, count in records.items() if count == len(run.run.points)}
    if run.run.study.get("trials", {}).get("restart") != "point":
        over |= {record.trial for record in run.failures}
    unfinished = [planned.block for planned in run.run.order if planned.trial not in over]
    planned_blocks = 1 + max((planned.block for planned in run.run.order), default=-1)
    return min(unfinished, default=planned_blocks)
