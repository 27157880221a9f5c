"""Handshakes of TLS: full ones that take much of the server's CPU.

How much of the CPU they take is shown where points of one trial differ in their share of full handshakes
alone: by what an answer cost with many of them and with few, in proportion to how many more there were,
because servers do not resume every session that they could. Elsewhere it is estimated: their rate times the
time of the fastest one, which waited for no other, less what the generator's own end took of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.loads.values import Point
from loadcurve.result.load import MeasuredHandshakes
from loadcurve.result.measures import PointKey, point_key
from loadcurve.result.records import PointRecord
from loadcurve.units import rounded, setting, whole_percent

CODE = FindingCode(
    "handshakes",
    title="TLS handshakes took much of the CPU time",
    seen_where="at least 20 full handshakes took a quarter of the server's CPU time: shown if an answer "
    "cost so much less, in proportion, at a point of the trial with at most half as many handshakes and no "
    "other difference; likely if their rate times the time of the fastest one, minus the generator's CPU "
    "time, amounts to it; likely, too, if that is not known, or more than all of it, and there was one per "
    "ten answers or fewer",
    because="the fastest handshake waited for no other one, so the rest of its time is the server's and the "
    "network's; a full handshake costs a server as much as ten to a hundred small answers, depending "
    "on the key",
)

SWEPT = "full_handshakes"
"""The key of the sweep along which nothing but the share of full handshakes differs."""
CPU_SHARE = 0.25
FEWER = 0.5
"""A point is one of fewer full handshakes if it has at most this part of them for each answer."""
WORTH_A_WORD = 0.05
PER_ANSWER = 0.1
LEAST_HANDSHAKES = 20


@dataclass(frozen=True, slots=True)
class Compared:
    """What an answer cost the server at a point and at one of the same trial with fewer full handshakes."""

    here_us: float
    fewer_us: float
    fewer_at: Point
    per_answer: float
    """How many full handshakes there were for each answer."""
    fewer_per_answer: float

    @property
    def share(self) -> float:
        """Which part of the CPU time all full handshakes took, if each cost as those that the other lacks."""
        more = 1.0 - self.fewer_per_answer / self.per_answer
        return min(1.0, (1.0 - self.fewer_us / self.here_us) / more)


@dataclass(frozen=True, slots=True)
class Handshaking:
    """The handshakes of one record."""

    full: int
    resumed: int
    full_per_s: float | None
    per_answer: float
    handshake_p50_ms: float | None
    estimated_share: float | None
    """Which part of the server's CPU time full handshakes took, by their rate and time, if known."""
    compared: Compared | None
    agreed: str
    """What most of them have agreed on, and the key of the certificate."""

    @property
    def cpu_share(self) -> float | None:
        """Which part of the server's CPU time full handshakes took, by the best evidence that there is."""
        return self.compared.share if self.compared is not None else self.estimated_share

    @property
    def are_many(self) -> bool:
        """Whether full handshakes are much of the server's work."""
        if self.full < LEAST_HANDSHAKES:
            return False
        share = self.cpu_share
        return self.per_answer >= PER_ANSWER if share is None else share >= CPU_SHARE


def find(subject: Subject) -> list[Finding]:
    """Find points where full handshakes are many."""
    fewest = _fewest(subject)
    seen = observed(subject, lambda record: _handshaking(record, fewest.get(_apart_from_handshakes(record))))
    many = [one for one in seen if one.detail.are_many]
    return merged(CODE, subject, many, _explain)


def _apart_from_handshakes(record: PointRecord) -> tuple[int, PointKey]:
    """Return the trial and all settings of a point but its share of full handshakes."""
    return record.trial, point_key({key: value for key, value in record.point.items() if key != SWEPT})


def _fewest(subject: Subject) -> dict[tuple[int, PointKey], PointRecord]:
    """Return the record with the fewest full handshakes per answer, of those that differ in nothing else."""
    fewest: dict[tuple[int, PointKey], PointRecord] = {}
    for record in subject.records:
        per_answer = _per_answer(record)
        if SWEPT not in record.point or per_answer is None:
            continue
        least = fewest.setdefault(_apart_from_handshakes(record), record)
        if per_answer < (_per_answer(least) or 0.0):
            fewest[_apart_from_handshakes(record)] = record
    return fewest


def _per_answer(record: PointRecord) -> float | None:
    """Return how many full handshakes there were for each answer; ``None`` where either is not known."""
    tls, replies = record.load.tls, record.load.connections.replies
    return tls.handshakes.full / replies if tls is not None and replies else None


def _handshaking(record: PointRecord, fewest: PointRecord | None) -> Handshaking | None:
    load, per_answer = record.load, _per_answer(record)
    if load.tls is None or per_answer is None:
        return None
    handshakes, connections, measured = load.tls.handshakes, load.connections, load.tls.measured
    total = handshakes.full + handshakes.resumed
    certificate = load.tls.certificate
    names = [] if certificate is None else [f"a key of {certificate.key}"]
    for one in load.tls.agreed[:1]:
        names += [f"TLS {one.version}", *([one.group] if one.group else [])]
    of_whole_load = None if connections.rate_cps is None or not total else connections.rate_cps / total
    return Handshaking(
        full=handshakes.full,
        resumed=handshakes.resumed,
        full_per_s=measured.full_per_s
        if measured is not None
        else of_whole_load and of_whole_load * handshakes.full,
        per_answer=per_answer,
        handshake_p50_ms=_median_ms(record),
        estimated_share=_estimated_share(record, measured),
        compared=_compared(record, fewest),
        agreed=", ".join(names),
    )


def _median_ms(record: PointRecord) -> float | None:
    """Return the median time of full handshakes, or of all of them where the two were not told apart."""
    tls, every_ms = record.load.tls, record.load.handshake_ms
    if tls is not None and tls.measured is not None and tls.measured.full_ms.count:
        return tls.measured.full_ms.p50
    return None if every_ms is None else every_ms.p50


def _estimated_share(record: PointRecord, measured: MeasuredHandshakes | None) -> float | None:
    """Return which part of the server's CPU time full handshakes took, by their rate and their least time.

    ``None``, too, where that is more than all of it: even the fastest one waited, such as for other programs.
    """
    used = record.probe.server
    if measured is None or used is None or not used.cpu_share:
        return None
    fastest_ms, full_per_s = measured.full_ms.min, measured.full_per_s or 0.0
    if fastest_ms is None:
        return 0.0
    rate = full_per_s + (measured.resumed_per_s or 0.0)
    handshakes = rate * record.load.duration_s
    own_s = (record.load.generator.cpu_busy_s or 0.0) / handshakes if handshakes else 0.0
    share = full_per_s * max(0.0, fastest_ms / 1000 - own_s) / used.cpu_share
    return share if share <= 1.0 else None


def _compared(record: PointRecord, fewest: PointRecord | None) -> Compared | None:
    """Compare a point with the one of its trial that had the fewest full handshakes."""
    per_answer = _per_answer(record)
    fewer = None if fewest is None else _per_answer(fewest)
    if fewest is None or not per_answer or fewer is None or fewer > FEWER * per_answer:
        return None
    here, there = record.probe.server, fewest.probe.server
    if here is None or there is None or not here.cpu_per_request_us or there.cpu_per_request_us is None:
        return None
    return Compared(here.cpu_per_request_us, there.cpu_per_request_us, fewest.point, per_answer, fewer)


def _explain(subject: Subject, seen: Sequence[Observation[Handshaking]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda detail: (detail.cpu_share or 0.0, detail.per_answer))
    cpus = [one.record.probe.server.cpu_share for one in seen if one.record.probe.server]
    compared = [detail.compared for detail in details if detail.compared is not None]
    often = f"one full TLS handshake per {_answers([1 / detail.per_answer for detail in details])}"
    is_shown = len(compared) == len(details)
    words = _words(subject, most, often)
    return Explanation(
        weight="explains",
        certainty="shown" if is_shown else "likely",
        seen=words,
        evidence=[
            *ranged("full handshakes", "", [detail.full for detail in details]),
            *ranged("resumed handshakes", "", [detail.resumed for detail in details]),
            *ranged("rate of full handshakes", "/s", [detail.full_per_s for detail in details]),
            *ranged("median time of a handshake", "ms", [detail.handshake_p50_ms for detail in details]),
            *ranged("CPU of the server", "CPUs", cpus),
            *ranged("CPU per answer", "µs", [one.here_us for one in compared]),
            *ranged("CPU per answer with fewer full handshakes", "µs", [one.fewer_us for one in compared]),
            *ranged("full handshakes per answer", "", [one.per_answer for one in compared]),
            *ranged(
                "full handshakes per answer where they were fewer",
                "",
                [one.fewer_per_answer for one in compared],
            ),
            *ranged("share of the CPU time, by comparison", "share", [one.share for one in compared]),
            *ranged(
                "share of the CPU time, by rate and shortest time",
                "share",
                [detail.estimated_share for detail in details],
            ),
        ],
        cause="A full handshake exchanges keys and signs with the certificate's key, which costs a server as "
        f"much as many small answers ({most.agreed}).",
        advice="Keep connections open (calls, keep-alive), resume sessions (full_handshakes below 1), or "
        'compare certificates: signing costs much less with certificate = "ecdsa" than with "rsa".',
        briefly=f"{words[:1].lower()}{words[1:].removesuffix('.')}" if is_shown else None,
    )


def _words(subject: Subject, most: Handshaking, often: str) -> str:
    """Say how much of the CPU time handshakes took, and by which evidence."""
    if (compared := most.compared) is not None:
        fewer = ", ".join(f"{key} = {setting(value)}" for key, value in compared.fewer_at.items())
        return (
            f"Full TLS handshakes took {whole_percent(compared.share)} of the CPU time of {subject.name}: "
            f"an answer cost {rounded(compared.here_us)} µs, compared with {rounded(compared.fewer_us)} µs "
            f"at {fewer}{_still(compared)}."
        )
    if most.estimated_share is not None:
        return (
            f"There was {often}: by their rate and the time of the fastest one, they took about "
            f"{whole_percent(most.estimated_share)} of the CPU time of {subject.name}."
        )
    return f"There was {often}; their share of the CPU time is not known."


def _still(compared: Compared) -> str:
    """Say how many full handshakes there still were at the other point, unless next to none."""
    part = compared.fewer_per_answer / compared.per_answer
    return f", where there were still {whole_percent(part)} as many" if part >= WORTH_A_WORD else ""


def _answers(each: Sequence[float]) -> str:
    """Say how many answers there were for one handshake, at one point or at several."""
    least, most = (rounded(max(1.0, answers)) for answers in (min(each), max(each)))
    if least != most:
        return f"{least} to {most} answers"
    return "answer" if least == "1" else f"{least} answers"


RULE = Rule(180, find, CODE)
