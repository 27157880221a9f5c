"""Pauses of the platform: the slowest requests were under way while no CPU of a side ran."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.load import SlowRequest
from loadcurve.result.machine import EXPLAINED_SHARE
from loadcurve.result.pauses import Stretch, time_within, together
from loadcurve.result.records import PointRecord

CODE = FindingCode(
    "slowest_in_pauses",
    title="The platform paused the slowest requests",
    seen_where="half of the slowest requests, at least three, spent half of their latency in pauses of the "
    "platform",
    because="most of such a latency is the platform's; if fewer are affected, the others show the server",
    of_machine=True,
)

REQUESTS_MIN = 3


@dataclass(frozen=True, slots=True)
class Paused:
    """The slowest requests of a record that pauses explain."""

    explained: list[SlowRequest]
    slowest: int
    longest_ms: float
    paused_share: float | None
    """``None`` of a window without length."""
    longest_other_ms: float | None
    """The latency of the slowest request that no pause explains."""


def _paused(record: PointRecord) -> Paused | None:
    load = record.load
    sides = [side for side in (load.generator.pauses, record.probe.pauses) if side is not None]
    stretches = together(*sides)
    explained = [one for one in load.slowest if _is_explained(one, stretches)]
    if len(explained) < max(REQUESTS_MIN, len(load.slowest) / 2):
        return None
    others = [one.latency_ms for one in load.slowest if one not in explained]
    paused_s = sum(end_s - start_s for start_s, end_s in stretches)
    return Paused(
        explained=explained,
        slowest=len(load.slowest),
        longest_ms=max(side.longest_ms for side in sides),
        paused_share=paused_s / load.duration_s if load.duration_s else None,
        longest_other_ms=max(others, default=None),
    )


def _is_explained(request: SlowRequest, stretches: Sequence[Stretch]) -> bool:
    latency_s = request.latency_ms / 1e3
    within_s = time_within(stretches, request.due_s, request.due_s + latency_s)
    return latency_s > 0 and within_s >= EXPLAINED_SHARE * latency_s


def _explain(subject: Subject, seen: Sequence[Observation[Paused]]) -> Explanation:
    details = [one.detail for one in seen]
    worst = max(details, key=lambda paused: max(one.latency_ms for one in paused.explained))
    requests = subject.load.requests
    slowest = max(worst.explained, key=lambda one: one.latency_ms)
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"Of the {worst.slowest} slowest {requests}, {len(worst.explained)} spent half or more of their "
        f"time in a pause of this machine; the slowest of them took {slowest.latency_ms:,.0f} ms.",
        evidence=[
            *ranged(f"slowest {requests} in pauses", "", [len(one.explained) for one in details]),
            *ranged("longest pause", "ms", [one.longest_ms for one in details]),
            *ranged("share of the window in pauses", "share", [one.paused_share for one in details]),
            *ranged(
                f"longest latency of the slowest {requests} outside pauses",
                "ms",
                [one.longest_other_ms for one in details],
            ),
            *ranged("p99 of the latency", "ms", [one.record.load.latency_ms.p99 for one in seen]),
        ],
        cause="The platform did not run the CPUs of the server, of the load, or of both during these "
        "pauses, and does not necessarily count this as steal. Processes that are stopped, for example by "
        "a signal, look the same.",
        advice=f"Do not attribute these {requests} to the server; measure again at another time, or on a "
        "dedicated machine.",
        briefly=f"{len(worst.explained)} of the {worst.slowest} slowest {requests}, the slowest of them of "
        f"{slowest.latency_ms:,.0f} ms, spent half or more of their time in pauses of this machine",
    )


RULE = Rule.of_records(100, CODE, _paused, _explain)
