"""The server closes connections, by one of its rules, so reconnecting is part of the figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadcurve.explain.behaviour import closes_by_default_after
from loadcurve.explain.endings import (
    ENDED_MIN,
    ConstantAnswers,
    IdleEnds,
    answers_evidence,
    constant_answers,
    idle_ends,
    together,
)
from loadcurve.explain.finding import Certainty, FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.result.load import AnswersEach, EndedByServer, LoadResult
from loadcurve.result.records import PointRecord
from loadcurve.units import plural

CODE = FindingCode(
    "reconnects",
    title="The server closed connections",
    seen_where="the server closed at least one connection per 200 requests, and at least 5, and the client "
    "ended no stream of messages over HTTP/1.x",
    because="opening a connection costs about as much as several requests: a few percent",
)

RECONNECTS_SHARE = 0.005
"""New connections for each answer. A connection costs both sides about as much as some requests, so one for
every 200 requests takes a few percent of the throughput; the usual default of 1,000 stays below that."""
CLOSING = (
    *("closed_early", "reset"),
    *("h3_connection_error", "quic_error", "quic_idle_timeout", "quic_stateless_reset"),
)
"""The classes of requests whose connection ended."""
NEAR_LIMIT = (0.5, 1.1)
"""Replies per connection, in parts of a limit on requests, by which that limit explains the closing: the last
connections have not come to it, and some servers do not count the first request."""
NEAR_IDLE = (0.9, 1.5)
"""The median lifetime of connections, in parts of the idle timeout that explains their closing."""


@dataclass(frozen=True, slots=True)
class Reconnecting:
    """How often connections were made again in one record."""

    reconnects: int
    share: float
    replies_per_connection: float
    ended: EndedByServer | None
    """What the server closed; ``None`` where it is not known of these connections alone."""
    lasting: int
    """Connections that stayed open throughout."""
    lifetime_p50_ms: float | None
    connect_p50_ms: float | None
    closed_early: int
    idle: IdleEnds | None
    """How most of them ended for being idle, where they did."""
    idle_timeouts: int | None
    """Of QUIC; ``None`` over TCP."""
    think_s: float
    processes_changed: bool


def _reconnecting(record: PointRecord) -> Reconnecting | None:
    load = record.load
    # Where the load itself closes connections, their making is what was asked for.
    if load.load.closes_connections or _ends_streams_with_connections(load):
        return None
    connections = load.connections
    if connections.opened is None:
        return None
    # A request that failed has cost its connection, whoever ended it, and is reported so. What failed
    # in the warm-up is not counted, so what the server closes must be more than what failures explain.
    failed = load.requests.failed or 0
    # Over HTTP/2 servers announce the end of connections, which is another finding.
    announced = load.http2.connections_ended if load.http2 else 0
    reconnects = connections.opened - (load.load.connections or 0) - failed - announced
    replies = connections.replies_per_connection
    if reconnects < max(ENDED_MIN, failed) or not replies:
        return None
    # Of the whole load, warm-up included, as connections are counted.
    share = reconnects / (replies * connections.opened)
    if share < RECONNECTS_SHARE:
        return None
    return Reconnecting(
        reconnects=reconnects,
        share=min(share, 1.0),
        replies_per_connection=replies,
        ended=None if announced else connections.ended_by_server,
        lasting=connections.lasting or 0,
        lifetime_p50_ms=connections.lifetime_ms.p50 if connections.lifetime_ms else None,
        connect_p50_ms=load.connect_ms.p50 if load.connect_ms else None,
        closed_early=sum(load.errors[one] or 0 for one in CLOSING),
        idle=idle_ends(load),
        idle_timeouts=load.http3.ends.idle_timeouts if load.http3 else None,
        think_s=load.load.think_s,
        processes_changed=_processes_changed(record),
    )


def _ends_streams_with_connections(load: LoadResult) -> bool:
    """Say whether the client has ended streams that end with their connection alone, as over HTTP/1.x."""
    has_ended = load.messages is not None and load.messages.ended_by_client > 0
    return has_ended and load.http2 is None and load.http3 is None


def _processes_changed(record: PointRecord) -> bool:
    processes = record.probe.server.processes if record.probe.server else None
    return processes is not None and processes.min < processes.max


def _per_requests(share: float) -> str:
    """Return how often a request needs a new connection: ``per request``, or ``per 101 requests``."""
    requests = round(1 / share)
    return "per request" if requests <= 1 else f"per {requests:,} requests"


@dataclass(frozen=True, slots=True)
class Ends:
    """The connections that the server closed, and how many it kept at most, over all records of a finding."""

    ended: EndedByServer | None
    lasting: int


def _explain(subject: Subject, seen: Sequence[Observation[Reconnecting]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda detail: detail.share)
    # What is said of all of these connections has to hold at each point, and in each trial.
    ends = Ends(together(detail.ended for detail in details), max(detail.lasting for detail in details))
    idle = most.idle if all(detail.idle is not None for detail in details) else None
    why = _why(subject, replace(most, idle=idle), ends)
    return Explanation(
        weight="distorts",
        certainty=why.certainty,
        seen="The server closed connections that the load would have kept open: up to one new connection "
        f"{_per_requests(most.share)}.",
        evidence=[
            *ranged("reconnections", "", [detail.reconnects for detail in details]),
            *ranged("reconnections per answer", "share", [detail.share for detail in details]),
            *ranged("replies per connection", "", [detail.replies_per_connection for detail in details]),
            *answers_evidence([detail.ended for detail in details]),
            *ranged("connections kept open throughout", "", [detail.lasting or None for detail in details]),
            *ranged("median lifetime of a connection", "ms", [detail.lifetime_p50_ms for detail in details]),
            *ranged(
                "connections ended by the idle timeout",
                "",
                [detail.idle_timeouts or None for detail in details],
            ),
            *ranged("median time to connect", "ms", [detail.connect_p50_ms for detail in details]),
            *ranged(
                "requests interrupted by a close", "", [detail.closed_early or None for detail in details]
            ),
        ],
        cause=f"{why.cause}. These figures include the cost of reconnecting, in throughput, latency and CPU.",
        advice=f"{why.advice}, or give all servers the same {why.same}, so that all have the same cost.",
        briefly=f"up to one new connection {_per_requests(most.share)}, because "
        f"{why.cause[:1].lower()}{why.cause[1:]}"
        if why.certainty == "shown"
        else None,
    )


@dataclass(frozen=True, slots=True)
class Why:
    """Why the server closes connections, and what to do about it; clauses without a full stop."""

    certainty: Certainty
    cause: str
    advice: str
    same: str = "limit"
    """What makes the cost the same for all servers, where all have it."""


def _why(subject: Subject, most: Reconnecting, ends: Ends) -> Why:
    """Return what explains the closing: idle time, a setting, or how many answers the connections carried."""
    return _why_idle(subject, most) or _why_by_settings(subject, most) or _why_by_answers(subject, most, ends)


def _why_idle(subject: Subject, most: Reconnecting) -> Why | None:
    idle_s = subject.number_setting("keepalive_timeout")
    if idle_s and _lived_idle(most, idle_s):
        return Why(
            "shown",
            f"The server is configured to close connections that are idle for {idle_s:,} s",
            "Raise the setting keepalive_timeout, or shorten the clients' think time",
            same="timeout",
        )
    found = most.idle
    return None if found is None else Why(found.certainty, found.cause, found.advice, same="timeout")


def _why_by_settings(subject: Subject, most: Reconnecting) -> Why | None:
    limit, replies = subject.number_setting("keepalive_requests"), most.replies_per_connection
    if subject.server.settings.get("keepalive") is False or replies <= 1:
        return Why(
            "shown",
            "The server closes each connection after its first answer",
            "Let it keep connections open (the setting keepalive, and HTTP/1.1 in the load)",
        )
    if limit and NEAR_LIMIT[0] * limit <= replies <= NEAR_LIMIT[1] * (limit + 1):
        return Why(
            "shown",
            f"The server is configured to close a connection after {plural(limit, 'request')}",
            "Raise the setting keepalive_requests",
        )
    return None


def _why_by_answers(subject: Subject, most: Reconnecting, ends: Ends) -> Why:
    if ends.ended is not None and (found := constant_answers(ends.ended)) is not None:
        return _why_constant(subject, ends, found)
    if most.processes_changed:
        return Why(
            "likely",
            "The number of the server's processes changed during this load, and some servers close the "
            "connections of a process that ends, or whose threads are all busy while others are started",
            "Warm up for longer, let the server begin with the processes that this load needs",
            same="number of processes",
        )
    if ends.ended is not None and ends.ended.answers is not None:
        return _why_varying(subject, ends.ended.answers)
    return Why(
        "likely",
        "The server closes connections by its own rule: after a number of requests, or after an idle time",
        "Look for a limit on requests per connection and an idle timeout in the server's documentation",
    )


def _why_constant(subject: Subject, ends: Ends, found: ConstantAnswers) -> Why:
    if found.answers == 1 and ends.lasting:
        return Why(
            "shown",
            f"The server keeps at most {plural(ends.lasting, 'connection')} open: it closed all others after "
            "their first answer",
            "Raise its limit on connections that it keeps open, use at most "
            f"{plural(ends.lasting, 'connection')}",
        )
    if found.answers == 1:
        return Why(
            "shown",
            "The server closes each connection after its first answer",
            "Let it keep connections open",
        )
    who = closes_by_default_after(found.answers, subject.server.catalog_entry, subject.server.version)
    return Why(
        found.certainty,
        f"The server closes a connection after {found}{f', as {who} does by default' if who else ''}",
        "Raise its limit on requests per connection",
    )


def _why_varying(subject: Subject, answers: AnswersEach) -> Why:
    """Return what may close connections after any number of answers; fewer connections may tell."""
    quiet = _quiet_connections(subject)
    if quiet is not None:
        return Why(
            "likely",
            f"With up to {plural(quiet, 'connection')} the server closed none, and with more it closed "
            f"connections after {answers}: it keeps a limited number of connections open, or closes one when "
            "others wait for a worker",
            "Raise its limit on connections that it keeps open, give it more workers or threads",
            same="number of workers",
        )
    return Why(
        "likely",
        f"The server closed connections after {answers}, so not after a fixed number: after an idle "
        "time, because it keeps a limited number of connections open, or when others wait for a worker",
        "Look for these rules in the server's documentation, measure fewer connections, which shows whether "
        "it then closes none",
        same="rule",
    )


def _quiet_connections(subject: Subject) -> int | None:
    """Return the most connections with which the server closed none, below the fewest with which it did."""
    counted = [
        (record.load.load.connections, ended.count)
        for record in subject.records
        if (ended := record.load.connections.ended_by_server) is not None and record.load.load.connections
    ]
    fewest = min((connections for connections, count in counted if count), default=0)
    return max(
        (connections for connections, count in counted if not count and connections < fewest), default=None
    )


def _lived_idle(detail: Reconnecting, idle_s: int) -> bool:
    if detail.think_s >= idle_s:
        return True
    lifetime_ms = detail.lifetime_p50_ms
    return lifetime_ms is not None and NEAR_IDLE[0] <= lifetime_ms / 1000 / idle_s <= NEAR_IDLE[1]


RULE = Rule.of_records(120, CODE, _reconnecting, _explain)
