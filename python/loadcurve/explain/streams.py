"""Streams of HTTP/2 and HTTP/3 that a server does not let begin: by its limit, or by refusing them."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import Finding, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule, merged, observed
from loadcurve.explain.subject import Subject
from loadcurve.result.distribution import Distribution
from loadcurve.result.http3 import NumberRange
from loadcurve.result.load import LoadResult
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


IN_HTTP2 = (
    "The server announces how many concurrent streams it allows per connection "
    "(MAX_CONCURRENT_STREAMS), and the client holds back the other requests. "
)
IN_QUIC = (
    "The server says how many streams a connection may begin in all (MAX_STREAMS, of QUIC), and allows "
    "further ones as others end; the client holds back the other requests. "
)
SETTINGS_OF_HTTP2 = (
    "http2_max_concurrent_streams in nginx, H2MaxSessionStreams in Apache, "
    "http2-max-concurrent-requests-per-connection in h2o, maxConcurrentStreams in Tomcat; lighttpd's is fixed"
)
SETTINGS_OF_HTTP3 = (
    "http3_max_concurrent_streams in nginx, max_concurrent_streams of quic_protocol_options in Envoy"
)


@dataclass(frozen=True, slots=True)
class Limited:
    """The waits for a limit on streams in one record."""

    streams: int
    is_quic: bool
    allowed: NumberRange | None
    waits_ms: Distribution
    waited_share: float
    latency_share: float | None
    """How much of the time of all answers the waits are; ``None`` where more waited than were answered."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The streams that a server refused in one record."""

    streams: int
    refused: int
    refused_share: float
    failed: int


def find(subject: Subject) -> list[Finding]:
    """Find points at which requests waited for a stream, and points at which streams were refused."""
    limited = [
        one
        for one in observed(subject, _limited)
        if one.detail.waits_ms.known_count >= WAITED_MIN and one.detail.waited_share >= WAITED_SHARE
    ]
    refused = [
        one
        for one in observed(subject, _refused)
        if one.detail.refused >= REFUSED_MIN and one.detail.refused_share >= REFUSED_SHARE
    ]
    return [
        *merged(LIMITED, subject, limited, _explain_limited),
        *merged(REFUSED, subject, refused, _explain_refused),
    ]


def _limited(record: PointRecord) -> Limited | None:
    load = record.load
    limits = _limits(load)
    if limits is None or not load.requests.taken_up:
        return None
    allowed, waits = limits
    latency = load.latency_ms
    waited_ms, answered_ms = (
        waits.known_count * (waits.mean or 0.0),
        latency.known_count * (latency.mean or 0.0),
    )
    # Requests that failed may have waited, too, and have no latency.
    are_of_answers = waits.known_count <= latency.known_count
    return Limited(
        streams=load.load.streams,
        is_quic=load.http3 is not None,
        allowed=allowed,
        waits_ms=waits,
        # One that has moved may have waited twice.
        waited_share=min(waits.known_count / load.requests.taken_up, 1.0),
        latency_share=min(waited_ms / answered_ms, 1.0) if answered_ms and are_of_answers else None,
    )


def _limits(load: LoadResult) -> tuple[NumberRange | None, Distribution] | None:
    """Return how many streams a server allowed that are fewer than was requested, and the waits for one."""
    if load.http2 is not None and load.http2.connections_limited:
        return load.http2.streams_allowed, load.http2.stream_wait_ms
    streams = None if load.http3 is None else load.http3.streams
    if streams is not None and streams.is_below(load.load.streams):
        return streams.allowed_at_first, streams.wait_ms
    return None


def _refused(record: PointRecord) -> Refused | None:
    load = record.load
    if load.http2 is None or not load.requests.taken_up:
        return None
    refused = load.http2.streams_refused
    # Refused streams are counted in the whole load, warm-up included, as connections are.
    share = refused / max(load.connections.replies, 1.0)
    return Refused(load.load.streams, refused, share, failed=load.errors["stream_refused"] or 0)


def _explain_limited(subject: Subject, seen: Sequence[Observation[Limited]]) -> Explanation:
    details = [one.detail for one in seen]
    known = [allowed for one in details if (allowed := one.allowed) is not None]
    allowed = NumberRange(
        min=min((one.min for one in known), default=0), max=max((one.max for one in known), default=0)
    )
    streams = "1 stream" if allowed.min == allowed.max == 1 else f"{allowed} streams"
    asked = max(one.streams for one in details)
    most = max(details, key=lambda one: (one.waited_share, one.latency_share or 0.0))
    waits = [one.waits_ms for one in details]
    share = most.latency_share
    cost = "" if share is None else f", which made {whole_percent(share)} of all latency"
    return Explanation(
        weight="explains",
        certainty="shown",
        seen=f"{subject.name} allowed {streams} per connection, and the load requested {asked:,}: up "
        f"to {whole_percent(most.waited_share)} of the requests waited for a stream, "
        f"{most.waits_ms.known_count:,} times in all{cost}.",
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
        cause=f"{IN_QUIC if most.is_quic else IN_HTTP2}Their latency counts from when they were due, so it "
        "includes the wait. More requests waiting do not make the server faster: the throughput is that of "
        "the streams that it allows.",
        advice=f"Raise the server's limit ({SETTINGS_OF_HTTP3 if most.is_quic else SETTINGS_OF_HTTP2}), "
        "use fewer streams, or spread them over more connections.",
        briefly=f"{streams} allowed per connection, and {asked:,} requested",
    )


def _explain_refused(subject: Subject, seen: Sequence[Observation[Refused]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.refused_share)
    return Explanation(
        weight="distorts",
        certainty="shown",
        seen=f"{subject.name} refused up to {most.refused:,} streams (REFUSED_STREAM).",
        evidence=[
            *ranged("streams refused", "", [one.refused for one in details]),
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
