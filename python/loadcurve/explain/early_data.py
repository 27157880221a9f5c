"""Handshakes that are no round trip, among those that are one."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "mixed_handshakes",
    title="Handshakes of several classes were timed together",
    seen_where="over HTTP/3, at least 20 handshakes carried requests in their first datagrams (0-RTT) and "
    "at least 20 did not",
    because="a request in the first datagrams waits for no handshake, so a mean over both is the time of "
    "neither",
)

COUNT_MIN = 20


@dataclass(frozen=True, slots=True)
class Mixed:
    """The handshakes of one record."""

    early: int
    others: int


def _mixed(record: PointRecord) -> Mixed | None:
    http3 = record.load.http3
    if http3 is None:
        return None
    times = http3.handshakes_ms
    early = times.early_accepted.known_count
    others = sum(
        one.known_count for one in (times.full, times.resumed, times.early_rejected, times.after_retry)
    )
    return Mixed(early, others) if min(early, others) >= COUNT_MIN else None


def _explain(subject: Subject, seen: Sequence[Observation[Mixed]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.early)
    loads = [one.record.load.http3.handshakes_ms for one in seen if one.record.load.http3 is not None]
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"Up to {most.early:,} handshakes with {subject.name} were 0-RTT beside {most.others:,} others.",
        evidence=[
            *ranged("handshakes with 0-RTT", "", [one.early for one in details]),
            *ranged("other handshakes", "", [one.others for one in details]),
            *ranged("median with 0-RTT", "ms", [one.early_accepted.p50 for one in loads]),
            *ranged("median of full ones", "ms", [one.full.p50 for one in loads]),
        ],
        cause="The load continued earlier sessions with requests in the first datagrams for a part of its "
        "connections.",
        advice="Read the classes of handshakes apart, as http3.handshakes_ms has them, and compare "
        "servers at the same full_handshakes and early_data.",
    )


RULE = Rule.of_records(155, CODE, _mixed, _explain)
