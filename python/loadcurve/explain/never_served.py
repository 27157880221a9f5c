"""The server answers on some of the connections only: the others wait, and no latency includes them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Evidence, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.machine import share_taken
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

CODE = FindingCode(
    "never_served",
    title="Some connections were never served",
    seen_where="on 1 connection or more requests waited, or failed, through the whole window, while others "
    "were answered; on twice as many as chance leaves without an answer in a window as short, and not where "
    "others took 80 % of the CPUs",
    because="what waits through the window is in no latency, so the figures are those of fewer connections",
)

POINTS_MIN = 2
"""At one point, the number that was served may be of that point alone; a limit is the same at others."""

BEYOND_CHANCE = 2.0
"""A server's order is less even than chance: this many times what chance leaves shows more than that."""
SHORT_WAIT_S = 3.0
"""After less, a server that accepts slowly may still have come to them: Node.js 20 accepts one connection in
each turn of its event loop, between the answers to all those that it has."""
STARVED_SHARE = 0.8
"""Of the CPUs, taken by other programs: then a server may not have run all of its processes."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """Who was served in the window of one record, and who was not."""

    asked: int
    served: int
    waited_s: float | None
    """``None`` where no request waited through the whole window."""
    keeps_connections: bool


def _unserved(record: PointRecord) -> Unserved | None:
    connections, waited = record.load.connections, record.load.waited_through
    if not connections.served or connections.asked is None or connections.served >= connections.asked:
        return None
    unserved = connections.asked - connections.served
    if unserved < BEYOND_CHANCE * _unserved_by_chance(connections.asked, record.load.requests.answered):
        return None
    if share_taken((record.probe.cpu_time, record.load.generator.cpu_time)) >= STARVED_SHARE:
        return None
    return Unserved(
        asked=connections.asked,
        served=connections.served,
        waited_s=waited.oldest_ms / 1000 if waited is not None else None,
        keeps_connections=not record.load.load.closes_connections,
    )


def _unserved_by_chance(asked: int, answered: int) -> float:
    """Return on how many connections no answer comes where a server turns to them in random order.

    With ``answered / asked`` answers for each on average, their number is a Poisson variable, which is 0 with
    the probability exp(-answered / asked).
    """
    return asked * math.exp(-answered / asked)


def _explain(subject: Subject, seen: Sequence[Observation[Unserved]]) -> Explanation:
    details = [one.detail for one in seen]
    client = subject.load.client
    served = {detail.served for detail in details}
    points = {subject.place(one.record) for one in seen}
    waited = all(detail.waited_s is not None and detail.keeps_connections for detail in details)
    limit = min(served) if len(served) == 1 and len(points) >= POINTS_MIN and waited else None
    may_be_slow = limit is None and waited and max(detail.waited_s or 0 for detail in details) < SHORT_WAIT_S
    return Explanation(
        weight="invalidates",
        certainty="likely" if limit is None else "shown",
        seen=_seen(details, client)
        if limit is None
        else f"The server serves {plural(limit, client)} at a time, however many there are.",
        evidence=[
            *ranged(f"{client}s answered in the window", "", [detail.served for detail in details]),
            *ranged(f"{client}s with {subject.load.requests}", "", [detail.asked for detail in details]),
            *_waits(details),
        ],
        cause=_cause(subject, limit, may_be_slow=may_be_slow),
        advice=(
            "Repeat it with a longer warm-up or without --quick, which shows whether they are served later. "
            if may_be_slow
            else ""
        )
        + f"Let the server serve more {client}s at once (its threads, workers or limit of connections), "
        f"or load it with at most {'as many as it serves' if limit is None else limit}.",
        briefly=None
        if limit is None
        else f"{client}s beyond {limit:,} are never answered, because it serves {limit:,} at a time",
    )


def _seen(details: Sequence[Unserved], client: str) -> str:
    worst = min(details, key=lambda detail: detail.served / detail.asked)
    return (
        f"The server answered on {worst.served:,} of {plural(worst.asked, client)}, and on the others never."
    )


def _cause(subject: Subject, limit: int | None, *, may_be_slow: bool) -> str:
    what = (
        "It does not turn to another one before one of these is closed"
        if limit is not None
        else "A server that serves a fixed number at a time leaves the others in its queue, and one that "
        "closes or refuses what is beyond its limit lets them fail"
    )
    if may_be_slow:
        what = (
            "A server that accepts one connection at a time, between the answers to those it has, as Node.js "
            "20 does, had not come to the others yet in a load as short; one that serves a fixed number at a "
            "time leaves them in its queue"
        )
    return (
        f"{what}. The {subject.load.requests} of the others are in no latency: the figures are those of a "
        "load with fewer."
    )


def _waits(details: Sequence[Unserved]) -> list[Evidence]:
    return ranged("the longest wait at the end", "s", [detail.waited_s for detail in details])


RULE = Rule.of_records(40, CODE, _unserved, _explain)
