"""Other programs: they took CPU time of the server or the load that the figures lack."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, invalid_points
from loadcurve.explain.subject import Subject
from loadcurve.result.cpu_time import CpuTime
from loadcurve.result.machine import INVALID_TAKEN, TAKEN, share_taken
from loadcurve.result.records import RUNNING_SERVER, PointRecord
from loadcurve.units import rounded

CODE = FindingCode(
    "other_programs",
    title="Other programs took the CPUs",
    seen_where="the verdict is `cpu_taken`, or others took 20 % where they are expected",
    because="on a saturated CPU, what others take is what the throughput loses",
    of_machine=True,
)
NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What others took of the CPUs of each side."""

    of_server: CpuTime | None
    of_load: CpuTime | None
    invalidates: bool

    @property
    def worst(self) -> CpuTime:
        """The side that lost most."""
        return max((one for one in (self.of_server, self.of_load) if one), key=lambda one: one.others)


def _taken(record: PointRecord) -> Taken | None:
    verdict = record.load.verdict
    is_said = any(reason.code == TAKEN for reason in verdict.reasons)
    invalidates = is_said and verdict.status == "invalid"
    taken = Taken(record.probe.cpu_time, record.load.generator.cpu_time, invalidates)
    is_much = share_taken((taken.of_server, taken.of_load)) >= INVALID_TAKEN
    return taken if (is_said or is_much) and (taken.of_server or taken.of_load) else None


def _explain(subject: Subject, seen: Sequence[Observation[Taken]]) -> Explanation:
    details = [one.detail for one in seen]
    worst = max((one.worst for one in details), key=lambda one: one.others)
    share = rounded(100 * worst.others)
    most: dict[str, float] = {}
    for one in details:
        for program in one.worst.programs:
            most[program.name] = max(most.get(program.name, 0.0), program.cpu_share)
    names = sorted(most, key=lambda name: -most[name])[:NAMED_MAX]
    which = f" Those that took most were {', '.join(names)}." if names else ""
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"Other programs took up to {share} % of the time of the CPUs of the server or the load.",
        evidence=[
            *ranged("others on the server's CPUs", "share", [_others(one.of_server) for one in details]),
            *ranged("others on the load's CPUs", "share", [_others(one.of_load) for one in details]),
            *ranged(
                "throughput", subject.load.per_second, [one.record.load.rate_rps.answered for one in seen]
            ),
        ],
        cause=f"Processes that belong neither to the server nor to the load ran on their CPUs.{which} "
        "A program that can always run takes half of a CPU from another one that can, and "
        f"{subject.load.requests} wait for it even where the CPU is not saturated.",
        advice=_advice(subject),
        briefly=f"{invalid_points(len(seen), spoilt)} invalid, because other programs took up to {share} % "
        "of the time of the CPUs of the server or the load"
        if (spoilt := sum(one.invalidates for one in details))
        else None,
    )


def _advice(subject: Subject) -> str:
    if subject.server.catalog_entry == RUNNING_SERVER:
        return (
            "Where they are part of the server, as the application behind a proxy is, name all of it in the "
            "study, such as pid = [1234, 5678], or as units or containers, and they count as the server. "
            "Otherwise end these programs, or bind them to other CPUs, and measure again."
        )
    return (
        "End these programs, or bind them to other CPUs, and measure again; where they are part of what is "
        "to be measured, set LOADCURVE_OTHER_PROGRAMS=note."
    )


def _others(time: CpuTime | None) -> float | None:
    return None if time is None else time.others


RULE = Rule.of_records(80, CODE, _taken, _explain)
