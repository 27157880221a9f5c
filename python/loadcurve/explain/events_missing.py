"""Streams that were answered and had fewer events than their load expects."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.protocol import STREAMED
from loadcurve.result.load import LoadResult
from loadcurve.result.records import PointRecord
from loadcurve.units import percent, rounded

CODE = FindingCode(
    "events_missing",
    title="Streams ended before their last events",
    seen_where="with `events_expected`, where every request was answered and the client ended no stream: at "
    "least 1 % of the events did not come",
    because="a stream that is ended early is answered sooner, and its latency is that of a shorter answer",
)

MISSING_MIN = 0.01
ADVICE = (
    "Find out why the streams end early, or set events_expected to what the server sends. Do not compare "
    "latencies with those of whole streams."
)


@dataclass(frozen=True, slots=True)
class Missing:
    """How many events the answered requests of a load lacked."""

    share: float
    each: float
    """Events that came for each answered request."""
    expected_each: float
    of: str
    """What they are called."""


def missing_in(load: LoadResult) -> Missing | None:
    """Return what the answered requests of a load lacked.

    What came of requests that failed, or were unanswered at the end, is counted, too, and a stream that the
    client ends is not expected to have all: with these it is not known what the answers lack.
    """
    messages, requests = load.messages, load.requests
    if messages is None or not messages.expected or not requests.due or not requests.answered:
        return None
    if requests.failed or requests.unanswered or messages.ended_by_client:
        return None
    expected_each = messages.expected / requests.due
    each = messages.delivered / requests.answered
    share = 1 - each / expected_each
    if share < MISSING_MIN:
        return None
    return Missing(share, each, expected_each, f"{STREAMED[messages.kind]}s")


def briefly(missing: Missing) -> str:
    """Say it as a sentence without its end."""
    return (
        f"each answer had {rounded(missing.each)} {missing.of} of {rounded(missing.expected_each)} expected, "
        f"so {percent(missing.share)} are missing"
    )


def _missing(record: PointRecord) -> Missing | None:
    return missing_in(record.load)


def _explain(_: Subject, seen: Sequence[Observation[Missing]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.share)
    return Explanation(
        weight="distorts",
        certainty="likely",
        seen=f"At worst, {briefly(most)}.",
        evidence=[
            *ranged("events of an answer", "", [one.each for one in details]),
            *ranged("events expected of an answer", "", [one.expected_each for one in details]),
            *ranged("median latency", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The server, or something on the way, ended the streams before their last events, or the "
        "number that is expected is another one than the server sends.",
        advice=ADVICE,
    )


RULE = Rule.of_records(173, CODE, _missing, _explain)
