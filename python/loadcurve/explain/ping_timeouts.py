"""WebSockets that the server closes because it has read no answer to its ping in time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.explain.finding import FindingCode, ranged
from loadcurve.explain.observation import Explanation, Observation, Rule
from loadcurve.explain.subject import Subject
from loadcurve.protocol import WEBSOCKET
from loadcurve.result.records import PointRecord
from loadcurve.units import percent

CODE = FindingCode(
    "ping_timeouts",
    title="The server closed WebSockets at its ping timeout",
    seen_where="at least 5 messages over WebSocket failed because the server closed with a reason that names "
    'a timeout of a ping, a pong, a heartbeat or a keep-alive, such as "keepalive ping timeout"',
    because="the load answers pings when it reads them, so a server that misses the answer has not read "
    "it: it lies behind messages that its application does not take, or nobody has had time to read",
)

FAILED_MIN = 5
_REASON = re.compile(
    r"\b(?:ping|pong|heart-?beat|keep-?alive)s?\b.{0,20}\btime[d ]*-?out"
    r"|\btime[d ]*-?out.{0,20}\b(?:ping|pong|heart-?beat|keep-?alive)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Closed:
    """What one record lost at the ping timeout."""

    messages: int
    share: float
    """Of the messages, sent or still to be sent then."""
    reason: str
    lived_s: float | None
    """The median time from opening a connection to its end."""


def _closed(record: PointRecord) -> Closed | None:
    load = record.load.load
    if load.work != "http" or load.messages != WEBSOCKET or not record.load.requests.taken_up:
        return None
    said = [one for one in record.load.error_messages if one.example and _REASON.search(one.example)]
    lost = sum(one.count for one in said)
    if lost < FAILED_MIN:
        return None
    most = max(said, key=lambda one: one.count)
    lifetime_ms = record.load.connections.lifetime_ms
    lived_ms = None if lifetime_ms is None else lifetime_ms.p50
    return Closed(
        lost,
        lost / record.load.requests.taken_up,
        most.example or "",
        None if lived_ms is None else lived_ms / 1e3,
    )


def _explain(subject: Subject, seen: Sequence[Observation[Closed]]) -> Explanation:
    details = [one.detail for one in seen]
    most = max(details, key=lambda one: one.share)
    return Explanation(
        weight="invalidates",
        certainty="shown",
        seen=f"Up to {percent(most.share)} of the messages were lost because {subject.name} closed their "
        f'WebSocket; its reason was "{most.reason}".',
        evidence=[
            *ranged("messages of WebSockets that were closed so", "", [one.messages for one in details]),
            *ranged("share of the messages", "share", [one.share for one in details]),
            *ranged("median lifetime of connections", "s", [one.lived_s for one in details]),
        ],
        cause="The server sends pings, and closes a WebSocket whose pong it has not read in time. The load "
        "answers each ping when it reads it; the answer lies behind messages that the server has not read, "
        "because its application takes them more slowly than they come, or it is busy.",
        advice="Send fewer messages at once, or at a lower rate; or raise the server's ping timeout "
        "(of Uvicorn --ws-ping-timeout). Clients that send as much lose their connections in the same way.",
    )


RULE = Rule.of_records(159, CODE, _closed, _explain)
