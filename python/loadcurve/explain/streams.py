"""Streams of HTTP/2 that a server does not let begin: by the limit it announces, or by refusing them."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.load import Http2Result, StreamsAllowed
from loadcurve.result.records import PointRecord
from loadcurve.units import whole_percent

LIMITED = FindingCode(
    "streams_limited",
    title="The server allowed fewer streams than the load requested",
    seen_where="the server allowed fewer streams per connection than the load requested, and at least 1 % "
    "of the requests, and at least 20, waited for one",
    because="the wait is part of their latency; with fewer, even the p99 may not show it",
)
REFUSED = FindingCode(
    "streams_refused",
    title="The server refused streams",
    seen_where="it refused at least one stream per 200 requests, and at least 5, without processing them",
    because="each is sent twice, and its latency counts from the first attempt",
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
    latency_share: float | None
    """How much of the time of all answers the waits are; ``None`` where more waited than were answered."""
    refused_share: float
    failed: int


def find(subject: Subject) -> list[Finding]:
    """Find points at which requests waited for a stream, and points at which streams were refused."""
    seen = observed(subject, _waiting)
    limited = [
        one
        for one in seen
        if one.detail.http2.connections_limited
        and one.detail.http2.stream_wait_ms.known_count >= WAITED_MIN
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
    if load.http2 is None or not load.requests.taken_up:
        return None
    # Refused streams are counted in the whole load, warm-up included, as connections are.
    replies = load.connections.replies
    waits, latency = load.http2.stream_wait_ms, load.latency_ms
    waited_ms, answered_ms = (
        waits.known_count * (waits.mean or 0.0),
        latency.known_count * (latency.mean or 0.0),
    )
    # Requests that failed may have waited, too, and have no latency.
    are_of_answers = waits.known_count <= latency.known_count
    return Waiting(
        streams=load.load.streams,
        http2=load.http2,
        # One that has moved may have waited twice.
        waited_share=min(waits.known_count / load.requests.taken_up, 1.0),
        latency_share=min(waited_ms / answered_ms, 1.0) if answered_ms and are_of_answers else None,
        refused_share=load.http2.streams_refused / max(replies, 1.0),
        failed=load.errors["stream_refused"] or 0,
    )


def _explain_limited(subject: Subject, seen: Sequence[Observation[Waiting]]) -> Explanation:
    details = [one.detail for one in seen]
    known = [allowed for one in details if (allowed := one.http2.streams_allowed) is not None]
    allowed = StreamsAllowed(
        min=min((one.min for one in known), default=0), max=max((one.max for one in known), default=0)
    )
    streams = "1 stream" if allowed.min == allowed.max == 1 else f"{allowed} streams"
    asked = max(one.streams for one in details)
    most = max(details, key=lambda one: (one.waited_share, one.latency_share or 0.0))
    waits = [one.http2.stream_wait_ms for one in details]
    share = most.latency_share
    cost = "" if share is None else f", which made {whole_percent(share)} of all latency"
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"{subject.name} allowed {streams} per connection, and the load requested {asked:,}: up "
        f"to {whole_percent(most.waited_share)} of the requests, {most.http2.stream_wait_ms.known_count:,} "
        f"of them, waited for a stream{cost}.",
        evidence=[
            *ranged("streams allowed per connection", "", [one.max for one in known]),
            *ranged("streams requested", "", [one.streams for one in details]),
            *ranged("requests that waited for a stream", "share", [one.waited_share for one in details]),
            *ranged("part of all latency that is this wait", "share", [one.latency_share for one in details]),
            *ranged("median wait for a stream", "ms", [one.p50 for one in waits]),
            *ranged(
                "median latency, including the wait", "ms", [one.record.load.latency_ms.p50 for one in seen]
            ),
        ],
        cause="The server announces how many concurrent streams it allows per connection "
        "(MAX_CONCURRENT_STREAMS), and the client holds back the other requests. Their latency counts "
        "from when they were due, so it includes the wait. More requests waiting do not make the server "
        "faster: the throughput is that of the streams that it allows.",
        advice="Raise the server's limit (http2_max_concurrent_streams in nginx, H2MaxSessionStreams in "
        "Apache, http2-max-concurrent-requests-per-connection in h2o, maxConcurrentStreams in Tomcat; "
        "lighttpd's is fixed), use fewer streams, or spread them over more connections.",
        briefly=f"{streams} allowed per connection, and {asked:,} requested",
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
            *ranged("streams requested", "", [one.streams for one in details]),
        ],
        cause="The server accepted fewer streams than it had announced, or reached another limit. It does "
        "not process a request that it refuses: each was sent again, timed from when it was due.",
        advice="Use fewer streams per connection, or look in the server's documentation for limits on "
        "streams that are opened together.",
    )


RULE = Rule(140, find, LIMITED, REFUSED)
