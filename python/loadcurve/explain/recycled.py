"""A server that ends connections of HTTP/2 by GOAWAY: after a number of requests, or because of an error."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadcurve.explain.endings import (
    ENDED_MIN,
    IdleEnds,
    answers_evidence,
    constant_answers,
    idle_ends,
    together,
)
from loadcurve.explain.finding import Certainty, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.reconnects import NEAR_LIMIT
from loadcurve.explain.subject import Subject
from loadcurve.result.load import EndedByServer, ErrorCode
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

CODE = FindingCode(
    "connections_recycled",
    title="The server ended connections (GOAWAY)",
    seen_where="it announced the end of at least one connection per 200 requests, and of at least 5, "
    "or of at least 5 with an error as the reason",
    because="a connection costs about as much as several requests, and more over TLS; requests that the "
    "server has not processed are sent again",
)

ENDED_SHARE = 0.005
REASONS: dict[ErrorCode, str] = {
    "PROTOCOL_ERROR": "it saw a breach of the protocol",
    "INTERNAL_ERROR": "something unexpected within the server",
    "FLOW_CONTROL_ERROR": "it saw more data than a window allowed",
    "ENHANCE_YOUR_CALM": "it found the load excessive",
    "INADEQUATE_SECURITY": "it found the encryption too weak",
    "HTTP_1_1_REQUIRED": "it wants these requests over HTTP/1.1",
}
"""What codes of errors say (RFC 9113 §7), where their names do not."""


@dataclass(frozen=True, slots=True)
class Recycling:
    """How often connections were ended in one record."""

    ended: int
    by_error: int
    codes: dict[ErrorCode, int]
    """Of the first announcements; empty where they were not recorded."""
    abandoned: int
    answers: EndedByServer | None
    idle: IdleEnds | None
    """How most of them ended for being idle, where they did."""
    share: float
    replies_per_connection: float | None
    moved: int | None
    handshake_p50_ms: float | None


def _recycling(record: PointRecord) -> Recycling | None:
    load, connections = record.load, record.load.connections
    if load.http2 is None:
        return None
    ended, by_error = load.http2.connections_ended, load.http2.connections_ended_by_error
    replies = connections.replies
    share = ended / max(replies, 1.0)
    if ended < ENDED_MIN or (share < ENDED_SHARE and by_error < ENDED_MIN):
        return None
    return Recycling(
        ended=ended,
        by_error=by_error,
        codes={one.code: one.count for one in load.http2.connections_ended_by or ()},
        abandoned=load.http2.streams_abandoned or 0,
        answers=connections.ended_by_server,
        idle=idle_ends(load),
        share=min(share, 1.0),
        replies_per_connection=connections.replies_per_connection,
        moved=load.requests.moved,
        handshake_p50_ms=load.handshake_ms.p50 if load.handshake_ms else None,
    )


def _explain(subject: Subject, seen: Sequence[Observation[Recycling]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.ended)
    idle = most.idle if all(one.idle is not None for one in details) else None
    ends = together(one.answers for one in details)
    certainty, cause, advice = _why(subject, replace(most, idle=idle), ends)
    abandoned = max(one.abandoned for one in details)
    left = (
        f" Up to {plural(abandoned, 'request')} that it was to answer by its announcement failed, because it "
        "closed their connections."
        if abandoned
        else ""
    )
    return Explanation(
        weight="distorts",
        certainty=certainty,
        seen=f"{subject.name} announced the end of up to {most.ended:,} connections, one per "
        f"{1 / most.share:,.0f} answers, and new ones replaced them.{left}",
        evidence=[
            *ranged("connections that the server ended", "", [one.ended for one in details]),
            *ranged("ended with an error", "", [one.by_error if one.by_error else None for one in details]),
            *answers_evidence([one.answers for one in details]),
            *ranged("requests left unanswered", "", [one.abandoned or None for one in details]),
            *ranged("replies per connection", "", [one.replies_per_connection for one in details]),
            *ranged("requests sent again", "", [one.moved for one in details]),
            *ranged("median time of a handshake", "ms", [one.handshake_p50_ms for one in details]),
        ],
        cause=f"{cause} Requests that it had not processed were sent again, timed from when they were due; "
        "the figures include this and the cost of reconnecting.",
        advice=f"{advice}, or give all servers the same limit, so that all have the same cost.",
    )


def _named_error(most: Recycling) -> str:
    """Return the most frequent error in parentheses, with what it says; nothing where it was not recorded."""
    errors: dict[ErrorCode, int] = {code: count for code, count in most.codes.items() if code != "NO_ERROR"}
    if not errors:
        return ""
    code = max(errors, key=errors.__getitem__)
    return f" ({code}: {REASONS[code]})" if code in REASONS else f" ({code})"


def _why(subject: Subject, most: Recycling, ended: EndedByServer | None) -> tuple[Certainty, str, str]:
    limit, replies = subject.number_setting("keepalive_requests"), most.replies_per_connection
    if most.by_error > most.ended / 2:
        return (
            "shown",
            f"The server ended connections because of an error{_named_error(most)}.",
            "Look for the reason in the server's log, use fewer streams",
        )
    if limit and replies and NEAR_LIMIT[0] * limit <= replies <= NEAR_LIMIT[1] * (limit + 1):
        return (
            "shown",
            f"The server is configured to end a connection after {plural(limit, 'request')}.",
            "Raise the setting keepalive_requests",
        )
    if most.idle is not None:
        return most.idle.certainty, f"{most.idle.cause}.", most.idle.advice
    if ended is not None and (found := constant_answers(ended)) is not None:
        return (
            found.certainty,
            f"The server ends a connection after {found}.",
            "Raise its limit on requests per connection",
        )
    return (
        "likely",
        "The server ends connections by its own rule: after a number of requests, or after a time.",
        "Look for a limit on requests per connection in the server's documentation",
    )


RULE = Rule.of_records(130, CODE, _recycling, _explain)
