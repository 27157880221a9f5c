"""Answers in two writes without TCP_NODELAY: the second waits for a delayed acknowledgement of the first."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.load import LoadResult
from loadcurve.units import rounded

CODE = FindingCode(
    "delayed_acks",
    title="Answers waited for delayed acknowledgements",
    seen_where="the median time from the first byte of an answer to its last was 35 to 50 ms although "
    "answers are no longer than two segments, and the kernel of the load (Linux) delayed at least one "
    "acknowledgement for every two answers, or does not count them, and then 190 to 250 ms as well; shown "
    "where it counts them and some answer to the only request took less than 17.5 ms; never of "
    "streams of messages",
    because="a second short write waits until the first is acknowledged (Nagle's algorithm, RFC 896), and "
    "receivers delay acknowledgements by 40 ms (Linux, but none at the start of a connection) or 200 ms (RFC "
    "1122 allows up to 500 ms). A server that works for as long between two parts looks the same, but does "
    "so in every answer",
)

LINUX_MS = (35.0, 50.0)
"""How long Linux delays acknowledgements (``TCP_DELACK_MIN``, as long as no round trip is longer), with
what timers and a busy machine add. It counts them, and others do not."""
OTHERS_MS = (190.0, 250.0)
"""How long other systems do."""
AT_ONCE_SHARE = 0.5
"""An answer that took less than this part of the delay did not wait for it: Linux acknowledges at once at the
start of a connection, and a server that works between two parts of its answers does so in each."""
SEGMENTS = 2
LONGEST_SEGMENT_BYTES = 65_483
"""On loopback, whose packets are of 64 KiB: 65,535 bytes without the headers of IPv4 and TCP."""
ETHERNET_SEGMENT_BYTES = 1_460
ADVICE = "Turn on TCP_NODELAY in the server, or have it write head and body at once."
OTHERWISE = "Where that is so already, the server itself takes this time between two parts of an answer."
PER_ANSWER = 0.5
"""Delayed acknowledgements for each answer: more than the half that the median is of."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """The transfers of one record, whose median is as long as an acknowledgement is delayed."""

    transfer_p50_ms: float
    answer_bytes: float
    acknowledgements: float | None
    """Delayed ones for each answer; ``None`` where they were not counted."""
    is_shown: bool
    """Whether nothing else explains it."""

    @property
    def advice(self) -> str:
        """What to do about it."""
        return ADVICE if self.is_shown else f"{ADVICE} {OTHERWISE}"


def delayed_in(load: LoadResult) -> Delayed | None:
    """Return the transfers of a load if half of them took as long as an acknowledgement is delayed."""
    answered, carried = load.requests.answered, load.bytes
    replies, delayed = load.connections.replies, load.kernel.delayed_acks
    per_answer = delayed / replies if delayed is not None and replies else None
    is_counted = per_answer is not None
    transfer_ms = None if load.transfer_ms is None else load.transfer_ms.p50
    delays_ms = (LINUX_MS,) if is_counted else (LINUX_MS, OTHERS_MS)
    if transfer_ms is None or not any(least <= transfer_ms <= most for least, most in delays_ms):
        return None
    # Of messages, the last byte is that of a stream, which takes as long as the server has something to say.
    if load.messages is not None:
        return None
    if not answered or carried is None or carried.body is None:
        return None
    answer_bytes = (carried.body + (carried.header or 0)) / answered
    segment_bytes = LONGEST_SEGMENT_BYTES if is_counted else ETHERNET_SEGMENT_BYTES
    if answer_bytes > SEGMENTS * segment_bytes or (per_answer is not None and per_answer < PER_ANSWER):
        return None
    return Delayed(transfer_ms, answer_bytes, per_answer, is_counted and _varies(load))


def _varies(load: LoadResult) -> bool:
    """Say whether a request that is always the same was answered at once as well."""
    fastest_ms = _fastest_ms(load)
    is_quick = fastest_ms is not None and fastest_ms < AT_ONCE_SHARE * LINUX_MS[0]
    return is_quick and len(load.operations) == 1


def _fastest_ms(load: LoadResult) -> float | None:
    return load.transfer_ms.min if load.transfer_ms else None


def briefly(delayed: Delayed) -> str:
    """Return the cause of the delay in words."""
    return (
        f"answers waited {rounded(delayed.transfer_p50_ms)} ms for delayed acknowledgements, because "
        "the server writes them in parts without TCP_NODELAY"
    )


def _explain(subject: Subject, seen: Sequence[Observation[Delayed]]) -> Explanation:
    details = [one.detail for one in seen]
    longest = max(details, key=lambda one: one.transfer_p50_ms)
    is_shown = all(one.is_shown for one in details)
    otherwise = "" if is_shown else f" {OTHERWISE}"
    seconds = longest.transfer_p50_ms / 1000
    return Explanation(
        weight="explains",
        certainty="shown" if is_shown else "likely",
        seen=f"Half of the answers of {subject.name} took {rounded(longest.transfer_p50_ms)} ms or more from "
        f"their first byte to their last, although they are of {rounded(longest.answer_bytes)} bytes.",
        evidence=[
            *ranged("median time from first to last byte", "ms", [one.transfer_p50_ms for one in details]),
            *ranged(
                "shortest time from first to last byte", "ms", [_fastest_ms(one.record.load) for one in seen]
            ),
            *ranged("mean length of an answer", "bytes", [one.answer_bytes for one in details]),
            *ranged("delayed acknowledgements per answer", "", [one.acknowledgements for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The server writes an answer in several parts without TCP_NODELAY. Its kernel holds the last "
        "part back until the part before is acknowledged (Nagle's algorithm), and the client's kernel delays "
        "acknowledgements for data to send with them.",
        advice=f"{ADVICE} Until then a connection carries no more than about {1 / seconds:.0f} requests per "
        f"second, and the latency is the timer's, not the server's work.{otherwise}",
        briefly=briefly(longest) if is_shown else None,
    )


RULE = Rule.of_records(170, CODE, lambda record: delayed_in(record.load), _explain)
