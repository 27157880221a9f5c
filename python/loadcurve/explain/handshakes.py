"""Handshakes of TLS: many for each answer, and full ones where sessions were to go on."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged, rounded
from loadcurve.explain.observation import Explanation, Observation, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

MANY = FindingCode(
    "handshakes",
    title="Handshakes of TLS are much of the work",
    seen_where="there was one full handshake for every ten answers or fewer, and at least 20",
    because="a full handshake costs a server as much as some ten to a hundred small answers, by its key",
)
NOT_RESUMED = FindingCode(
    "not_resumed",
    title="Sessions of TLS were not resumed",
    seen_where="less than half of the connections that offered to resume a session did, of at least 20",
    because="the first connections have no session to go on with, and tickets may come too late",
)

PER_ANSWER = 0.1
LEAST_HANDSHAKES = 20
RESUMED_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Handshaking:
    """The handshakes of one record."""

    full: int
    resumed: int
    full_per_s: float | None
    per_answer: float
    offered: float
    """How many connections offered to resume a session, as far as there was one."""
    handshake_p50_ms: float | None
    agreed: str
    """What most of them have agreed on, and the key of the certificate."""


def find(subject: Subject) -> list[Finding]:
    """Find points where full handshakes are many, and points where they should have been fewer."""
    seen = [
        Observation(record, shaken)
        for record in subject.records
        if (shaken := _handshaking(record)) is not None
    ]
    many = [
        one for one in seen if one.detail.full >= LEAST_HANDSHAKES and one.detail.per_answer >= PER_ANSWER
    ]
    refused = [
        one
        for one in seen
        if one.detail.offered >= LEAST_HANDSHAKES and one.detail.resumed < RESUMED_SHARE * one.detail.offered
    ]
    return [
        *merged(MANY, subject, many, _explain_many),
        *merged(NOT_RESUMED, subject, refused, _explain_refused),
    ]


def _handshaking(record: PointRecord) -> Handshaking | None:
    load = record.load
    if load.tls is None:
        return None
    handshakes, connections = load.tls.handshakes, load.connections
    replies = connections.replies
    if not replies:
        return None
    total = handshakes.full + handshakes.resumed
    share = load.load.full_handshakes
    rate_cps = connections.rate_cps
    certificate = load.tls.certificate
    names = [] if certificate is None else [f"a key of {certificate.key}"]
    for one in load.tls.agreed[:1]:
        names += [f"TLS {one.version}", *([one.group] if one.group else [])]
    return Handshaking(
        full=handshakes.full,
        resumed=handshakes.resumed,
        full_per_s=None if rate_cps is None or not total else rate_cps * handshakes.full / total,
        per_answer=handshakes.full / replies,
        # As many connections as are open at once find no session at the start.
        offered=max(0.0, (1.0 - share) * total - (load.load.connections or 0)),
        handshake_p50_ms=None if load.handshake_ms is None else load.handshake_ms.p50,
        agreed=", ".join(names),
    )


def _explain_many(_: Subject, seen: Sequence[Observation[Handshaking]]) -> Explanation:
    details = [one.detail for one in seen]
    agreed = max(details, key=lambda detail: detail.per_answer).agreed
    cpus = [one.record.probe.server.cpu_share for one in seen if one.record.probe.server]
    often = f"one full handshake of TLS for every {_answers([1 / detail.per_answer for detail in details])}"
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"There was {often}.",
        evidence=[
            *ranged("full handshakes", "", [detail.full for detail in details]),
            *ranged("resumed handshakes", "", [detail.resumed for detail in details]),
            *ranged("rate of full handshakes", "/s", [detail.full_per_s for detail in details]),
            *ranged("median time of a handshake", "ms", [detail.handshake_p50_ms for detail in details]),
            *ranged("CPU of the server", "CPUs", cpus),
        ],
        cause="A full handshake exchanges keys and signs with the certificate's key, which costs a server as "
        f"much as many small answers ({agreed}).",
        advice="Keep connections open (calls, keep-alive), let sessions go on (full_handshakes below 1), or "
        'compare certificates: certificate = "ecdsa" signs for much less than "rsa".',
        briefly=often,
    )


def _answers(each: Sequence[float]) -> str:
    """Say how many answers there were for one handshake, at one point or at several."""
    least, most = (rounded(max(1.0, answers)) for answers in (min(each), max(each)))
    if least != most:
        return f"{least} to {most} answers"
    return "answer" if least == "1" else f"{least} answers"


def _explain_refused(subject: Subject, seen: Sequence[Observation[Handshaking]]) -> Explanation:
    details = [one.detail for one in seen]
    least = min(details, key=lambda detail: detail.resumed / detail.offered)
    return Explanation(
        weight="explains",
        certainty="likely" if least.resumed else "shown",
        seen=f"{subject.name} resumed {least.resumed:,} sessions of TLS, where the load offered to resume "
        f"about {round(least.offered):,}.",
        evidence=[
            *ranged("full handshakes", "", [detail.full for detail in details]),
            *ranged("resumed handshakes", "", [detail.resumed for detail in details]),
        ],
        cause="The server gave no tickets and keeps no sessions, or fewer than connections asked for: a "
        "ticket of TLS 1.3 serves once, and not every server gives a new one with each.",
        advice="Turn on session tickets or a session cache in the server's configuration. Where it resumes "
        "some only, compare TLS 1.2 (versions in tls), whose tickets serve again and again.",
    )
