"""CPU credits: a burstable machine used up what it had, and from there on has its baseline only."""

from collections.abc import Sequence

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.records import BurstRecord, CreditUse, PointRecord
from loadcurve.units import rounded, setting

CODE = FindingCode(
    "cpu_credits",
    title="The CPU credits ran out",
    seen_where="the server was limited to its baseline for at least 1 % of the load's time",
    because="credits are settled every 100 ms, and are overdrawn by less than that at a time",
)

HELD_SHARE = 0.01
"""Of the load's time: a server whose demand hovers around its baseline is held for single intervals."""


def find(subject: Subject) -> list[Finding]:
    """Find the points during which a server had no credits left."""
    limits = subject.server.limits
    if limits is None or (burst := limits.burst) is None:
        return []
    observations = observed(subject, held_to_baseline)
    return merged(CODE, subject, observations, lambda _, seen: _explain(burst, subject, seen))


def held_to_baseline(record: PointRecord) -> CreditUse | None:
    """Return what became of the credits at a point where they were used up; ``None`` at any other."""
    use = None if record.limit_use is None else record.limit_use.credits
    if use is None or use.ran_out_s is None or use.at_baseline_s < HELD_SHARE * record.load.duration_s:
        return None
    return use


def _explain(burst: BurstRecord, subject: Subject, seen: Sequence[Observation[CreditUse]]) -> Explanation:
    ran_out_s = [one.detail.ran_out_s for one in seen if one.detail.ran_out_s is not None]
    after = _after(ran_out_s)
    baseline = f"{rounded(100 * burst.baseline_share)} %"
    throughput = [one.record.load.rate_rps.answered for one in seen]
    cpus = [one.record.probe.server.cpu_share for one in seen if one.record.probe.server]
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"The CPU credits of {subject.name} ran out {after}{_at_first_point(subject, seen)}: from then "
        f"on it was limited to its baseline of {baseline} of its CPUs.",
        evidence=[
            *ranged("CPU credits at the start of the server", "", [burst.credits]),
            *ranged("time from the server's start until they ran out", "s", ran_out_s),
            *ranged("time at the baseline", "s", [one.detail.at_baseline_s for one in seen]),
            *ranged("CPU of the server", "CPUs", cpus),
            *ranged("throughput", subject.load.per_second, throughput),
        ],
        cause="The server used more CPU time than its baseline, which spends credits, until none were left. "
        "These points depend on what was measured before them, not only on their own load."
        + (_BETWEEN_TRIALS if not burst.restarted else ""),
        advice=_ADVICE if burst.restarted else _ADVICE_TO_RESTART,
        briefly=f"its CPU credits ran out {after}, so it was limited to {baseline} of its CPUs from then on",
    )


_BETWEEN_TRIALS = (
    " The machine kept running between the trials, so each trial started with the credits that the "
    "previous one had left: trials that are otherwise identical disagree."
)
_ADVICE = (
    'Restart the server for each point (restart = "point" in [trials]), which gives it the credits of a '
    "newly started machine, or measure for less time. Without `burst` its CPUs do not depend on credits."
)
_ADVICE_TO_RESTART = (
    "Stop and start the machine before each trial, which renews its credits (restarted = true in burst), "
    "or leave it idle until they are earned again. More trials on a machine that keeps running do not help."
)


def _after(ran_out_s: Sequence[float]) -> str:
    """Say how long after its start a server's credits ran out."""
    first, last = rounded(min(ran_out_s)), rounded(max(ran_out_s))
    return f"{first if first == last else f'{first} to {last}'} s after its start"


def _at_first_point(subject: Subject, seen: Sequence[Observation[CreditUse]]) -> str:
    """Say at which value of the sweep's key credits ran out at the earliest, where there is one key."""
    key = subject.swept_key
    point = subject.points[min(subject.place(one.record) for one in seen)]
    return "" if key is None else f", at {key} = {setting(point[key])}"


RULE = Rule(210, find, CODE)
