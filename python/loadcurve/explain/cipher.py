"""A cipher that the processor does not help with, where much is encrypted."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "slow_cipher",
    title="The processor does not accelerate the cipher",
    seen_where="most handshakes negotiated ChaCha20-Poly1305 although the processor at both ends has AES "
    "instructions, or AES although it has none, and at least 20 MB/s were encrypted",
    because="AES without instructions costs about ten times as much, a few percent of a CPU at that rate; no "
    "instructions exist for ChaCha20, and its extra cost depends on the processor",
)

ENCRYPTED_BYTES_PER_S = 20e6


@dataclass(frozen=True, slots=True)
class Ciphered:
    """The cipher of most connections of one record, and how much it had to do."""

    suite: str
    share: float
    bytes_per_s: float


def find(subject: Subject) -> list[Finding]:
    """Find points at which much was encrypted by a cipher that the processor does not help with."""
    has_aes = subject.host.get("cpu_has_aes")
    if not isinstance(has_aes, bool) or not subject.is_local:
        return []
    seen = observed(subject, lambda record: _ciphered(record, "CHACHA20" if has_aes else "_AES_"))
    return merged(CODE, subject, seen, _explain)


def _ciphered(record: PointRecord, unaided: str) -> Ciphered | None:
    load = record.load
    if load.tls is None or load.bytes is None or not load.duration_s:
        return None
    agreed = load.tls.agreed
    of_these = [one for one in agreed if unaided in one.suite]
    connections = sum(one.count for one in agreed)
    share = sum(one.count for one in of_these) / connections if connections else 0.0
    bytes_per_s = ((load.bytes.sent or 0) + (load.bytes.received or 0)) / load.duration_s
    if share <= 1 / 2 or bytes_per_s < ENCRYPTED_BYTES_PER_S:
        return None
    return Ciphered(of_these[0].suite, share, bytes_per_s)


@dataclass(frozen=True, slots=True)
class Words:
    """Why a cipher is slow here, and what to do about it."""

    cause: str
    advice: str


CHACHA = Words(
    "The processor has AES instructions at both ends, which ChaCha20-Poly1305 does not use.",
    "Prefer AES-GCM (suites in tls, the server's list of ciphers), or compare both: the saving depends on "
    "the processor.",
)
AES = Words(
    "The processor has no AES instructions, so both ends compute AES in software.",
    "Prefer ChaCha20-Poly1305 (suites in tls, the server's list of ciphers), or use a machine with these "
    "instructions.",
)


def _explain(subject: Subject, seen: Sequence[Observation[Ciphered]]) -> Explanation:
    details = [one.detail for one in seen]
    cpus = [one.record.probe.server.cpu_share for one in seen if one.record.probe.server]
    words = CHACHA if subject.host["cpu_has_aes"] else AES
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"Most connections negotiated {details[0].suite}.",
        evidence=[
            *ranged("handshakes that negotiated it", "share", [one.share for one in details]),
            *ranged("encrypted", "MB/s", [one.bytes_per_s / 1e6 for one in details]),
            *ranged("CPU of the server", "CPUs", cpus),
        ],
        cause=words.cause,
        advice=words.advice,
    )


RULE = Rule(200, find, CODE)
