"""How much of an open loop's latency a closed loop would have hidden (coordinated omission)."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.distribution import Distribution
from loadcurve.result.generator import Lateness
from loadcurve.result.records import PointRecord
from loadcurve.units import rounded

CODE = FindingCode(
    "hidden_tail",
    title="Requests waited before they were sent",
    seen_where="open loop: p99 latency at least twice the p99 service time, plus 1 ms, and not caused by the "
    "generator's lateness",
    because="a closed loop sends nothing while it waits, and would have shown only the service time "
    "(coordinated omission)",
)

HIDDEN_FACTOR = 2.0
HIDDEN_MS = 1.0
"""Latency against service time at the same percentile: twice and a millisecond more would change what a
reader concludes. Less may be the turns of the generator's loop."""
OWN_LATENESS_SHARE = 0.5
"""With more than this part of the difference being the generator's own lateness, it is not the server's."""
PERCENTILES = ("p99", "p95", "p90", "p75", "p50")
"""The farthest one at which the two differ is explanation."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A percentile of the time since a request was due, and of that since it was sent."""

    percentile: str
    latency_ms: float
    service_ms: float


def _hidden(record: PointRecord) -> Hidden | None:
    load = record.load
    if not load.load.is_open_loop:
        return None
    own_ms = _own_lateness_ms(load.generator.lateness_ms)
    for percentile in PERCENTILES:
        latency_ms = _value(load.latency_ms, percentile)
        service_ms = _value(load.service_time_ms, percentile)
        if latency_ms is None or service_ms is None:
            continue
        difference_ms = latency_ms - service_ms
        counts = latency_ms >= HIDDEN_FACTOR * service_ms and difference_ms >= HIDDEN_MS
        if counts and own_ms <= OWN_LATENESS_SHARE * difference_ms:
            return Hidden(percentile, latency_ms, service_ms)
    return None


def _own_lateness_ms(lateness: Lateness | None) -> float:
    """Return how late the generator was; of too few requests for a percentile, how late at most."""
    if lateness is None:
        return 0.0
    return (lateness.max if lateness.p99 is None else lateness.p99) or 0.0


def _value(distribution: Distribution | None, percentile: str) -> float | None:
    value: float | None = getattr(distribution, percentile, None)
    return value


def _explain(subject: Subject, seen: Sequence[Observation[Hidden]]) -> Explanation:
    most = max(
        (one.detail for one in seen), key=lambda hidden: hidden.latency_ms / max(hidden.service_ms, 1e-6)
    )
    loads = [one.record.load for one in seen]
    per_second = subject.load.per_second
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"A closed loop would have shown a {most.percentile} of {rounded(most.service_ms)} ms, "
        f"instead of {rounded(most.latency_ms)} ms.",
        evidence=[
            *ranged(f"latency, {most.percentile}", "ms", [one.detail.latency_ms for one in seen]),
            *ranged(f"service time, {most.percentile}", "ms", [one.detail.service_ms for one in seen]),
            *ranged("rate requested", per_second, [load.rate_rps.asked for load in loads]),
            *ranged("rate answered", per_second, [load.rate_rps.answered for load in loads]),
            *ranged("connections", "", [load.load.connections for load in loads]),
        ],
        cause=f"{subject.load.requests.capitalize()} fell due while every connection was still waiting for "
        "an answer, because the server stalled or could not keep up. A closed loop sends nothing in that "
        "time, so its figures leave out the waiting: it reports only the service time (coordinated "
        "omission).",
        advice="Use the latency, which is what users experience. Where the rate answered is below the rate "
        "requested, the server is beyond its capacity and the latency grows with the length of the load.",
        briefly=f"the {most.percentile} of {rounded(most.latency_ms)} ms is time spent waiting for a free "
        f"connection, except for {rounded(most.service_ms)} ms, because {subject.load.requests} fell due "
        "faster than the server answered",
    )


RULE = Rule.of_records(260, CODE, _hidden, _explain)
