"""Streams of HTTP/2 that a server does not let begin: by the limit it announces, or by refusing them."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, merged
from loadcurve.explain.subject import Subject
from loadcurve.result.load import Http2Result
from loadcurve.result.records import PointRecord

LIMITED = FindingCode(
    "streams_limited",
    title="The server allowed fewer streams than the load had",
    seen_where="a server allowed fewer streams on a connection than the load asked for, and at least "
    "1 % of the requests, and at least 20, waited for one",
    because="the wait is a part of their latency; with fewer, not even p99 need show it",
)
REFUSED = FindingCode(
    "streams_refused",
    title="The server refused streams",
    seen_where="it refused at least one stream per 200 requests, and at least 5, without looking at them",
    because="each is sent twice, and its latency counts from the first time",
)

WAITED_SHARE = 0.01
WAITED_MIN = 20
REFUSED_SHARE = 0.005
REFUSED_MIN = 5


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the limits on streams did in one record."""

    streams: int
    http2: Http2Result
    waited_share: float
    refused_share: float
    failed: int


def find(subject: Subject) -> list[Finding]:
    """Find points at which requests waited for a stream, and points at which streams were refused."""
    seen = [
        Observation(record, waiting)
        for record in subject.records
        if (waiting := _waiting(record)) is not None
    ]
    limited = [
        one
        for one in seen
        if one.detail.http2.connections_limited
        and one.detail.http2.stream_wait_ms.count >= WAITED_MIN
        and one.detail.waited_share >= WAITED_SHARE
    ]
    refused = [
        one
        for one in seen
        if one.detail.http2.streams_refused >= REFUSED_MIN and one.detail.refused_share >= REFUSED_SHARE
    ]
    return [
        *merged(LIMITED, subject, limited, _explain_limited),
        *merged(REFUSED, subject, refused, _explain_refused),
    ]


def _waiting(record: PointRecord) -> Waiting | None:
    load = record.load
    if load.http2 is None or not load.requests.sent:
        return None
    # Refused streams are counted in the whole load, warm-up included, as connections are.
    replies = load.connections.replies
    return Waiting(
        streams=load.load.streams,
        http2=load.http2,
        waited_share=load.http2.stream_wait_ms.count / load.requests.sent,
        refused_share=load.http2.streams_refused / max(replies, 1.0),
        failed=load.errors["stream_refused"] or 0,
    )


def _explain_limited(subject: Subject, seen: Sequence[Observation[Waiting]]) -> Explanation:
    details = [one.detail for one in seen]
    allowed = [one.http2.streams_allowed for one in details]
    least = min((one.min for one in allowed if one is not None), default=0)
    asked = max(one.streams for one in details)
    most = max(details, key=lambda one: one.waited_share)
    waits = [one.http2.stream_wait_ms for one in details]
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"{subject.name} allowed {least:,} streams on a connection, where the load asked for {asked:,}: "
        f"up to {most.waited_share:.0%} of the requests waited for a stream.",
        evidence=[
            *ranged("streams allowed on a connection", "", [one.min for one in allowed if one]),
            *ranged("streams asked for", "", [one.streams for one in details]),
            *ranged("requests that waited for a stream", "share", [one.waited_share for one in details]),
            *ranged("median wait for a stream", "ms", [one.p50 for one in waits]),
            *ranged("median latency, wait included", "ms", [one.record.load.latency_ms.p50 for one in seen]),
        ],
        cause="The server announces how many streams it serves at once on a connection "
        "(MAX_CONCURRENT_STREAMS), and a client waits with the rest. Their latency counts from when they "
        "were due, so the wait is a part of it.",
        advice="Raise the server's limit (http2_max_concurrent_streams in nginx, H2MaxSessionStreams in "
        "Apache), ask for fewer streams, or spread them over more connections.",
        briefly=f"{least:,} streams allowed on a connection, where the load asked for {asked:,}",
    )


def _explain_refused(subject: Subject, seen: Sequence[Observation[Waiting]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.refused_share)
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"{subject.name} refused up to {most.http2.streams_refused:,} streams (REFUSED_STREAM).",
        evidence=[
            *ranged("streams refused", "", [one.http2.streams_refused for one in details]),
            *ranged("streams refused per answer", "share", [one.refused_share for one in details]),
            *ranged(
                "requests that failed, refused twice",
                "",
                [one.failed if one.failed else None for one in details],
            ),
            *ranged("streams asked for", "", [one.streams for one in details]),
        ],
        cause="The server took fewer streams than it had announced, or had no room for more: it does "
        "not look at a request that it refuses. Each was sent once more, and is timed from when it was due.",
        advice="Ask for fewer streams on a connection, or look in the server's documentation for limits on "
        "streams that begin together.",
    )
