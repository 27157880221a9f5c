"""Events that arrive together, although time passed before them: something on the way keeps them back."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.protocol import EVENTS
from loadcurve.result.records import PointRecord
from loadcurve.units import percent, rounded

CODE = FindingCode(
    "events_together",
    title="Events of a stream arrived together",
    seen_where="at least 90 % of the events arrived together with the one before, there were at least 20 of "
    "them, and half of the first events, or the longest gap, took 20 ms or more",
    because="a server that sends each event as it has it leaves the time between them as it was, and a proxy "
    "that buffers answers gathers them until its buffer is full or the answer ends",
)

EVENTS_MIN = 20
TOGETHER_MIN = 0.9
WAITED_MS_MIN = 20.0


@dataclass(frozen=True, slots=True)
class Together:
    """How the events of one record arrived."""

    share: float
    """Of the gaps that were none."""
    first_event_ms: float | None
    """The median, from when a request was sent."""
    longest_gap_ms: float


def _together(record: PointRecord) -> Together | None:
    messages = record.load.messages
    if messages is None or messages.kind != EVENTS:
        # A proxy that speaks gRPC hands its messages on.
        return None
    if messages.received < EVENTS_MIN or not messages.gap_ms.count:
        return None
    share = messages.together / messages.gap_ms.count
    first_ms, longest_ms = messages.first_event_from_sent_ms.p50, messages.gap_ms.max or 0.0
    if share < TOGETHER_MIN or max(first_ms or 0.0, longest_ms) < WAITED_MS_MIN:
        return None
    return Together(share, first_ms, longest_ms)


def _explain(subject: Subject, seen: Sequence[Observation[Together]]) -> Explanation:
    details = [one.detail for one in seen]
    least = min(one.share for one in details)
    waited_ms = max(max(one.first_event_ms or 0.0, one.longest_gap_ms) for one in details)
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"At least {percent(least)} of the events of {subject.name} arrived together with the one "
        f"before, after up to {rounded(waited_ms)} ms without any.",
        evidence=[
            *ranged("events together with the one before", "share", [one.share for one in details]),
            *ranged(
                "median time to the first event, from sent", "ms", [one.first_event_ms for one in details]
            ),
            *ranged("longest gap", "ms", [one.longest_gap_ms for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="A proxy in front of the server, or the server's own framework, gathers what is sent until a "
        "buffer is full or the answer ends.",
        advice="Turn buffering of this path off: in nginx `proxy_buffering off`, or the header "
        "`X-Accel-Buffering: no` of the answer; compression on the way gathers events, too. Then compare "
        "with the server reached directly. If the server itself sends its events at once, nothing is wrong.",
    )


RULE = Rule.of_records(172, CODE, _together, _explain)
