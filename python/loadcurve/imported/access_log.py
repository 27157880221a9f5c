"""Access logs, line by line: as text in the common or combined format, or as JSON.

A line that gives no request is left out: of millions of them some are always odd.
"""

from collections.abc import Iterator
from typing import NamedTuple

from loadcurve.imported import log_json, log_text
from loadcurve.imported.left_out import LeftOut, Reason
from loadcurve.imported.log_line import Line, Odd
from loadcurve.loads.values import is_status
from loadcurve.tools.blocks import blocks
from loadcurve.tools.prefixes import prefix_of
from loadcurve.tools.source import Source

SWITCHING_PROTOCOLS = 101
"""What answers a request that a load does not send."""


class RequestFilter(NamedTuple):
    """Which requests of a log are taken."""

    method: str = "GET"
    """A load sends the paths of its list by one method."""
    statuses: frozenset[str] = frozenset()
    """Such as ``404`` or, for a class of them, ``2xx``; empty for all."""

    def has_status(self, status: int) -> bool:
        """Whether a request with this status is taken."""
        return not self.statuses or not self.statuses.isdisjoint((str(status), f"{status // 100}xx"))


class Logged(NamedTuple):
    """A request of a log; of millions of them a tuple is made in a fraction of the time of an object."""

    number: int
    """The line's, from 1."""
    text: bytes
    """The line."""
    target: bytes
    """The bytes that were asked for, which begin with ``/``."""
    status: int
    time: bytes
    """Without brackets."""
    rest: bytes
    """What follows the number of bytes."""


def requests_of(source: Source, wanted: RequestFilter, left_out: LeftOut) -> Iterator[Logged]:
    """Yield the requests that are wanted, and count the other lines in ``left_out``.

    Raises ``BadInput`` where too many lines are not those of an access log.
    """
    method = wanted.method.encode()
    prefix = prefix_of(source.head(), _is_line)
    with source.opened() as file:
        read = None
        for first, block in blocks(source, file, 1, log_text.WHAT, ends_lines=False, has_quotes=False):
            lines = block.removesuffix(b"\n").split(b"\n")
            if prefix is not None:
                lines = [line[one.end() :] if (one := prefix.match(line)) else line for line in lines]
            if read is None:
                read = log_json.read if _is_json(lines) else log_text.read
                left_out.expected = log_json.WHAT if read is log_json.read else log_text.WHAT
            for number, text in enumerate(lines, start=first):
                found = _taken(read(text), method, wanted)
                if isinstance(found, Line):
                    yield Logged(number, text, found.target, found.status, found.time, found.rest)
                else:
                    left_out.add(found, number, text)
            left_out.count_lines(first + len(lines) - 1)
            left_out.require_few()


def _is_line(text: bytes) -> bool:
    """Say whether a line is one of an access log, of either form."""
    return any(isinstance(read(text), Line) for read in (log_text.read, log_json.read))


def _is_json(lines: list[bytes]) -> bool:
    """Say of which form a log is, by the first line that is not blank."""
    return next((line for line in lines if line.strip()), b"").lstrip().startswith(b"{")


def _taken(found: Line | Odd, method: bytes, wanted: RequestFilter) -> Line | Reason:
    if isinstance(found, Reason):
        return found
    if not is_status(found.status):
        return Reason.NO_STATUS
    if found.method != method:
        return Reason.METHOD
    if found.status == SWITCHING_PROTOCOLS:
        return Reason.SWITCHED
    return found if wanted.has_status(found.status) else Reason.STATUS
