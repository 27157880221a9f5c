"""What a line of an access log says, in whatever form it is written."""

from typing import Literal, NamedTuple

from loadcurve.imported.left_out import Reason

Odd = Literal[Reason.BLANK, Reason.NO_LINE, Reason.NO_STATUS, Reason.NO_PATH, Reason.LOST_BYTES]
"""Why a line says nothing of a request."""


class Line(NamedTuple):
    """A request, as a line has it."""

    method: bytes
    target: bytes
    """What was asked for, as the server received it: it begins with ``/`` and may hold any byte."""
    status: int
    time: bytes
    rest: bytes
    """What follows the number of bytes in a log that is text."""
