"""What a load's record says of the compression of its messages."""

from typing import Self

from pydantic import model_validator

from loadcurve.record import Count, Many, Record, contradiction


class Agreed(Record):
    """On how many connections this was agreed on; over HTTP/2, on how many WebSockets."""

    extension: str
    """As the server has answered the offer, such as ``permessage-deflate``."""
    connections: Count


class Spared(Record):
    """Messages that were sent or came compressed."""

    messages: Count
    bytes: Count
    """Their lengths without compression."""
    compressed_bytes: Count
    """Their lengths on the wire, without the headers of frames."""

    @model_validator(mode="after")
    def _has_messages(self) -> Self:
        if not self.messages and (self.bytes or self.compressed_bytes):
            raise contradiction(f"0 messages have {self.bytes} bytes, compressed {self.compressed_bytes}")
        return self


class CompressionResult(Record):
    """What was agreed on, and what it spared, over all WebSockets of a load, warm-up included."""

    agreed: Many[Agreed]
    declined: Count
    """WebSockets whose server has declined, so that nothing was compressed on them."""
    sent: Spared
    received: Spared
