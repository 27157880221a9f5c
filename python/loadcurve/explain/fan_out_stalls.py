"""Subscribers that receive messages later than others, because the server waits in between."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.records import PointRecord
from loadcurve.units import milliseconds

CODE = FindingCode(
    "fan_out_stalls",
    title="The server waited between two subscribers",
    seen_where="with `subscribers`: some of them receive messages at least 10 ms later than the others, on "
    "average, and that step is more than half of the time from the first subscriber to the last one",
    because="a server that sends to one subscriber after the other, and waits until each has taken its "
    "message, is held up for all behind a slow one; without such a wait the times of subscribers differ by "
    "small steps",
)

STEP_MIN_MS = 10.0
SHARE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Stall:
    """Where the subscribers of a load are furthest apart."""

    behind: int
    of: int
    step_ms: float
    reach: float | None


def _stall(record: PointRecord) -> Stall | None:
    deliveries = record.load.deliveries
    if deliveries is None or (step := deliveries.step) is None:
        return None
    if step.step_ms < STEP_MIN_MS or step.step_ms <= SHARE_MIN * step.spread_ms:
        return None
    return Stall(step.behind, step.ahead + step.behind, step.step_ms, deliveries.reach)


def _explain(subject: Subject, seen: Sequence[Observation[Stall]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.step_ms)
    return Explanation(
        weight="explains",
        certainty="likely",
        seen=f"{most.behind:,} of {most.of:,} subscribers of {subject.name} received messages "
        f"{milliseconds(most.step_ms)} ms later than the others, on average.",
        evidence=[
            *ranged("subscribers behind the step", "", [one.behind for one in details]),
            *ranged("step between the two groups", "ms", [one.step_ms for one in details]),
            *ranged("reach", "share", [one.reach for one in details]),
        ],
        cause="The server sends to one subscriber after the other, and waits for one of them: perhaps for "
        "one that does not read what it is sent.",
        advice="Let the server send without waiting for each subscriber, with a bound on what it holds for "
        "one, and close those that do not read.",
    )


RULE = Rule.of_records(174, CODE, _stall, _explain)
