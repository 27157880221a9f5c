"""Answers of many datagrams that all arrived alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.http3 import Http3Result
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "single_datagrams",
    title="Every datagram arrived alone",
    seen_where="over HTTP/3, answers were as long as three datagrams or more, and each of at least 1,000 "
    "receives gave exactly one although the kernel joins them (GRO)",
    because="datagrams that a server sends together arrive together, unless something on the way takes "
    "them apart",
)

RECEIVES_MIN = 1_000
PER_ANSWER_MIN = 3.0


@dataclass(frozen=True, slots=True)
class Single:
    """How datagrams arrived in one record."""

    receives: int
    per_answer: float


def _single(record: PointRecord) -> Single | None:
    http3 = record.load.http3
    if http3 is None or http3.sockets.receive_offload < http3.sockets.opened:
        return None
    calls, per_answer = http3.datagrams, http3.packets.received_per_answer
    if calls.receives < RECEIVES_MIN or calls.received != calls.receives or not per_answer:
        return None
    return Single(calls.receives, per_answer) if _length(record, http3) >= PER_ANSWER_MIN else None


def _length(record: PointRecord, http3: Http3Result) -> float:
    """Return how many datagrams an answer fills: those of handshakes are sent one by one in any case."""
    carried, answered = record.load.bytes, record.load.requests.answered
    if carried is None or not answered or http3.mtu_bytes is None:
        return 0.0
    return (carried.body or 0) / answered / http3.mtu_bytes.max


def _explain(subject: Subject, seen: Sequence[Observation[Single]]) -> Explanation:
    details = [one.detail for one in seen]
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"Each of up to {max(one.receives for one in details):,} receives gave exactly one datagram of "
        f"{subject.name}.",
        evidence=[
            *ranged("datagrams per receive", "", [1.0 for _ in details]),
            *ranged("datagrams per answer", "", [one.per_answer for one in details]),
            *ranged("CPU of the load per request", "µs", [_cpu_us(one.record) for one in seen]),
        ],
        cause="The server sends each datagram by a separate call (it has no GSO, or it is off), or a relay "
        "on the way, such as a container's proxy, takes them apart.",
        advice="Reach the server without a relay (network = host) and compare; a server without GSO pays a "
        "system call for each datagram, and so does the load.",
    )


def _cpu_us(record: PointRecord) -> float | None:
    return record.load.generator.cpu_per_request_us


RULE = Rule.of_records(153, CODE, _single, _explain)
