"""The options of a load whose answers are streams of messages, and which of them belong together."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from loadcurve.loads.extension import Extension
from loadcurve.loads.grpc import Grpc, GrpcTable
from loadcurve.loads.option import CommandLine, NotWith, OfMessages, OnlyOver, OtherTools, Planned, Shown
from loadcurve.loads.sized import MessageSize
from loadcurve.loads.table import LoadTable, Swept, attributes
from loadcurve.loads.values import Duration, PositiveCount
from loadcurve.protocol import EVENTS, GRPC, HTTP1_1, HTTP2, WEBSOCKET, AskedHttp, Messages
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem

OWN_MESSAGES: Final = OtherTools(takes_any=False, reason="measures requests, and no messages")


class MessagesTable(LoadTable):
    """The keys of loads that say what answers are streams of."""

    messages: Annotated[
        Messages | None,
        CommandLine(
            "--messages", help="What answers are streams of, such as events.", panel="Messages", place=10
        ),
        Planned("messages"),
        OWN_MESSAGES,
    ] = None
    """What answers are streams of: with `"events"`, of server-sent events, or of lines: each is
    measured for itself; with `"grpc"`, requests are calls of gRPC; with `"websocket"`, each body is a message
    of a WebSocket, which the server's next message answers, or which `subscribers` receive; with
    `http = "2"`, each of a connection's `streams` is a WebSocket. Unless set, an answer is a whole.
    """
    event_format: Annotated[
        Literal["sse", "lines"] | None,
        CommandLine(
            "--event-format",
            help="Events: sse, or lines such as JSON lines.",
            usual="sse",
            panel="Messages",
            place=20,
        ),
        Planned("messages"),
        OfMessages((EVENTS,)),
        OWN_MESSAGES,
    ] = None
    """With events: server-sent events ("sse", the default), or "lines": each line that is not empty, such as
    one of JSON lines, is an event.
    """
    events_expected: Annotated[
        PositiveCount | None,
        CommandLine(
            "--events-expected",
            help="How many events or messages an answer is to have.",
            metavar="N",
            panel="Messages",
            place=30,
        ),
        Planned("messages"),
        OfMessages((EVENTS, GRPC)),
        OWN_MESSAGES,
    ] = None
    """With events, or a call that streams its answers: how many of them each is to have; what is delivered is
    compared with it.
    """
    stream_for_s: Annotated[
        Duration | None,
        CommandLine(
            "--stream-for",
            help="Events, gRPC: end each stream after this time.",
            metavar="TIME",
            panel="Messages",
            place=40,
        ),
        Planned("messages"),
        OfMessages((EVENTS, GRPC)),
        OWN_MESSAGES,
    ] = Field(None, alias="stream_for")
    """With events, or a call that streams its answers: how long a stream is kept open that the server does
    not end, after which it counts as answered; as long as the load lasts unless set.
    """

    grpc: Annotated[Grpc, Planned("translated"), OfMessages((GRPC,)), OWN_MESSAGES] = Field(
        default_factory=GrpcTable
    )
    """With `messages = "grpc"`: the message of the calls, its compression, what a call consists of, the
    statuses that are right, the deadline; the keys of `[load.grpc]`.
    """
    message_type: Annotated[
        Literal["text", "binary"] | None,
        CommandLine(
            "--message-type",
            help="WebSocket: text or binary messages.",
            usual="text",
            panel="Messages",
            place=100,
        ),
        Planned("messages"),
        OfMessages((WEBSOCKET,)),
        OWN_MESSAGES,
    ] = None
    """With WebSocket: whether messages are sent as text, which is UTF-8 (the default), or as bytes."""
    extension: Annotated[
        Extension | None,
        CommandLine(
            "--extension",
            help="WebSocket: offer to compress messages, such as permessage-deflate.",
            metavar="OFFER",
            panel="Messages",
            place=102,
        ),
        Planned("messages"),
        OfMessages((WEBSOCKET,)),
        OnlyOver((HTTP1_1, HTTP2)),
        OWN_MESSAGES,
    ] = None
    """With WebSocket: an offer to compress messages (RFC 7692), as the handshake has it:
    "permessage-deflate", or with parameters such as "; server_no_context_takeover". Each message is deflated
    once, by itself. Nothing is offered unless it is set.
    """
    answer_id: Annotated[
        str | None,
        Field(pattern=r'^[^"\\\\\x00-\x1f]{1,100}$'),
        Expected('the name of a field of JSON, such as "id"'),
        CommandLine(
            "--answer-id",
            help="WebSocket: match answers by this field, as {id} in the body.",
            metavar="FIELD",
            panel="Messages",
            place=103,
        ),
        Planned("messages"),
        OfMessages((WEBSOCKET,)),
        OnlyOver((HTTP1_1,)),
        NotWith(("subscribers", "message_bytes")),
        OWN_MESSAGES,
    ] = None
    """With WebSocket over HTTP/1.1: the field of JSON in which an answer has the id of its message, which may
    come in any order. Each message has its id, a number of 16 digits, in place of `{id}` in its body. Unless
    set, answers come in order.
    """
    message_bytes: Annotated[
        MessageSize | None,
        CommandLine(
            "--message-size",
            help="WebSocket, gRPC: messages of this size, of letters.",
            metavar="SIZE",
            panel="Messages",
            place=105,
        ),
        Shown(unit="bytes"),
        Planned("translated"),
        OfMessages((GRPC, WEBSOCKET)),
        OWN_MESSAGES,
    ] = Field(None, alias="message_size")
    """With WebSocket or gRPC: how long each message is, in place of a body or message: of letters, and of
    gRPC as an encoded message whose first field has them. With `subscribers` their marker comes on top.
    """

    subscribers: Annotated[
        PositiveCount | None,
        CommandLine(
            "--subscribers",
            help="WebSocket: connections that listen to what others publish.",
            metavar="N",
            panel="Messages",
            place=110,
        ),
        Planned("messages"),
        OfMessages((WEBSOCKET,)),
        OnlyOver((HTTP1_1,)),
        OWN_MESSAGES,
    ] = None
    """With WebSocket over HTTP/1.1: how many further connections listen, to which the server sends what the
    `connections` publish. Each message carries a marker, in place of `{marker}` in its body, or in front of
    it. Unless set, the server's next message answers the one that was sent.
    """

    def _problems_of_subscribers(self, at: Swept) -> Iterator[Problem]:
        """Check that one thread sends the messages that others receive, on connections that are kept."""
        if not (at.gives("subscribers") or "subscribers" in at.sweep):
            return
        if self.model not in {"closed", "open"}:
            text = 'only used with model = "closed" or "open", whose publishers keep their connections'
            yield Problem(at.place("subscribers"), text)
        if "threads" in attributes(type(self)) and max((n for n in at.values("threads") if n), default=1) > 1:
            text = "with subscribers there is 1 thread, which knows who has which message; remove it"
            yield Problem(at.place("threads"), text)
        if "calls" in attributes(type(self)) and any(n is not None for n in at.values("calls")):
            text = "with subscribers the connections of publishers are kept; remove it"
            yield Problem(at.place("calls"), text)

    def _problems_of_messages(self, at: Swept) -> Iterator[Problem]:
        """Check what is asked for beside the messages."""
        if self.messages == EVENTS and max(at.values("pipeline"), default=1) > 1:
            text = (
                'cannot be combined with messages = "events", because a stream holds up what is behind it; '
                "remove it, or use streams over HTTP/2"
            )
            yield Problem(at.place("pipeline"), text)
        if self.messages == WEBSOCKET:
            yield from self._problems_of_subscribers(at)


def problems_of_websocket(http: AskedHttp) -> Iterator[Problem]:
    """Check that WebSockets can be opened over a version."""
    if http not in {HTTP1_1, HTTP2}:
        text = f'found {http}, but a WebSocket is opened over "{HTTP1_1}" or "{HTTP2}"; expected one of them'
        yield Problem(("load", "http"), text)
