"""Head-of-line blocking: answers that wait for a lost segment, or for a long answer on their connection."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.load import SlowRequest
from loadcurve.result.probe import Column, ProbeSeries
from loadcurve.result.records import PointRecord
from loadcurve.units import whole_percent

LOST = FindingCode(
    "blocked_by_loss",
    title="A lost segment held back the answers of its connection",
    seen_where="over HTTP/2, at least five of the ten slowest requests were answered on one connection "
    "within 1 ms, each after at least 20 ms and 5 times the median, and the kernel retransmitted segments "
    "while all of them waited, more than the receiver said had arrived already (D-SACK)",
    because="TCP delivers nothing after a missing segment, so all streams of its connection wait for it",
)
LONG = FindingCode(
    "blocked_by_long_answers",
    title="Short answers waited behind long ones",
    seen_where="over HTTP/2, 256 KiB of one answer arrived without a break while others waited on the same "
    "connection: at least 10 % of the answers, and at least 20; and transfers took up to 5 ms or more",
    because="answers that a server does not interleave arrive one after the other, whatever the number of "
    "streams",
)

TOGETHER_MIN = 5
TOGETHER_MS = 1.0
SLOW_MS = 20.0
SLOW_FACTOR = 5.0
"""Recovery from a loss takes a round trip at least, and 200 ms where nothing shows the loss to the sender."""
BEHIND_SHARE = 0.1
BEHIND_MIN = 20
TRANSFER_MS = 5.0


@dataclass(frozen=True, slots=True)
class Together:
    """Slow requests of one connection that were answered together, while segments were sent again."""

    requests: int
    longest_ms: float
    retransmits: float
    """Without those that had arrived all the same, as after a probe for a loss at the end (RFC 8985)."""
    p50_ms: float | None


@dataclass(frozen=True, slots=True)
class Behind:
    """Short answers that came behind long ones in one record."""

    answers: int
    share: float
    transfer_max_ms: float


def find(subject: Subject) -> list[Finding]:
    """Find points at which answers waited for each other on their connection."""
    lost = observed(subject, _together)
    behind = observed(subject, _behind)
    return [*merged(LOST, subject, lost, _explain_lost), *merged(LONG, subject, behind, _explain_long)]


def _together(record: PointRecord) -> Together | None:
    """Return the most slow requests that ended together on a connection while segments were lost."""
    load = record.load
    series = record.probe.series
    median_ms = load.latency_ms.p50
    if load.http2 is None or load.load.streams == 1 or series is None or median_ms is None:
        return None
    slow_ms = max(SLOW_MS, SLOW_FACTOR * median_ms)
    by_connection: dict[int, list[SlowRequest]] = defaultdict(list)
    for one in load.slowest:
        if one.error is None and (one.service_time_ms or 0.0) >= slow_ms:
            by_connection[one.connection].append(one)
    groups = [group for slow in by_connection.values() for group in _groups(slow)]
    group = max(groups, key=len, default=[])
    if len(group) < TOGETHER_MIN:
        return None
    # All of them were under way from when the last one was sent.
    end_s = max(map(_done_s, group))
    start_s = end_s - min(one.service_time_ms or 0.0 for one in group) / 1000
    retransmits = _within(series, series.retransmits, start_s, end_s)
    retransmits -= _within(series, series.dsacks_received, start_s, end_s)
    if retransmits <= 0:
        return None
    times_ms = [one.service_time_ms or 0.0 for one in group]
    return Together(len(group), max(times_ms), retransmits, median_ms)


def _groups(slow: list[SlowRequest]) -> list[list[SlowRequest]]:
    """Return for each request those that were answered from then on, as far as that was together with it."""
    ordered = sorted(slow, key=_done_s)
    return [
        [one for one in ordered[place:] if (_done_s(one) - _done_s(first)) * 1000 <= TOGETHER_MS]
        for place, first in enumerate(ordered)
    ]


def _done_s(one: SlowRequest) -> float:
    return one.due_s + one.latency_ms / 1000


def _within(series: ProbeSeries, column: Column, start_s: float, end_s: float) -> float:
    """Return what was counted in the samples that reach into a stretch of time."""
    if column is None:
        return 0.0
    places = range(1, len(series.t_s))
    inside = [place for place in places if series.t_s[place] >= start_s and series.t_s[place - 1] <= end_s]
    return sum(column[place] or 0.0 for place in inside)


def _behind(record: PointRecord) -> Behind | None:
    load, connections = record.load, record.load.connections
    replies = connections.replies
    transfer_ms = load.transfer_ms.max if load.transfer_ms else None
    if load.http2 is None or not replies or transfer_ms is None or transfer_ms < TRANSFER_MS:
        return None
    answers = load.http2.answers_behind_long
    share = answers / replies
    return Behind(answers, share, transfer_ms) if answers >= BEHIND_MIN and share >= BEHIND_SHARE else None


def _explain_lost(_: Subject, seen: Sequence[Observation[Together]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.longest_ms)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{most.requests} of the ten slowest requests shared one connection and were answered within 1 "
        f"ms, after up to {most.longest_ms:,.0f} ms, during which segments were retransmitted.",
        evidence=[
            *ranged("slow requests that were answered together", "", [one.requests for one in details]),
            *ranged("longest latency of these", "ms", [one.longest_ms for one in details]),
            *ranged("median latency, for comparison", "ms", [one.p50_ms for one in details]),
            *ranged("segments retransmitted that had not arrived", "", [one.retransmits for one in details]),
            *ranged("streams on a connection", "", [one.record.load.load.streams for one in seen]),
        ],
        cause="TCP delivers the bytes of a connection in order: after a lost segment, the answers of all its "
        "streams wait until it is retransmitted (head-of-line blocking).",
        advice="Compare with more connections and fewer streams on each, so that a loss delays only a part "
        "of them, and find out where segments are lost between load and server.",
    )


def _explain_long(_: Subject, seen: Sequence[Observation[Behind]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.share)
    first_bytes = [one.record.load.first_byte_ms for one in seen]
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"Up to {whole_percent(most.share)} of the answers were short and waited while 256 KiB or "
        "more of another answer arrived on their connection without a break.",
        evidence=[
            *ranged("answers behind long ones", "", [one.answers for one in details]),
            *ranged("share of all answers", "share", [one.share for one in details]),
            *ranged("longest transfer", "ms", [one.transfer_max_ms for one in details]),
            *ranged("median time to the first byte", "ms", [one.p50 for one in first_bytes if one]),
            *ranged("streams on a connection", "", [one.record.load.load.streams for one in seen]),
        ],
        cause="The server does not interleave long answers with others, or has filled the connection with "
        "them: short answers on the same connection wait (head-of-line blocking).",
        advice="Compare with more connections and fewer streams on each, or put long and short answers on "
        "separate connections.",
    )


RULE = Rule(160, find, LOST, LONG)
