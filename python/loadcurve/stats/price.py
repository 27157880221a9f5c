"""Price and performance: what requests cost, and which server to take in each range of load."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadcurve.stats.complete import complete_rows, not_beaten
from loadcurve.stats.interval import Estimate

SECONDS_PER_HOUR = 3600
MILLION = 1e6
COMPARED_BLOCKS_MIN = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """What requests cost on a machine at ``usd_per_hour`` that answers as many as it can."""

    usd_per_hour: float
    requests_per_usd: Estimate
    usd_per_million_requests: Estimate


def cost(throughput_rps: Estimate, usd_per_hour: float) -> Cost:
    """Return the cost of requests at a throughput; intervals are those of the throughput, brought along."""
    per_usd = scaled(throughput_rps, SECONDS_PER_HOUR / usd_per_hour)
    return Cost(
        usd_per_hour=usd_per_hour,
        requests_per_usd=per_usd,
        usd_per_million_requests=Estimate(
            value=MILLION / per_usd.value,
            low=MILLION / per_usd.high if per_usd.high else None,
            high=MILLION / per_usd.low if per_usd.low else None,
            n=per_usd.n,
            method=per_usd.method,
        ),
    )


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """Return an estimate in another unit."""
    low, high = (None if end is None else factor * end for end in (estimate.low, estimate.high))
    return Estimate(factor * estimate.value, low, high, estimate.n, estimate.method)


@dataclass(frozen=True, slots=True)
class Offer:
    """A server that keeps the limits up to a load, for a price."""

    server: str
    usd_per_hour: float
    up_to: float
    is_end_of_sweep: bool = False
    """The limits held at the highest load that was measured, so it may do more."""


def cheapest(offers: Sequence[Offer]) -> list[Offer]:
    """Return the offers that are the cheapest in some range of load, each from where the one before it ends.

    Of two at one price the one that does more counts; one that does not outdo a cheaper one is left out.
    """
    chosen: list[Offer] = []
    for offer in sorted(offers, key=lambda one: (one.usd_per_hour, -one.up_to)):
        if offer.up_to > (chosen[-1].up_to if chosen else 0):
            chosen.append(offer)
    return chosen


@dataclass(frozen=True, slots=True)
class Leader:
    """The server that leads from where the leader before it ends up to a load.

    ``alike`` are the others that cannot be distinguished from it at any load of the range.
    """

    server: str
    up_to: float
    alike: tuple[str, ...]


def leaders(
    loads: Sequence[float],
    values: Mapping[str, Mapping[int, Sequence[float | None]]],
) -> list[Leader]:
    """Return which server leads in each range of ``loads``, with as few ranges as the trials allow.

    ``values[server][block]`` are positive figures along the loads, greater being better, and servers are
    compared within blocks. A server may lead where no other beats it (:func:`not_beaten`); from the lowest
    load on, the one that may lead the furthest does, and of several the one with the greatest mean. Nobody
    leads where one block alone was measured, in which nothing beats anything.
    """
    standings = [_standing(values, place) for place in range(len(loads))]
    found: list[Leader] = []
    place = 0
    while place < len(loads):
        reach = {server: _reach(standings, place, server) for server in standings[place]}
        if not reach:
            place += 1
            continue
        end = max(reach.values())
        furthest = [server for server, last in reach.items() if last == end]
        lead = max(furthest, key=lambda name: math.fsum(one[name] for one in standings[place:end]))
        alike = tuple(server for server in furthest if server != lead)
        found.append(Leader(lead, loads[end - 1], alike))
        place = end
    return found


def _standing(values: Mapping[str, Mapping[int, Sequence[float | None]]], place: int) -> dict[str, float]:
    """Return the servers that may lead at one load, each with its mean logarithm."""
    servers = list(values)
    blocks = sorted({block for rows in values.values() for block in rows})
    table = [
        [values[server][block][place] if block in values[server] else None for server in servers]
        for block in blocks
    ]
    kept, rows = complete_rows(range(len(servers)), table)
    if len(rows) < COMPARED_BLOCKS_MIN:
        return {}
    means = [math.fsum(map(math.log, column)) / len(rows) for column in zip(*rows, strict=True)]
    return {
        servers[int(number)]: mean
        for number, mean, may in zip(kept, means, not_beaten(rows), strict=True)
        if may
    }


def _reach(standings: Sequence[Mapping[str, float]], place: int, server: str) -> int:
    """Return the place behind the last up to which ``server`` may lead from ``place`` on."""
    end = place
    while end < len(standings) and server in standings[end]:
        end += 1
    return end
