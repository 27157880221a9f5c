"""Calls that miss their deadline because they wait, and not because serving them takes as long."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.protocol import GRPC
from loadcurve.result.records import PointRecord
from loadcurve.units import percent, rounded

CODE = FindingCode(
    "deadline_missed_in_queue",
    title="Calls missed their deadline in a queue",
    seen_where="at least 1 % of the calls, and 10, were not answered within their deadline, which is at "
    "least 10 times the median service time where at most 0.1 % missed it; and half of them missed it, "
    "or the median of the others was at least 3 times as long",
    because="a server that needs a fraction of the deadline for a call spends the rest of it on others: more "
    "calls are under way than it serves in that time",
)

MISSED_MIN = 10
MISSED_SHARE_MIN = 0.01
ANSWERED_MIN = 50
"""How many answers say how long serving takes."""
CLEAN_SHARE_MAX = 0.001
"""Of the calls, that miss their deadline where serving is what takes the time."""
DEADLINE_FACTOR = 10.0
SLOWED_FACTOR = 3.0
MOST = 0.5


@dataclass(frozen=True, slots=True)
class Missed:
    """What missed its deadline in one record."""

    calls: int
    share: float
    served_ms: float


def find(subject: Subject) -> list[Finding]:
    """Find points at which calls missed a deadline that is long for one of them."""
    served_ms = [one for record in subject.records if (one := _served_ms(record)) is not None]
    if not served_ms:
        return []
    least_ms = min(served_ms)
    return merged(CODE, subject, observed(subject, lambda record: _missed(record, least_ms)), _explain)


def _late(record: PointRecord) -> int:
    """Return how many calls the client gave up, or the server, when their time was over."""
    return sum(record.load.errors[code] or 0 for code in ("timeout", "grpc_deadline_exceeded"))


def _is_of_calls(record: PointRecord) -> bool:
    asked = record.load.load
    return asked.work == "http" and asked.messages == GRPC and record.load.requests.taken_up > 0


def _served_ms(record: PointRecord) -> float | None:
    """Return how long serving a call takes, where a record says it: hardly any missed its deadline."""
    if not _is_of_calls(record):
        return None
    requests = record.load.requests
    is_clean = _late(record) <= CLEAN_SHARE_MAX * requests.taken_up and requests.answered >= ANSWERED_MIN
    return _median_ms(record) if is_clean else None


def _missed(record: PointRecord, served_ms: float) -> Missed | None:
    if not _is_of_calls(record):
        return None
    late, share = _late(record), _late(record) / record.load.requests.taken_up
    if late < MISSED_MIN or share < MISSED_SHARE_MIN:
        return None
    deadline_ms, answered_ms = _deadline_ms(record), _median_ms(record)
    if deadline_ms is None or deadline_ms < DEADLINE_FACTOR * served_ms:
        return None
    # A server that stands still for a moment is as quick as ever for all other calls.
    has_slowed = answered_ms is None or answered_ms >= SLOWED_FACTOR * served_ms
    return Missed(late, share, served_ms) if share >= MOST or has_slowed else None


def _explain(subject: Subject, seen: Sequence[Observation[Missed]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.share)
    deadlines_ms = [_deadline_ms(one.record) or 0.0 for one in seen]
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"Up to {percent(most.share)} of the calls were not answered within "
        f"{rounded(max(deadlines_ms))} ms, although {subject.name} needs {rounded(most.served_ms)} ms for "
        "one where few are under way.",
        evidence=[
            *ranged("calls that missed their deadline", "", [one.calls for one in details]),
            *ranged("share of the calls", "share", [one.share for one in details]),
            *ranged("deadline", "ms", deadlines_ms),
            *ranged(
                "median service time where hardly any missed it", "ms", [one.served_ms for one in details]
            ),
            *ranged("median service time here", "ms", [_median_ms(one.record) for one in seen]),
            *ranged("calls under way, at most", "", [_under_way_max(one.record) for one in seen]),
        ],
        cause="More calls are under way than the server serves within the deadline: they wait in its "
        "queue, or for one of its threads. What was given up may still be served, for nobody, which "
        "lengthens the queue.",
        advice="Let the server refuse early what it cannot serve in time, and leave out calls whose deadline "
        "has passed (grpc-timeout, --deadline); serve more at once, or load it with fewer calls under way or "
        "at a lower rate. A longer deadline allows a longer queue, and no more answers.",
    )


def _deadline_ms(record: PointRecord) -> float | None:
    timeout_s = record.load.load.timeout_s
    return None if timeout_s is None else 1e3 * timeout_s


def _median_ms(record: PointRecord) -> float | None:
    times = record.load.service_time_ms
    return None if times is None else times.p50


def _under_way_max(record: PointRecord) -> int | None:
    asked = record.load.load
    return asked.under_way_max if asked.work == "http" else None


RULE = Rule(174, find, CODE)
