"""The rig is the limit: its generator is saturated, late, or as fast as it can be here."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.loads.kinds import LoadKind
from loadcurve.result.machine import INVALID_TAKEN, share_taken
from loadcurve.result.records import PointRecord
from loadcurve.result.rig import Ceiling
from loadcurve.units import rounded

CODE = FindingCode(
    "rig_limit",
    title="The rig was the limit",
    seen_where="the verdict is `generator_saturated`, `generator_late`, `rate_not_sent` or `rig_ceiling`",
    because="a faster server would have given the same figures",
)

AT_LIMIT = "The rig had reached its own limit: a faster server would have given the same figures."
LATE = (
    "The generator's own delays are in these latencies: those of a faster server would have had them as well."
)
ADVICE = {
    "generator_saturated": "give the load more threads on more CPUs (load_cpus in [host], threads)",
    "generator_late": "keep other work off the load's CPUs",
    "rate_not_sent": "lower the rate, or give the load more threads",
    "rig_ceiling": "use another machine for the load, or limit the server to fewer CPUs",
}
"""By the reasons of a verdict that speak of the rig; their thresholds are the verdict's."""


@dataclass(frozen=True, slots=True)
class Limited:
    """How near to its limit the rig was."""

    codes: list[str]
    generator_cpu_share: float | None
    lateness_p99_ms: float | None
    never_sent: int | None
    ceiling_rps: float | None
    answered_rps: float | None
    taken_share: float
    """Of the time of the load's CPUs, what other programs took."""


def find(subject: Subject) -> list[Finding]:
    """Find points whose verdict says that the rig, not the server, may have been the limit."""
    observations = observed(subject, lambda record: _limited(record, subject.run.ceiling))
    return merged(CODE, subject, observations, _explain)


def _limited(record: PointRecord, ceiling: Ceiling | None) -> Limited | None:
    load = record.load
    said = {reason.code for reason in load.verdict.reasons}
    codes = [code for code in ADVICE if code in said]
    if not codes:
        return None
    generator = load.generator
    curve = None if ceiling is None else ceiling.curve_of(load)
    available_s = load.duration_s * (generator.threads or 0)
    busy_s = generator.cpu_busy_s
    lateness = generator.lateness_ms
    return Limited(
        codes=codes,
        generator_cpu_share=busy_s / available_s if available_s and busy_s is not None else None,
        lateness_p99_ms=None if lateness is None else lateness.p99,
        never_sent=load.requests.never_sent,
        ceiling_rps=None if curve is None else curve.requests_per_s_at(load.load.connections or 0),
        answered_rps=load.rate_rps.answered,
        taken_share=share_taken((generator.cpu_time,)),
    )


def _said_by(load: LoadKind) -> dict[str, str]:
    """Return what the reasons say of the rig."""
    of_all = f"all {load.requests} that were due"
    return {
        "generator_saturated": "the load generator was saturated",
        "generator_late": f"the generator sent {load.requests} late although a connection was free",
        "rate_not_sent": f"the generator did not send {of_all} although a connection was free",
        "rig_ceiling": "the throughput reached the rig's ceiling, measured with a server that does nothing",
    }


def _explain(subject: Subject, seen: Sequence[Observation[Limited]]) -> Explanation:
    load = subject.load
    said = _said_by(load)
    codes = [code for code in said if any(code in one.detail.codes for one in seen)]
    sentence = "; ".join(said[code] for code in codes)
    advice = ", and ".join(ADVICE[code] for code in codes)
    details = [one.detail for one in seen]
    at_ceiling = "rig_ceiling" in codes
    never_sent = "rate_not_sent" in codes
    # Late and unsent requests are the generator's own doing; a busy one may still have been fast enough.
    is_starved = any(one.taken_share >= INVALID_TAKEN for one in details)
    is_shown = bool({"generator_late", "rate_not_sent"} & set(codes)) and not is_starved
    return Explanation(
        weight="invalidates",
        certainty="shown" if is_shown else "likely",
        seen=f"{sentence[:1].upper()}{sentence[1:]}.",
        evidence=[
            *ranged(
                "CPU of each of the generator's threads", "share", [d.generator_cpu_share for d in details]
            ),
            *ranged("lateness of the generator, p99", "ms", [d.lateness_p99_ms for d in details]),
            *ranged(f"{load.requests} never sent", "", [d.never_sent for d in details] if never_sent else []),
            *ranged("throughput", load.per_second, [d.answered_rps for d in details]),
            *ranged(
                "the rig's ceiling", load.per_second, [d.ceiling_rps for d in details] if at_ceiling else []
            ),
        ],
        cause=_cause(details) if is_starved else LATE if codes == ["generator_late"] else AT_LIMIT,
        advice=f"{advice[:1].upper()}{advice[1:]}. Do not rank servers by these points.",
        briefly=f"these figures are those of the rig, because {sentence}" if is_shown else None,
    )


def _cause(details: Sequence[Limited]) -> str:
    share = rounded(100 * max(one.taken_share for one in details))
    return (
        f"Other programs took up to {share} % of the time of the load's CPUs, which is reason enough for "
        "this; the rig's own limit may lie higher."
    )


RULE = Rule(10, find, CODE)
