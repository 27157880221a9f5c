"""What a gate comes to: a run of two servers in turn, tested after each block, by its records alone."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from loadcurve.analysis.limits import MACHINES_DOING
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.measures import Measure, is_usable, measures, point_key
from loadcurve.result.operations import measure_of
from loadcurve.result.records import FailureRecord, GateRecord, PointRecord
from loadcurve.stats.interval import LOGARITHM_MAX
from loadcurve.stats.paired import block_means
from loadcurve.stats.sequential import (
    Answer,
    GateDraw,
    GatePlan,
    judge,
    more_blocks,
    smallest_seen,
)

GATED = ("throughput", "cpu_per_request_us", "p50", "p90", "memory_mean_mib")
"""The measures that a gate looks at; others on demand."""
OF_REQUESTS = ("p50", "p99")
"""What a gate looks at of each request of a load, where it has several."""
BLOCKS_WITHOUT_A_PAIR = 2
"""After this many, in which one of the two has no figure at all, a gate gives up."""

BLOCKS_DISTURBED = 8
"""After this many it gives up where only the machine is to blame, too."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GatedMeasure:
    """What a gate says of one measure."""

    measure: str
    """Its name."""
    answer: Answer
    first: GateDraw
    confirmation: GateDraw | None
    """The second draw, where the first has shown a regression."""
    more_blocks: int | None
    """About how many would decide it, if mean and spread stay so.

    ``None`` where it is decided, or nobody knows.
    """
    smallest_seen: float | None
    """The smallest regression that each draw would have shown with a probability of 80 %, as a share."""
    request: str | None = None
    """The name of the request that it is of; ``None`` of the whole load."""

    @property
    def last(self) -> GateDraw:
        """The draw that decides, or would."""
        return self.confirmation or self.first

    @property
    def is_suspected(self) -> bool:
        """Whether the first draw has shown a regression, and the second one has not decided."""
        return self.answer == "open" and self.confirmation is not None

    @property
    def is_open(self) -> bool:
        """Whether it keeps the gate from an answer: a request does so only where it is suspected."""
        return self.answer == "open" and (self.request is None or self.is_suspected)


@dataclass(frozen=True, slots=True)
class GatedRun:
    """What a gate comes to, with what it rests on."""

    base: str
    head: str
    least: float
    """The least regression that counts, such as 0.03 for 3 %."""
    blocks: int
    """Whole blocks that were measured."""
    planned: int
    false_alarms: float
    """How probable it is at most that equal builds fail."""
    measures: list[GatedMeasure]
    """Those with figures of both."""
    not_measured: list[str]
    """The names of those without, of requests as in ``p99 of "GET /json"``."""
    not_judged: list[str]
    """Of these the measures that were asked for, which keep the gate open."""
    pairs: int
    """The blocks in which both have a figure of any measure."""

    @property
    def regressions(self) -> list[GatedMeasure]:
        """Shown in both draws: the greatest first."""
        shown = [one for one in self.measures if one.answer == "regression"]
        return sorted(shown, key=lambda one: one.last.mean or 0.0, reverse=True)

    @property
    def undecided(self) -> list[GatedMeasure]:
        """Those that keep it from an answer."""
        return [one for one in self.measures if one.is_open]

    @property
    def of_requests(self) -> list[GatedMeasure]:
        """Those of a request."""
        return [one for one in self.measures if one.request is not None]

    @property
    def unconfirmed(self) -> list[GatedMeasure]:
        """Those of which the first draw has shown a regression, and the second has not."""
        return [one for one in self.measures if one.confirmation and one.answer != "regression"]

    @property
    def smallest_seen(self) -> float | None:
        """The smallest regression that would have been seen in every measure of the load, as a share."""
        of_load = (one.smallest_seen for one in self.measures if one.request is None)
        return max((seen for seen in of_load if seen is not None), default=None)

    @property
    def more_blocks(self) -> int | None:
        """About how many more blocks would decide it; ``None`` where no reasonable number would."""
        more = [one.more_blocks for one in self.undecided]
        return None if None in more or not more else max(one for one in more if one is not None)


def gated(
    record: GateRecord, kind: LoadKind, records: Sequence[PointRecord | FailureRecord], blocks: int
) -> GatedRun:
    """Return what a gate says after this many whole blocks; ``records`` are those that count."""
    known = measures(kind)
    found, missing = [], []
    has_pair = np.zeros(blocks, dtype=bool)
    for request, name in _gated_names(record):
        if name not in known:
            continue
        measure = known[name] if request is None else measure_of(kind, request, name)
        worse = _worse_by_block(record, measure, records, blocks)
        has_pair |= np.isfinite(worse)
        if np.isfinite(worse).any():
            found.append(_measured(record, known[name], request, worse))
        else:
            missing.append(name if request is None else f'{name} of "{request}"')
    return GatedRun(
        base=record.base,
        head=record.head,
        least=record.least,
        blocks=blocks,
        planned=record.blocks,
        false_alarms=plan_of(record).false_alarms,
        measures=found,
        not_measured=missing,
        not_judged=[name for name in _asked(record) if name in missing],
        pairs=int(has_pair.sum()),
    )


def _asked(record: GateRecord) -> list[str]:
    """Return the measures that were asked for; of older records the unusual ones, which are so for sure."""
    return [name for name in record.measures if name not in GATED] if record.asked is None else record.asked


def _gated_names(record: GateRecord) -> Iterator[tuple[str | None, str]]:
    """Yield what is gated: a request, or ``None`` for the whole load, and the name of a measure."""
    yield from ((None, name) for name in record.measures)
    yield from ((request, name) for request in record.requests for name in OF_REQUESTS)


def plan_of(record: GateRecord, measure: Measure | None = None, request: str | None = None) -> GatePlan:
    """Return what a gate tests, in one of its measures.

    Where requests are gated besides the whole load, each of the two has half of the error rate, so that many
    requests do not hide what the whole load shows.
    """
    is_rate = measure is not None and measure.better == "higher"
    least = -math.log1p(-record.least) if is_rate else math.log1p(record.least)
    count = len(record.measures) if request is None else len(record.requests) * len(OF_REQUESTS)
    return GatePlan(least, record.blocks, 2 * count if record.requests else count)


def worse_share(measure: Measure, logarithm: float) -> float:
    """Return by which share a measure is worse, such as 0.05 for 5 %, from a logarithm above 0."""
    worse = -logarithm if measure.better == "higher" else logarithm
    change = math.expm1(min(worse, LOGARITHM_MAX))
    return -change if measure.better == "higher" else change


def is_decided(gate: GatedRun, records: Iterable[PointRecord | FailureRecord]) -> bool:
    """Say whether no further block is needed: something fails, all is ruled out, or nothing is measurable.

    Where it was the machine that kept a side from having figures, a few more blocks are tried.
    """
    if not gate.measures and gate.blocks >= BLOCKS_WITHOUT_A_PAIR:
        return gate.blocks >= BLOCKS_DISTURBED or not any(map(_is_disturbed, records))
    return bool(gate.regressions) or (bool(gate.measures) and not gate.undecided)


def _is_disturbed(record: PointRecord | FailureRecord) -> bool:
    """Say whether a point is invalid by what the generator or the machine did, and by nothing else."""
    if not isinstance(record, PointRecord) or is_usable(record):
        return False
    return {one.code for one in record.load.verdict.reasons} <= MACHINES_DOING


def has_time_left(record: GateRecord, records: Iterable[PointRecord | FailureRecord]) -> bool:
    """Say whether the budget has time for another block, by when the blocks so far began."""
    begun: dict[int, float] = {}
    for one in records:
        try:
            at = datetime.fromisoformat(one.started_at).timestamp()
        except (OverflowError, ValueError):
            # A run folder of somebody else's may say anything.
            return True
        begun[one.block] = min(begun.get(one.block, at), at)
    if len(begun) < 2:  # noqa: PLR2004 - the length of a block is what lies between two
        return True
    first, last = min(begun.values()), max(begun.values())
    block_s = (last - first) / (len(begun) - 1)
    return block_s * (len(begun) + 1) <= record.budget_s


def _measured(record: GateRecord, measure: Measure, request: str | None, worse: Array) -> GatedMeasure:
    plan = plan_of(record, measure, request)
    judged = judge(plan, worse)
    sd, share = judged.last.sd, float(np.isfinite(worse).mean())
    return GatedMeasure(
        measure=measure.name,
        answer=judged.answer,
        first=judged.first,
        confirmation=judged.confirmation,
        more_blocks=more_blocks(plan, judged, share) if judged.answer == "open" else None,
        smallest_seen=None if sd is None else worse_share(measure, smallest_seen(plan, sd)),
        request=request,
    )


def _worse_by_block(
    record: GateRecord, measure: Measure, records: Iterable[PointRecord | FailureRecord], blocks: int
) -> Array:
    """Return the log ratio of each block over its points, above 0 where the head is worse, or NaN."""
    usable = [
        one for one in records if isinstance(one, PointRecord) and is_usable(one) and one.block < blocks
    ]
    points = list(dict.fromkeys(point_key(one.point) for one in usable))
    tables = {name: np.full((blocks, len(points)), np.nan) for name in (record.base, record.head)}
    for one in usable:
        value = measure.value(one)
        if one.server in tables and value is not None and value > 0:
            tables[one.server][one.block, points.index(point_key(one.point))] = math.log(value)
    if not points:
        return np.full(blocks, np.nan)
    ratios = block_means(tables[record.head] - tables[record.base])
    return -ratios if measure.better == "higher" else ratios
