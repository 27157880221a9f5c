"""A request whose answers take several times as long as those of the others."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.load import Operation
from loadcurve.result.operations import operations_of
from loadcurve.result.records import PointRecord
from loadcurve.units import listing, plural, rounded, whole_percent

CODE = FindingCode(
    "slow_request",
    title="One request is much slower than the others",
    seen_where="web servers, several requests: the median latency of one, or of at most half of them, is at "
    "least 3 times that of the slowest of the others, and 1 ms more; its mean is at least twice as long, and "
    "each request has 30 answers",
    because="what waits for the same connections and CPUs waits alike, so a multiple is what the server does "
    "for this request; where the server is overloaded, all are slow and the ratio vanishes",
)

SLOW_FACTOR = 3.0
SLOW_MS = 1.0
"""Answers that are longer, or are made with a few calls more, differ by less."""
MEAN_FACTOR = 2.0
"""Where half of the answers are slow, whichever request they are to, it is chance on which side a median
lies, and the means are alike."""
ANSWERS_MIN = 30
"""With fewer answers chance makes the medians of two requests so far apart that are alike: with exponential
times in one of 50 loads of 20 answers to each, in one of 5 of 6, and in one of 250 of 30."""
SLOW_SHARE = 0.5
"""Where more of the requests than this are slow, it is the others that are fast."""
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Slow:
    """The slow requests of a load, and the slowest of the others."""

    slow: list[Operation]
    """The slowest first."""
    other: Operation
    share_of_time: float
    """The slow ones' part of the latencies of all answers together."""
    share_of_answers: float

    @property
    def factor(self) -> float:
        """How many times the median of the others the greatest one is."""
        return _p50_ms(self.slow[0]) / max(_p50_ms(self.other), 1e-6)


def _p50_ms(one: Operation) -> float:
    return one.latency_ms.p50 or 0.0


def _mean_ms(one: Operation) -> float:
    return one.latency_ms.mean or 0.0


def _slow(record: PointRecord) -> Slow | None:
    """Return the requests above the widest step between two medians, if that is wide enough."""
    load = record.load
    if load.load.kind.by_operation:
        return None
    requests = operations_of(load)
    known = [one for one in requests if one.answered >= ANSWERS_MIN and one.latency_ms.p50 is not None]
    ordered = sorted(known, key=_p50_ms, reverse=True)
    steps = [
        (_p50_ms(above) / max(_p50_ms(below), 1e-6), place)
        for place, (above, below) in enumerate(itertools.pairwise(ordered), 1)
        if place <= SLOW_SHARE * len(ordered) and _p50_ms(above) - _p50_ms(below) >= SLOW_MS
    ]
    factor, place = max(steps, default=(0.0, 0))
    if factor < SLOW_FACTOR:
        return None
    slow = ordered[:place]
    if any(_mean_ms(one) < MEAN_FACTOR * _mean_ms(ordered[place]) for one in slow):
        return None
    return Slow(slow, ordered[place], _part(slow, requests, _sum_ms), _part(slow, requests, _answered))


def _part(some: list[Operation], of_all: list[Operation], figure: Callable[[Operation], float]) -> float:
    whole = sum(map(figure, of_all))
    return sum(map(figure, some)) / whole if whole else 0.0


def _answered(one: Operation) -> float:
    return one.answered


def _sum_ms(one: Operation) -> float:
    return one.answered * _mean_ms(one)


def _explain(_: Subject, seen: Sequence[Observation[Slow]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.factor)
    names = list(dict.fromkeys(one.operation for detail in details for one in detail.slow))
    named = _named(names)
    alone = "alone is" if len(names) == 1 else "are"
    slowest = most.slow[0]
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{named} {alone} slow: the median of {slowest.operation} was {rounded(_p50_ms(slowest))} ms, "
        f"{rounded(most.factor)} times the {rounded(_p50_ms(most.other))} ms of {most.other.operation}, the "
        f"slowest of the others. {whole_percent(most.share_of_answers)} of the answers took "
        f"{whole_percent(most.share_of_time)} of the time.",
        evidence=[
            *(
                evidence
                for name in names[:MOST_NAMED]
                for evidence in ranged(f"median latency of {name}", "ms", _medians(details, name))
            ),
            *ranged(
                "median latency of the slowest other request", "ms", [_p50_ms(one.other) for one in details]
            ),
            *ranged("share of the answers", "share", [one.share_of_answers for one in details]),
            *ranged("share of the latencies of all answers", "share", [one.share_of_time for one in details]),
        ],
        cause=f"The server takes longer for {'it' if len(names) == 1 else 'them'}: it computes more, sends "
        "longer answers, or waits for a database, another service, a lock or a timer. The others came over "
        "the same connections to the same processes, so that neither the network nor a busy server explains "
        "it.",
        advice="Look at what the server does for it, and compare the lengths of the answers. The figures of "
        f'all requests together hide it; a limit judges it by its own: \'p99 of "{slowest.operation}" < '
        "100ms'.",
    )


def _named(names: Sequence[str]) -> str:
    more = [plural(len(names) - MOST_NAMED, "more request")] if len(names) > MOST_NAMED else []
    return listing([*names[:MOST_NAMED], *more])


def _medians(details: Sequence[Slow], name: str) -> list[float | None]:
    return [one.latency_ms.p50 for detail in details for one in detail.slow if one.operation == name]


RULE = Rule.of_records(255, CODE, _slow, _explain)
