"""WebSockets that the server closes at its ping timeout: where that is a finding, and where it is none."""

import pytest

from support.explained_run import Data, evidence, found
from support.synthetic_run import distribution

SENT = 2000
CODE = "ping_timeouts"


def closed(
    record: Data, *, reason: str | None, failed: int = 500, messages: str | None = "websocket"
) -> None:
    """Let messages of a record fail because their WebSocket was closed, for a reason that is said."""
    load = record["load"]
    load["load"] |= {"messages": messages}
    answered = SENT - failed
    load["requests"] |= {"due": SENT, "sent": SENT, "answered": answered, "ok": answered, "failed": failed}
    load["errors"] |= {"closed_internal_error": failed}
    load["connections"] |= {"lifetime_ms": distribution([40_000.0] * 1000)}
    text = "the server closed the WebSocket with the code 1011 (internal error)"
    message = {"error": "closed_internal_error", "operation": "GET /", "text": text, "count": failed}
    load["error_messages"] = [message | {"example": reason}]


# The first is what Python's websockets says.
@pytest.mark.parametrize(
    "reason", ["keepalive ping timeout", "Pong timed out", "timeout waiting for heartbeat"]
)
def test_a_reason_that_names_a_ping_timeout_is_a_finding_with_what_it_cost(reason):
    finding = found(lambda record, *_: closed(record, reason=reason))[CODE]
    assert finding.certainty == "shown"
    lost = "Up to 25 % of the messages were lost because nginx closed their WebSocket"
    assert finding.seen == f'{lost}; its reason was "{reason}".'
    figures = evidence(finding)
    assert figures["messages of WebSockets that were closed so"] == 500
    assert figures["median lifetime of connections"] == pytest.approx(40, rel=0.01)


def test_messages_that_were_still_to_be_sent_are_among_all_of_which_a_share_was_lost():
    def planted(record: Data, *_: float) -> None:
        closed(record, reason="keepalive ping timeout", failed=1500)
        record["load"]["requests"]["sent"] = SENT - 1000

    assert found(planted)[CODE].seen.startswith("Up to 75 % of the messages were lost")


@pytest.mark.parametrize(
    "planted",
    [
        {"reason": "keepalive ping timeout", "failed": 4},
        # Why it was closed is not said, or is something else.
        {"reason": None},
        {"reason": "timeout of the database"},
        {"reason": "shopping timeout"},
        # A database may say so, too.
        {"reason": "keepalive ping timeout", "messages": None},
    ],
)
def test_other_reasons_and_a_few_messages_are_none(planted):
    assert CODE not in found(lambda record, *_: closed(record, **planted))
