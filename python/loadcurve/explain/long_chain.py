"""Certificates that are too long for what a server of QUIC may send before it knows the client's address."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "long_chain",
    title="The certificates cost each handshake a round trip",
    seen_where="over HTTP/3, the certificates of a server were longer than three times what the client sends "
    "first (3,600 bytes), and at least 20 full handshakes",
    because="until a server has heard from the client's address twice, it may send three times what came "
    "from there (RFC 9000 §8.1), so the rest waits for a round trip",
)

COUNT_MIN = 20
"""Full handshakes, in which alone certificates are sent."""
FIRST_DATAGRAM_BYTES = 1200
AMPLIFICATION = 3


@dataclass(frozen=True, slots=True)
class Chain:
    """The full handshakes of one record."""

    certificate_bytes: int
    limit_bytes: int
    handshakes: int
    p50_ms: float | None
    rtt_min_ms: float | None


def _long(record: PointRecord) -> Chain | None:
    http3 = record.load.http3
    if http3 is None or http3.certificate_bytes is None:
        return None
    # A key of ML-KEM makes the client's first message as long as two datagrams.
    groups = [one.group or "" for one in record.load.tls.agreed] if record.load.tls else []
    datagrams = 2 if any("MLKEM" in group for group in groups) else 1
    limit_bytes = AMPLIFICATION * FIRST_DATAGRAM_BYTES * datagrams
    full = http3.handshakes_ms.full
    if http3.certificate_bytes.max <= limit_bytes or full.known_count < COUNT_MIN:
        return None
    return Chain(
        certificate_bytes=http3.certificate_bytes.max,
        limit_bytes=limit_bytes,
        handshakes=full.known_count,
        p50_ms=full.p50,
        rtt_min_ms=http3.rtt_min_ms.min,
    )


def _explain(subject: Subject, seen: Sequence[Observation[Chain]]) -> Explanation:
    details = [one.detail for one in seen]
    longest = max(details, key=lambda one: one.certificate_bytes)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"The certificates of {subject.name} have {longest.certificate_bytes:,} bytes, and a server may "
        f"answer the client's first datagrams with {longest.limit_bytes:,}.",
        evidence=[
            *ranged("bytes of certificates", "", [one.certificate_bytes for one in details]),
            *ranged("full handshakes", "", [one.handshakes for one in details]),
            *ranged("median of full handshakes", "ms", [one.p50_ms for one in details]),
            *ranged("shortest round trip", "ms", [one.rtt_min_ms for one in details]),
        ],
        cause="The rest of the certificates waits until the client has answered the first part, so each full "
        "handshake takes a round trip more than QUIC requires.",
        advice="Send a shorter chain: keys of elliptic curves, fewer names, no certificate of the root; or "
        "let clients resume sessions, which shows no certificate.",
    )


RULE = Rule.of_records(158, CODE, _long, _explain)
