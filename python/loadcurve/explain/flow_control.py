"""Flow control of HTTP/2: bodies and answers that had to wait for a window."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.units import whole_percent

SERVER = FindingCode(
    "server_windows",
    title="Request bodies waited for the server's windows",
    seen_where="at least 10 % of the requests, and at least 20, had bodies that waited for a window "
    "of the server",
    because="such a body takes one more round trip per window, plus the time when the server does not read",
)
CLIENT = FindingCode(
    "client_windows",
    title="Answers waited for the load's windows",
    seen_where="the server used up the load's windows before the end of an answer at least 20 times, and at "
    "least once per 20 answers",
    because="the server then waits for the load; with a longer round-trip time it would wait more often",
)

BODIES_SHARE = 0.1
ANSWERS_SHARE = 0.05
TIMES_MIN = 20


@dataclass(frozen=True, slots=True)
class Held:
    """What windows held back in one record, by its answers."""

    bodies: int
    bodies_share: float
    used_up: int
    used_up_per_answer: float


def find(subject: Subject) -> list[Finding]:
    """Find points at which many bodies, or many answers, had to wait for a window."""
    seen = observed(subject, _held)
    bodies = [
        one for one in seen if one.detail.bodies >= TIMES_MIN and one.detail.bodies_share >= BODIES_SHARE
    ]
    answers = [
        one
        for one in seen
        if one.detail.used_up >= TIMES_MIN and one.detail.used_up_per_answer >= ANSWERS_SHARE
    ]
    return [
        *merged(SERVER, subject, bodies, _explain_bodies),
        *merged(CLIENT, subject, answers, _explain_answers),
    ]


def _held(record: PointRecord) -> Held | None:
    load = record.load
    replies = load.connections.replies
    if load.http2 is None or not replies:
        return None
    return Held(
        bodies=load.http2.bodies_delayed,
        bodies_share=min(load.http2.bodies_delayed / replies, 1.0),
        used_up=load.http2.windows_used_up,
        used_up_per_answer=load.http2.windows_used_up / replies,
    )


def _explain_bodies(subject: Subject, seen: Sequence[Observation[Held]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.bodies_share)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The bodies of up to {whole_percent(most.bodies_share)} of the requests waited for a window of "
        f"{subject.name} (flow control).",
        evidence=[
            *ranged("requests whose bodies waited", "", [one.bodies for one in details]),
            *ranged("share of all requests", "share", [one.bodies_share for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The bodies in flight on a connection exceed the server's window (64 KiB unless it announces "
        "another), or the server reads them slowly.",
        advice="Raise the server's windows (http2_body_preread_size in nginx, H2WindowSize in "
        "Apache), or send fewer bodies at once on a connection.",
    )


def _explain_answers(subject: Subject, seen: Sequence[Observation[Held]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.used_up)
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"Up to {most.used_up:,} times {subject.name} had used up the load's windows and waited until "
        "the load enlarged them.",
        evidence=[
            *ranged("windows used up", "", [one.used_up for one in details]),
            *ranged("windows used up per answer", "", [one.used_up_per_answer for one in details]),
            *ranged("median transfer", "ms", [_transfer_ms(one.record) for one in seen]),
        ],
        cause="The load's windows are small compared with its answers, and the server waits until the load "
        "announces that it has read data.",
        advice="Enlarge stream_window and connection_window of the load, unless the study is about small "
        "windows.",
    )


def _transfer_ms(record: PointRecord) -> float | None:
    transfer = record.load.transfer_ms
    return None if transfer is None else transfer.p50


RULE = Rule(150, find, SERVER, CLIENT)
