"""The ranking of servers by one measure: which can be told apart, and which cannot."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.result.folder import Run
from loadcurve.result.records import Point
from loadcurve.stats.curves import PointKey, is_usable, point_key
from loadcurve.stats.interval import Estimate
from loadcurve.stats.measures import Measure, Values, at_point, usable_values
from loadcurve.stats.paired import group_log_ratios, log_ratios, paired_ratio

ERROR_RATE = 0.05
"""How probable it may be that any two servers of a ranking are told apart that do not differ."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers of a ranking; ``first`` stands before ``second`` in it."""

    first: str
    second: str
    ratio: Estimate | None
    """The measure of the first over that of the second; ``None`` where no block has both."""
    p_value: float | None
    """Adjusted by Holm's method for all pairs; ``None`` where fewer than two blocks have both."""

    @property
    def told_apart(self) -> bool:
        """Whether the two differ by more than chance explains."""
        return self.p_value is not None and self.p_value <= ERROR_RATE


@dataclass(frozen=True, slots=True)
class Rank:
    """A server's places, counted from 1: the best and the worst that cannot be ruled out."""

    server: str
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class Tier:
    """Servers next to one another in a ranking, each told apart from every server of another tier."""

    servers: tuple[str, ...]
    to_next: Estimate | None
    """The measure of this tier over that of the next, as geometric means of their servers."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Servers from the best to the worst, as far as they can be told apart.

    ``groups`` are the largest sets of servers of which no two can be told apart; a server may be in several,
    because "cannot be told apart" does not carry over from one pair to the next. ``blocks`` counts those that
    have any of the servers.
    """

    ranks: tuple[Rank, ...]
    groups: tuple[tuple[str, ...], ...]
    tiers: tuple[Tier, ...]
    pairs: tuple[Pair, ...]
    blocks: int

    @property
    def decides(self) -> bool:
        """Whether any two servers have the two blocks in common that a comparison needs."""
        return any(pair.p_value is not None for pair in self.pairs)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A server's figures that no ranking uses: at one point, in these blocks."""

    server: str
    point: Point
    invalid: tuple[int, ...]
    """Blocks in which the verdict is invalid."""
    absent: tuple[int, ...]
    """Blocks in which the measure was not measured, by failure for instance."""


@dataclass(frozen=True, slots=True)
class RunRanking:
    """The rankings of a run by one measure: over the curve, at each point, and what is in neither."""

    measure: Measure
    over_curve: Ranking
    at_points: tuple[tuple[Point, Ranking], ...]
    left_out: tuple[LeftOut, ...]


def rank_run(run: Run, measure: Measure) -> RunRanking:
    """Rank the servers of a run over the curve and at each point; invalid points enter neither.

    Over the curve the unit is the block: the mean of the log ratios at the points that are usable for both
    servers in it.

    Raises ``ValueError`` for a measure of which neither more nor less is better.
    """
    values = usable_values(run, measure)
    points = [(point, point_key(point)) for point in run.run.points]
    return RunRanking(
        measure=measure,
        over_curve=rank(values, measure),
        at_points=tuple((point, rank(at_point(values, key), measure)) for point, key in points),
        left_out=tuple(_left_out(run, values)),
    )


def rank(values: Values, measure: Measure) -> Ranking:
    """Rank the servers that have values, by the paired ratios of all pairs.

    Two servers are told apart where the paired t test says so at 5 % after Holm's correction for all pairs.
    A server's best rank is 1 and the number of servers that are better by that test; its worst is the number
    of servers less those that are worse.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979); the ranges of ranks as in Goldstein and Spiegelhalter, "League tables and their
    limitations", Journal of the Royal Statistical Society A 159 (1996).

    Raises ``ValueError`` for a measure of which neither more nor less is better.
    """
    if measure.better is None:
        raise ValueError(f"servers cannot be ranked by {measure.title}: neither more nor less is better")
    servers = [server for server, blocks in values.items() if blocks]
    ratios = {
        (first, second): list(log_ratios(values[first], values[second]).values())
        for first, second in itertools.combinations(servers, 2)
    }
    order = _in_order(servers, ratios, measure)
    pairs = _compared(order, ratios)
    apart = {frozenset((pair.first, pair.second)): _wins(pair, measure) for pair in pairs if pair.told_apart}
    ranks = []
    for server in order:
        better = sum(1 for names, winner in apart.items() if server in names and winner != server)
        worse = sum(1 for winner in apart.values() if winner == server)
        ranks.append(Rank(server, 1 + better, len(order) - worse))
    return Ranking(
        ranks=tuple(ranks),
        groups=_groups(order, set(apart)),
        tiers=_tiers(order, apart, values),
        pairs=pairs,
        blocks=len({block for server in order for block in values[server]}),
    )


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted so that each may be held against the error rate of the whole family.

    The i-th smallest of m is multiplied by m - i + 1, and none is less than one before it.

    Source: Holm (1979); the form is that of R's ``p.adjust``.
    """
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = least
    return adjusted


LogRatios = Mapping[tuple[str, str], list[float]]
"""The log ratios of the blocks for each pair of servers, in one of its two directions."""


def _in_order(servers: Sequence[str], ratios: LogRatios, measure: Measure) -> list[str]:
    """Sort servers by their mean log ratio to all others, the best first; equal ones keep their order."""
    score = dict.fromkeys(servers, 0.0)
    for (first, second), logs in ratios.items():
        if logs:
            mean = math.fsum(logs) / len(logs)
            score[first] += mean
            score[second] -= mean
    return sorted(servers, key=score.__getitem__, reverse=measure.better == "higher")


def _compared(order: Sequence[str], ratios: LogRatios) -> tuple[Pair, ...]:
    names = list(itertools.combinations(order, 2))
    compared = [
        paired_ratio(ratios[a, b] if (a, b) in ratios else [-log for log in ratios[b, a]]) for a, b in names
    ]
    tested = [i for i, ratio in enumerate(compared) if ratio is not None and ratio.p_value is not None]
    p_values = [ratio.p_value for ratio in compared if ratio is not None and ratio.p_value is not None]
    adjusted = dict(zip(tested, holm_adjusted(p_values), strict=True))
    return tuple(
        Pair(a, b, ratio.estimate if ratio else None, adjusted.get(i))
        for i, ((a, b), ratio) in enumerate(zip(names, compared, strict=True))
    )


def _wins(pair: Pair, measure: Measure) -> str:
    """Return which of two servers that can be told apart is the better one."""
    first_is_higher = pair.ratio is not None and pair.ratio.value > 1
    return pair.first if first_is_higher == (measure.better == "higher") else pair.second


def _groups(order: Sequence[str], apart: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of servers of which no two are apart, by the place of their first server.

    They are the maximal cliques of the relation "cannot be told apart", by the algorithm of Bron and Kerbosch
    (Communications of the ACM 16, 1973); as the lines or letters of Piepho, "An algorithm for a letter-based
    representation of all-pairwise comparisons", Journal of Computational and Graphical Statistics 13 (2004).
    """
    alike = {
        server: {other for other in order if other != server and frozenset((server, other)) not in apart}
        for server in order
    }
    found: list[tuple[str, ...]] = []

    def extend(group: set[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(tuple(sorted(group, key=order.index)))
            return
        pivot = max(candidates | done, key=lambda server: len(alike[server] & candidates))
        for server in sorted(candidates - alike[pivot], key=order.index):
            extend(group | {server}, candidates & alike[server], done & alike[server])
            candidates = candidates - {server}
            done = done | {server}

    if order:
        extend(set(), set(order), set())
    return tuple(sorted(found, key=lambda group: [order.index(server) for server in group]))


def _tiers(order: Sequence[str], apart: Mapping[frozenset[str], str], values: Values) -> tuple[Tier, ...]:
    """Cut the order wherever all servers before are told apart from, and better than, all behind."""
    cuts = [
        place
        for place in range(1, len(order))
        if all(
            apart.get(frozenset(pair)) == pair[0] for pair in itertools.product(order[:place], order[place:])
        )
    ]
    members = [tuple(order[a:b]) for a, b in itertools.pairwise([0, *cuts, len(order)])] if order else []
    return tuple(
        Tier(tier, _group_ratio(tier, after, values) if after else None)
        for tier, after in itertools.zip_longest(members, members[1:])
    )


def _group_ratio(first: Sequence[str], second: Sequence[str], values: Values) -> Estimate | None:
    logs = group_log_ratios([values[name] for name in first], [values[name] for name in second])
    ratio = paired_ratio(logs.values())
    return ratio.estimate if ratio else None


def _left_out(run: Run, values: Values) -> list[LeftOut]:
    """List what is in no ranking, of the blocks in which anything was measured."""
    blocks = sorted({record.block for record in run.points})
    invalid: dict[tuple[str, PointKey], set[int]] = {}
    for record in run.points:
        if not is_usable(record):
            invalid.setdefault((record.server, point_key(record.point)), set()).add(record.block)
    left_out = []
    for server, measured in values.items():
        for point in run.run.points:
            key = point_key(point)
            missing = [block for block in blocks if key not in measured.get(block, {})]
            if missing:
                bad = invalid.get((server, key), set())
                left_out.append(
                    LeftOut(
                        server,
                        point,
                        invalid=tuple(block for block in missing if block in bad),
                        absent=tuple(block for block in missing if block not in bad),
                    )
                )
    return left_out
