"""Answers that had begun, and that their server left behind while it answered others on the connection."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.load import LoadResult
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

CODE = FindingCode(
    "answers_starved",
    title="Answers that had begun were left behind",
    seen_where="over HTTP/2 or HTTP/3, at least 5 answers, or one that timed out, were passed on their "
    "connection, after their first byte, by eight times as much as the longest answers of all its streams "
    "together, and one took at least 5 times the median",
    because="a server that divides a connection evenly, or answers in order, lets at most two answers of "
    "each other stream pass",
)

ANSWERS_MIN = 5
SLOW_FACTOR = 5.0
"""Recovery from a loss takes a few round trips, and a request one at least."""


@dataclass(frozen=True, slots=True)
class Starved:
    """The starved answers of one record."""

    answers: int
    timeouts: int
    longest_ms: float
    """From the first byte of an answer to its end, or to its timeout."""
    p50_ms: float


def _starved(record: PointRecord) -> Starved | None:
    load = record.load
    answers = _counted(load)
    begun = [one for one in load.slowest if one.first_byte_ms is not None]
    transfers_ms = [(one.service_time_ms or 0.0) - (one.first_byte_ms or 0.0) for one in begun]
    longest_ms, p50_ms = max(transfers_ms, default=0.0), load.latency_ms.p50
    least = 1 if any(one.error == "timeout" for one in begun) else ANSWERS_MIN
    if answers < least or p50_ms is None or longest_ms < SLOW_FACTOR * p50_ms:
        return None
    return Starved(answers, load.errors["timeout"] or 0, longest_ms, p50_ms)


def _counted(load: LoadResult) -> int:
    http2 = 0 if load.http2 is None else load.http2.answers_starved
    http3 = 0 if load.http3 is None else load.http3.streams.answers_starved
    return (http2 or 0) + (http3 or 0)


def _explain(subject: Subject, seen: Sequence[Observation[Starved]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.longest_ms)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"Up to {plural(max(one.answers for one in details), 'answer')} had begun, and waited up to "
        f"{most.longest_ms:,.0f} ms for the rest while {subject.name} answered later requests on the same "
        "connection.",
        evidence=[
            *ranged("answers left behind", "", [one.answers for one in details]),
            *ranged("timeouts, for comparison", "", [one.timeouts for one in details]),
            *ranged("longest time from the first byte to the end", "ms", [one.longest_ms for one in details]),
            *ranged("median latency, for comparison", "ms", [one.p50_ms for one in details]),
            *ranged("streams on a connection", "", [one.record.load.load.streams for one in seen]),
        ],
        cause="The server sends what is new before the rest of what it has begun, as long as the connection "
        "is full; or it made these answers slowly, and had sent their heads before.",
        advice="Compare with more connections and fewer streams on each: p99.9, the maximum and timeouts at "
        "this load are due to the order in which the server sends, not to its work.",
        briefly="it left answers behind that it had begun",
    )


RULE = Rule.of_records(162, CODE, _starved, _explain)
