"""Steal: the host did not run this machine's CPUs although they had work."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, invalid_points, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.units import rounded

CODE = FindingCode(
    "steal",
    title="The host withheld CPU time (steal)",
    seen_where="2 % of a CPU used by the server or the load, and at least 50 ms",
    because="trials differ by as much anyway; the kernel counts steal in ticks of 10 ms",
    of_machine=True,
)

STEAL_SHARE = 0.02
"""Of the time of the CPUs in use: what takes 2 % of a busy CPU takes as much of the throughput, as much as
trials differ anyway, and comes in stretches that show far more in the slowest requests."""
STEAL_MIN_S = 0.05
"""The kernel counts steal in ticks of 10 ms: in a short window, a few are more than 2 % and mean nothing."""
BURSTABLE = ("t1.", "t2.", "t3.", "t3a.", "t4g.")
"""Machine types whose CPU is a credit that can be used up; then the host withholds it as steal."""


@dataclass(frozen=True, slots=True)
class Stolen:
    """How much of the CPUs was taken."""

    share: float
    worst_share: float
    worst_moment_cpus: float | None
    invalidates: bool
    """Whether the verdict of the point is invalid, and steal is one of its reasons."""


def find(subject: Subject) -> list[Finding]:
    """Find windows in which the host kept CPUs of the server or the load back."""
    used = set(subject.cpus) | set(subject.load_cpus)
    observations = observed(subject, lambda record: _stolen(record, used))
    return merged(CODE, subject, observations, _explain)


def _stolen(record: PointRecord, used: set[int]) -> Stolen | None:
    shares = [cpu.steal_share for cpu in record.probe.cpus or [] if not used or cpu.cpu in used]
    worst = max(shares, default=0.0)
    if worst < STEAL_SHARE or worst * record.load.duration_s < STEAL_MIN_S:
        return None
    series = record.probe.series
    moments = [value for value in (series.steal_cpus or []) if value is not None] if series else []
    verdict = record.load.verdict
    invalidates = verdict.status == "invalid" and any(reason.code == "steal" for reason in verdict.reasons)
    return Stolen(sum(shares) / len(shares), worst, max(moments, default=None), invalidates)


def _explain(subject: Subject, seen: Sequence[Observation[Stolen]]) -> Explanation:
    worst = max(one.detail.worst_share for one in seen)
    product = subject.host.get("machine_product")
    burstable = isinstance(product, str) and product.startswith(BURSTABLE)
    credits_used = (
        f" This machine is a {product}, whose CPU time depends on credits: they may have been used up."
        if burstable
        else ""
    )
    advice = (
        "Wait until the credits have been restored, or measure on a machine type that is not burstable"
        if burstable
        else "Measure again at another time, or on a dedicated machine"
    )
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"For up to {rounded(100 * worst)} % of the time the host did not run a CPU that had work.",
        evidence=[
            *ranged("steal of the most affected CPU", "share", [one.detail.worst_share for one in seen]),
            *ranged("mean steal of the CPUs in use", "share", [one.detail.share for one in seen]),
            *ranged("highest steal in one sample", "CPUs", [one.detail.worst_moment_cpus for one in seen]),
            *ranged(
                "throughput", subject.load.per_second, [one.record.load.rate_rps.answered for one in seen]
            ),
        ],
        cause="The host withheld CPU time in these windows: for another machine, for a quota of this one "
        f"or for its own work, which cannot be distinguished from here.{credits_used} Whatever runs on "
        f"such a CPU is paused meanwhile, which affects the slowest {subject.load.requests} first.",
        advice=f"{advice}; do not compare these windows with those without steal.",
        briefly=f"{invalid_points(len(seen), spoilt)} invalid, because for up to {rounded(100 * worst)} % of "
        "the time the host did not run a CPU that had work (steal)"
        if (spoilt := sum(one.detail.invalidates for one in seen))
        else None,
    )


RULE = Rule(90, find, CODE)
