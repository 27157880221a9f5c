"""Which server leads in each range of load: by its figures, and as far as trials show it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from loadcurve.stats.ranking import Better, Ranking


@dataclass(frozen=True, slots=True)
class Standing:
    """The servers at one load: how they are ranked, and the figure of each over all its trials."""

    load: float
    ranking: Ranking
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Leader:
    """A server that no other is shown to beat, at the ``loads`` of a range.

    ``ahead`` has the loads at which the figure of another server is the best one, which the trials do not
    show to be more than chance; where it is empty, the leader has the best figure at each load. ``alike`` are
    the servers that are not told apart from it, with the loads.
    """

    server: str
    loads: tuple[float, ...]
    ahead: dict[str, tuple[float, ...]] = field(default_factory=dict)
    alike: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leaders:
    """The leaders, range by range, and the loads at which nothing is compared."""

    ranges: tuple[Leader, ...]
    not_compared: tuple[float, ...]
    """Loads at which servers have figures, but no two of them two blocks in common."""


def leaders(standings: Sequence[Standing], better: Better) -> Leaders:
    """Return which server leads in each range of load, with as few ranges as the trials allow.

    A server may lead where no other is told apart from it as the better one; from the lowest load on, the one
    that may lead the furthest does, and of several the one with the best geometric mean of its figures.
    """
    compared = [one for one in standings if one.ranking.decides]
    found: list[Leader] = []
    place = 0
    while place < len(compared):
        reach = {server: _reach(compared, place, server) for server in _may_lead(compared[place])}
        if not reach:
            # Each is beaten by another one, in a circle.
            place += 1
            continue
        end = max(reach.values())
        within = compared[place:end]
        furthest = [server for server, last in reach.items() if last == end]
        lead = max(furthest, key=lambda name: _goodness(within, name, better))
        found.append(_leader(lead, within, better))
        place = end
    return Leaders(
        tuple(found),
        not_compared=tuple(one.load for one in standings if one.figures and not one.ranking.decides),
    )


def _may_lead(at: Standing) -> list[str]:
    """Return the servers that no other beats, of those that can be compared to any."""
    pairs = [pair for pair in at.ranking.pairs if pair.p_value is not None]
    compared = {name for pair in pairs for name in (pair.first, pair.second)}
    return [rank.server for rank in at.ranking.ranks if rank.best == 1 and rank.server in compared]


def _reach(standings: Sequence[Standing], place: int, server: str) -> int:
    """Return the place behind the last up to which ``server`` may lead from ``place`` on."""
    end = place
    while end < len(standings) and server in _may_lead(standings[end]):
        end += 1
    return end


def _goodness(standings: Sequence[Standing], server: str, better: Better) -> float:
    total = math.fsum(math.log(one.figures[server]) for one in standings)
    return total if better == "higher" else -total


def _leader(server: str, standings: Sequence[Standing], better: Better) -> Leader:
    ahead: dict[str, tuple[float, ...]] = {}
    alike: dict[str, tuple[float, ...]] = {}
    best = max if better == "higher" else min
    for at in standings:
        first = best(at.figures, key=at.figures.__getitem__)
        if at.figures[first] != at.figures[server]:
            ahead[first] = (*ahead.get(first, ()), at.load)
        for pair in at.ranking.pairs:
            names = {pair.first, pair.second}
            if server in names and not pair.told_apart:
                [other] = names - {server}
                alike[other] = (*alike.get(other, ()), at.load)
    return Leader(server, tuple(at.load for at in standings), ahead, alike)
