"""Whether calls of gRPC end as they should, before they are measured."""

import http
from collections.abc import Sequence
from typing import Final

from loadcurve.redaction import own_words
from loadcurve.server.asked import Answer
from loadcurve.server.failure import ServerFailure

_ADVICE: Final = {
    "UNIMPLEMENTED": "The server has no such method: check package, service and method.",
    "INVALID_ARGUMENT": "The server does not accept the message.",
    "UNAUTHENTICATED": "The server asks who calls: give its metadata as headers.",
    "DEADLINE_EXCEEDED": "The deadline is the timeout of the load.",
}
"""What to do about a status, where that is known."""
_BEGINNINGS: Final = ("\0", "\1")
"""How each message begins on the wire: one that is not compressed, and one that is."""


def require_call(line: str, answer: Answer, right: Sequence[str], *, is_stream: bool = False) -> None:
    """Refuse the answer to a call that has not ended with one of the statuses that are right.

    Of a stream it is enough that a message has begun: it need not end.

    Raises ``ServerFailure`` ("wrong_answer").
    """
    if is_stream and answer.call is None and answer.text[:1] in _BEGINNINGS:
        return
    if answer.call is None:
        status = answer.status
        said = own_words(answer.text) if status != http.HTTPStatus.OK else ""
        quoted = f' It says: "{said}"' if said else ""
        raise ServerFailure(
            "wrong_answer",
            f"{line} was answered with status {status} of HTTP and no status of gRPC: does gRPC listen "
            f"there?{quoted}",
        )
    status_name, text = answer.call
    if status_name in right:
        return
    said = own_words(text or "")
    quoted = f': "{said}"' if said else ""
    expected = " or ".join(right)
    advice = f" {_ADVICE[status_name]}" if status_name in _ADVICE else ""
    raise ServerFailure(
        "wrong_answer", f"{line} was answered with {status_name}{quoted}; expected {expected}.{advice}"
    )
