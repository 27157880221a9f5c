"""The lines of an access log that give no request: how many, why, and the first of them."""

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from loadcurve.errors import BadInput
from loadcurve.tools.source import Source, shown
from loadcurve.units import whole_percent

SHOWN_LINES_MAX = 3
"""Of each reason."""
SHOWN_CHARACTERS_MAX = 160
"""Of a line: the request is behind a host, a user and a time."""
UNREADABLE_SHARE_MAX = 0.5
"""A file most of whose lines are not those of an access log is another file."""


class Reason(Enum):
    """Why a line gives no request."""

    BLANK = "blank"
    NO_LINE = "not of an access log"
    NO_TIME = "without a time that can be read"
    NO_STATUS = "without a status: nothing was answered"
    NO_PATH = "without a path, or with a request that was cut off"
    LOST_BYTES = "with bytes of the path that the log has replaced"
    LONG = "with a path longer than a list may have"
    SWITCHED = "that switched protocols, such as to WebSocket"
    METHOD = "by another method (--method takes it)"
    STATUS = "with another status"


_UNREADABLE = (Reason.NO_LINE, Reason.NO_TIME)


class LeftOut:
    """Counts lines by the reason for which they are left out."""

    def __init__(self, source: Source) -> None:
        """Begin without any; ``source`` is named where there are too many."""
        self.expected = ""
        """What a line should be."""
        self.counts = Counter[Reason]()
        self._source = source
        self._first: dict[Reason, list[str]] = {}
        self._lines = 0

    def add(self, reason: Reason, number: int, text: bytes, why: str = "") -> None:
        """Count a line, from 1; ``why`` says more of it."""
        self.counts[reason] += 1
        first = self._first.setdefault(reason, [])
        if len(first) < SHOWN_LINES_MAX:
            first.append(f"line {number:,}: {_beginning(text)}{why}")

    def count_lines(self, count: int) -> None:
        """Say how many lines have been read."""
        self._lines = count

    @property
    def total(self) -> int:
        """How many lines are left out."""
        return self.counts.total()

    def require_few(self) -> None:
        """Raise ``BadInput`` where more lines than the share that is allowed cannot be read."""
        unreadable = sum(self.counts[reason] for reason in _UNREADABLE)
        if unreadable <= UNREADABLE_SHARE_MAX * self._lines:
            return
        examples = [example for reason in _UNREADABLE for example in self._first.get(reason, [])]
        raise BadInput(
            f"{self._source.name}: {unreadable:,} of {self._lines:,} lines cannot be read, more than "
            f"{whole_percent(UNREADABLE_SHARE_MAX)}; {'; '.join(examples[:SHOWN_LINES_MAX])}; "
            f"expected {self.expected}"
        )

    def words(self) -> Iterator[str]:
        """Yield a line for people on each reason, with the first lines of a log that have it."""
        for reason, count in self.counts.most_common():
            yield f"{count:,} {'line' if count == 1 else 'lines'} left out, {reason.value}"
            if reason is not Reason.BLANK:
                yield from (f"  {example}" for example in self._first[reason])


def _beginning(text: bytes) -> str:
    # More is looked at than shown: what is hidden of a URL depends on its end.
    return shown(text[: 8 * SHOWN_CHARACTERS_MAX].decode(errors="replace"), SHOWN_CHARACTERS_MAX)
