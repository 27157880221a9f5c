"""The ranking of servers by one measure: which can be told apart, and which cannot."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.interval import Estimate
from loadcurve.stats.moderated import BlockSpread
from loadcurve.stats.paired import (
    Array,
    Logs,
    PairedRatio,
    block_means,
    group_log_ratios,
    paired_ratios,
)
from loadcurve.stats.power import ERROR_RATE, trials_to_show

Better = Literal["higher", "lower"]
"""Which of two values is the better one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two servers of a ranking; ``first`` is before ``second`` in it."""

    first: str
    second: str
    ratio: Estimate | None
    """The measure of the first over that of the second.

    ``None`` where no block has both, and where the ratio is beyond any number.
    """
    p_value: float | None
    """Adjusted by Holm's method for all pairs; ``None`` where fewer than two blocks have both."""
    trials_to_show: int | None = None
    """How many trials would tell them apart with a probability of 80 % if they differ as measured.

    ``None`` where they are told apart, or nothing is known of their spread, or no number up to 100 would.
    """

    @property
    def told_apart(self) -> bool:
        """Whether the two differ by more than chance explains."""
        return self.p_value is not None and self.p_value <= ERROR_RATE

    def seen_from(self, server: str) -> "Pair":
        """Return the pair with ``server``, which is one of the two, as its first."""
        if server == self.first:
            return self
        turned = None if self.ratio is None else self.ratio.inverted
        return replace(self, first=self.second, second=self.first, ratio=turned)


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
    """The measure of this tier over that of the next, as geometric means of their servers; of the last tier,
    and of a ratio beyond any number, ``None``."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Servers from the best to the worst, as far as they can be told apart.

    ``groups`` are the largest sets of servers no two of which can be told apart; a server may be in several,
    because "cannot be told apart" does not carry over from one pair to the next. ``blocks`` counts those that
    have any of the servers.
    """

    ranks: tuple[Rank, ...]
    groups: tuple[tuple[str, ...], ...]
    tiers: tuple[Tier, ...]
    pairs: tuple[Pair, ...]
    blocks: int

    @property
    def leader(self) -> str | None:
        """The first server that no other beats, of those that can be compared to any.

        ``None`` where there is none: with missing blocks each may be beaten by another one.
        """
        compared = self._compared
        return next((one.server for one in self.ranks if one.best == 1 and one.server in compared), None)

    @property
    def has_uncompared(self) -> bool:
        """Whether a server can be compared to no other one, so that nothing is known of its place."""
        return len(self._compared) < len(self.ranks)

    @property
    def _compared(self) -> set[str]:
        pairs = [pair for pair in self.pairs if pair.p_value is not None]
        return {name for pair in pairs for name in (pair.first, pair.second)}

    def pairs_of(self, server: str) -> list[Pair]:
        """Return the pairs of a server with each other one, in the order of these."""
        pairs = [pair.seen_from(server) for pair in self.pairs if server in (pair.first, pair.second)]
        places = {rank.server: place for place, rank in enumerate(self.ranks)}
        return sorted(pairs, key=lambda pair: places[pair.second])

    @property
    def decides(self) -> bool:
        """Whether any two servers have the two blocks in common that a comparison needs."""
        return any(pair.p_value is not None for pair in self.pairs)


def rank(logs: Logs, better: Better, rankings: int = 1, least: float = 0.0) -> Ranking:
    """Rank the servers that have values, by the paired ratios of all pairs.

    Two servers differ where the paired t test says so at 5 % after Holm's correction for all pairs, and after
    Bonferroni's for all ``rankings`` that are shown together. Where blocks are few, the variances are
    moderated by those of the other servers.
    Those whose ratio is within ``least`` of 1, such as 0.01, are not told apart, however sure it is.
    A server's best rank is 1 and the number of servers that are better by that test; its worst is the number
    of servers less those that are worse.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979); the ranges of ranks as in Goldstein and Spiegelhalter, "League tables and their
    limitations", Journal of the Royal Statistical Society A 159 (1996).
    """
    found = _with_values(logs)
    if not found:
        return Ranking((), (), (), (), 0)
    stack = np.stack(list(found.values()))
    log_ratios, spread = _spread(stack)
    order = _in_order(log_ratios, len(found), better)
    servers = [list(found)[place] for place in order]
    pairs = _compared(servers, _of_pairs_in(order, log_ratios), spread, rankings, least)
    apart = {frozenset((pair.first, pair.second)): _wins(pair, better) for pair in pairs if pair.told_apart}
    ranks = []
    for server in servers:
        above = sum(1 for names, winner in apart.items() if server in names and winner != server)
        below = sum(1 for winner in apart.values() if winner == server)
        ranks.append(Rank(server, 1 + above, len(servers) - below))
    return Ranking(
        ranks=tuple(ranks),
        groups=_groups(servers, set(apart)),
        tiers=_tiers(servers, apart, pairs, logs, spread),
        pairs=pairs,
        blocks=int(np.isfinite(stack).any(axis=(0, 2)).sum()),
    )


def paired_ratio(logs: Logs, first: str, second: str) -> PairedRatio | None:
    """Return the ratio of two servers' values, with the spread that a ranking of all of them has.

    ``None`` where one of them has no value, or no block has both.
    """
    found = _with_values(logs)
    if first not in found or second not in found:
        return None
    _, spread = _spread(np.stack(list(found.values())))
    log_ratios = group_log_ratios([found[first]], [found[second]])
    return paired_ratios(log_ratios[None], np.full(1, 2.0), spread)[0]


def _with_values(logs: Logs) -> Logs:
    """Return the servers that have any value."""
    return {server: rows for server, rows in logs.items() if np.isfinite(rows).any()}


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


def holm_steps(p_values: Sequence[float], error_rate: float) -> list[int]:
    """Return by how many each p-value is multiplied before it is held against the error rate.

    An interval at the confidence ``1 - error_rate / step`` excludes the value that is tested exactly where
    Holm's method rejects it: from the first that is not rejected on, all have the step of that one.
    """
    steps = [1] * len(p_values)
    stopped_at: int | None = None
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        step = len(p_values) - place if stopped_at is None else stopped_at
        steps[index] = step
        if step * p_values[index] > error_rate:
            stopped_at = step
    return steps


@functools.cache
def _pairs_of(servers: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of the first and of the second server of each pair."""
    return np.triu_indices(servers, 1)


def _spread(stack: Array) -> tuple[Array, BlockSpread]:
    """Return the blocks' log ratios of all pairs, a row each, and how far the servers spread."""
    first, second = _pairs_of(len(stack))
    log_ratios = block_means(stack[first] - stack[second])
    return log_ratios, BlockSpread.of(log_ratios, block_means(stack.mean(axis=0)), len(stack))


def _in_order(log_ratios: Array, servers: int, better: Better) -> list[int]:
    """Sort servers by their mean log ratio to all others, the best first; equal ones keep their order."""
    first, second = _pairs_of(servers)
    known = np.isfinite(log_ratios)
    means = np.where(known, log_ratios, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    score = np.zeros(servers)
    np.add.at(score, first, means)
    np.subtract.at(score, second, means)
    return sorted(range(servers), key=score.tolist().__getitem__, reverse=better == "higher")


def _of_pairs_in(order: Sequence[int], log_ratios: Array) -> Array:
    """Return the rows of all pairs once the servers are in another order: of a pair turned round, negated."""
    first, second = _pairs_of(len(order))
    table = np.empty((len(order), len(order), log_ratios.shape[1]))
    table[first, second], table[second, first] = log_ratios, -log_ratios
    places = np.array(order)
    return np.asarray(table[places[first], places[second]])


def _compared(
    servers: Sequence[str], log_ratios: Array, spread: BlockSpread, rankings: int, least: float
) -> tuple[Pair, ...]:
    ratios = paired_ratios(log_ratios, np.full(len(log_ratios), 2.0), spread)
    tested = [i for i, ratio in enumerate(ratios) if ratio is not None and ratio.p_value is not None]
    p_values = [
        1.0 if abs(ratio.logarithm) < math.log1p(least) else ratio.p_value
        for ratio in ratios
        if ratio is not None and ratio.p_value is not None
    ]
    of_all = (min(1.0, rankings * p_value) for p_value in holm_adjusted(p_values))
    adjusted = dict(zip(tested, of_all, strict=True))
    names = itertools.combinations(servers, 2)
    return tuple(
        _pair(a, b, ratio, adjusted.get(i), servers=len(servers), least=least)
        for i, ((a, b), ratio) in enumerate(zip(names, ratios, strict=True))
    )


def _pair(
    first: str, second: str, ratio: PairedRatio | None, p_value: float | None, *, servers: int, least: float
) -> Pair:
    pair = Pair(first, second, ratio.estimate if ratio else None, p_value)
    if ratio is None or ratio.log_sd is None or pair.told_apart or abs(ratio.logarithm) < math.log1p(least):
        return pair
    return replace(pair, trials_to_show=trials_to_show(ratio.logarithm, ratio.log_sd, servers))


def _wins(pair: Pair, better: Better) -> str:
    """Return which of two servers that can be told apart is the better one."""
    if pair.ratio is None:
        # Beyond any number: the order of the servers follows it.
        return pair.first
    first_is_higher = pair.ratio.value > 1
    return pair.first if first_is_higher == (better == "higher") else pair.second


def _groups(order: Sequence[str], apart: set[frozenset[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of servers no two of which are apart, by the place of their first server.

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


def _tiers(
    order: Sequence[str],
    apart: Mapping[frozenset[str], str],
    pairs: Sequence[Pair],
    logs: Logs,
    spread: BlockSpread,
) -> tuple[Tier, ...]:
    """Cut the order wherever all servers before are distinguished from, and better than, all behind."""
    cuts = [
        place
        for place in range(1, len(order))
        if all(
            apart.get(frozenset(pair)) == pair[0] for pair in itertools.product(order[:place], order[place:])
        )
    ]
    members = [tuple(order[a:b]) for a, b in itertools.pairwise([0, *cuts, len(order)])]
    known = {((pair.first,), (pair.second,)): pair.ratio for pair in pairs}
    to_next = [
        known[groups] if groups in known else _group_ratio(*groups, logs, spread)
        for groups in itertools.pairwise(members)
    ]
    return tuple(Tier(tier, ratio) for tier, ratio in zip(members, [*to_next, None], strict=True))


def _group_ratio(
    first: Sequence[str], second: Sequence[str], logs: Logs, spread: BlockSpread
) -> Estimate | None:
    """Return the ratio of two groups of servers."""
    log_ratios = group_log_ratios([logs[name] for name in first], [logs[name] for name in second])
    share = np.array([1 / len(first) + 1 / len(second)])
    (ratio,) = paired_ratios(log_ratios[None], share, spread)
    return ratio.estimate if ratio else None
