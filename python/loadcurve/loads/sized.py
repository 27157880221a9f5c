"""Messages of a given size, which say nothing: what a sweep over the size of messages sends."""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from loadcurve.loads.table import Swept
from loadcurve.protocol import GRPC, Messages
from loadcurve.toml.expected import Expected
from loadcurve.toml.problems import Problem
from loadcurve.toml.quantities import SizeBytes

MESSAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""What most servers of gRPC take at the most, unless they are set to take more."""
MESSAGE_BYTES_MIN_OF_CALLS: Final = 2
"""A field of protobuf has a tag and a length."""
LETTER: Final = "x"
_FIRST_FIELD_OF_BYTES: Final = 1 << 3 | 2
"""The tag of field 1 where its length and its bytes follow (protobuf's encoding: tags, LEN)."""
_MORE: Final = 0x80
"""The bit of a byte of a varint behind which there is another one."""

MessageSize = Annotated[
    SizeBytes, Field(ge=1, le=MESSAGE_BYTES_MAX), Expected('a size of at most 4 MiB, such as "64KiB"')
]


def letters(size_bytes: int) -> str:
    """Return a text of this many bytes."""
    return LETTER * size_bytes


def encoded_letters(size_bytes: int) -> bytes:
    """Return an encoded message of protobuf of this many bytes, whose first field is a text of letters.

    Where the shortest length would leave a byte over, that length has one byte more, as readers accept it
    (https://protobuf.dev/programming-guides/encoding/, varints).

    Raises ``ValueError``: no such message is so short.
    """
    if size_bytes < MESSAGE_BYTES_MIN_OF_CALLS:
        raise ValueError(f"found {size_bytes} bytes; expected {MESSAGE_BYTES_MIN_OF_CALLS} or more")
    of_length = next(n for n in range(1, 10) if (size_bytes - 1 - n) < 1 << 7 * n)
    count = size_bytes - 1 - of_length
    groups = [count >> 7 * n & 0x7F for n in range(of_length)]
    length = bytes([*(group | _MORE for group in groups[:-1]), groups[-1]])
    return bytes([_FIRST_FIELD_OF_BYTES]) + length + letters(count).encode()


def problems_of_size(at: Swept, messages: Messages | None, *, is_given: bool) -> Iterator[Problem]:
    """Check that messages have a size or are given, and that those of calls can be so short."""
    sizes = at.values("message_size")
    if sizes and is_given:
        text = "cannot be combined with a message or body that is given; keep one of the two"
        yield Problem(at.place("message_size"), text)
    if messages == GRPC and min(sizes, default=MESSAGE_BYTES_MIN_OF_CALLS) < MESSAGE_BYTES_MIN_OF_CALLS:
        text = f"found {min(sizes):g}; expected {MESSAGE_BYTES_MIN_OF_CALLS} or more bytes of a call of gRPC"
        yield Problem(at.place("message_size"), text)
