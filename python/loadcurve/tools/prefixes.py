"""What each line of a log or a quotation has in front: a time, a container's name, a level, a mark."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from loadcurve.tools.copies import NotOneError

_DAY: Final = rb"\d{4}-\d\d-\d\d"
_CLOCK: Final = rb"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_END: Final = rb"(?:[ \t]|$)"
_TIME: Final = rb"\[?" + _DAY + rb"T" + _CLOCK + rb"(?:Z|[+-]\d\d:?\d\d)\]?" + _END
_CONTAINER: Final = rb"[\w.-]{1,80} {0,80}\|(?: |$)"
_POD: Final = rb"\[pod/[^\]\s]{1,300}\] "
_PROGRAM: Final = rb"\S{1,100} [\w./-]{1,100}(?:\[\d{1,10}\])?:(?: |$)"
_PREFIXES: Final = [
    re.compile(pattern)
    for pattern in (
        _CONTAINER + _TIME,
        _POD + _TIME,
        _TIME + _PROGRAM,
        # Of GitLab, with the stream and whether a line is continued; of GitHub's command, with job and step.
        _TIME + rb"\d\d[OE][ +]",
        rb"[^\t\n]{1,200}\t[^\t\n]{1,200}\t" + _TIME,
        _CONTAINER,
        _TIME,
        _POD,
        rb"[A-Z][a-z]{2} [ \d]\d " + _CLOCK + rb" " + _PROGRAM,
        rb"[A-Z][a-z]{2} [ \d]\d " + _CLOCK + rb"(?: |$)",
        rb"\[" + _DAY + rb"[ T]" + _CLOCK + rb"\](?: |$)",
        _DAY + rb" " + _CLOCK + rb" \[?[A-Z]{4,8}\]?:?(?: |$)",
        _DAY + rb" " + _CLOCK + rb"(?: |$)",
        rb"\[\d\d:\d\d:\d\d\](?: |$)",
        rb"\d\d:\d\d:\d\d(?: {1,2}|$)",
        rb"(?:> ?){1,9}",
    )
]
"""Where one contains another, the longer one is first."""
_LINES_LOOKED_AT: Final = 400
_LINES_AROUND_MAX: Final = 50
"""Of other programs, in front of the log's first line and behind its last one."""
_SHARE_MIN: Final = 0.8
"""Of the lines between these that have it; the others are of other programs, too."""


@dataclass(frozen=True, slots=True)
class Only:
    """Leaves the lines that have something in front, without it, and a blank line for each other one.

    Those are of other programs, as far as anybody can say.
    """

    prefix: re.Pattern[bytes]

    def __call__(self, data: bytes) -> bytes:
        """Return these lines; raises ``NotOneError`` where too many others are in a whole file."""
        others = self.left_out(data)
        lines = sum(1 for line in data.split(b"\n") if line.strip())
        if len(others) > max(_LINES_AROUND_MAX, (1 - _SHARE_MIN) * lines):
            found = f"{len(others):,} of {lines:,} lines without what the others have in front"
            raise NotOneError(others[0][0], found, "the lines of one log, or a file that is none")
        return self.without(data)

    def left_out(self, data: bytes) -> Sequence[tuple[int, bytes]]:
        """Return the other lines that are not blank, with their numbers."""
        lines = enumerate(data.split(b"\n"), start=1)
        return [(number, line) for number, line in lines if line.strip() and not self.prefix.match(line)]

    def without(self, data: bytes) -> bytes:
        """Return the lines, whatever share of all they are."""
        lines = data.split(b"\n")
        found = map(self.prefix.match, lines)
        return b"\n".join(line[one.end() :] if one else b"" for line, one in zip(lines, found, strict=True))


def logged(head: bytes, is_known: Callable[[bytes], bool]) -> Callable[[bytes], bytes] | None:
    """Return what takes off what each line of a file that begins so has in front; ``None`` without that.

    Where some lines have nothing in front, the others have to be known without it.
    """
    lines = _whole_lines(head)
    of_all = _of_all(lines)
    for prefix in of_all:
        if is_known(_without(prefix, head)):
            return partial(_without, prefix)
    if of_all:
        return partial(_without, of_all[0])
    of_most = (Only(one) for one in _PREFIXES if _is_of_most(list(map(one.match, lines))))
    return next((one for one in of_most if is_known(one.without(head))), None)


def prefix_of(head: bytes, is_one: Callable[[bytes], bool]) -> re.Pattern[bytes] | None:
    """Return what each line of a file that begins so has in front of what is one; ``None`` without that."""
    lines = _whole_lines(head)
    if not lines or is_one(lines[0]):
        return None
    found = ((prefix, prefix.match(lines[0])) for prefix in _of_all(lines))
    return next((prefix for prefix, one in found if one and is_one(lines[0][one.end() :])), None)


def _whole_lines(head: bytes) -> list[bytes]:
    whole = head[: head.rfind(b"\n") + 1] or head
    return [line for line in whole.split(b"\n") if line.strip()][:_LINES_LOOKED_AT]


def _of_all(lines: list[bytes]) -> list[re.Pattern[bytes]]:
    return [one for one in _PREFIXES if lines and all(map(one.match, lines))]


def _is_of_most(found: list[re.Match[bytes] | None]) -> bool:
    places = [place for place, one in enumerate(found) if one]
    if not places:
        return False
    first, last = places[0], places[-1]
    between = last + 1 - first
    return len(found) - between <= _LINES_AROUND_MAX and len(places) >= _SHARE_MIN * between


def _without(prefix: re.Pattern[bytes], data: bytes) -> bytes:
    lines = data.split(b"\n")
    found = map(prefix.match, lines)
    return b"\n".join(line[one.end() :] if one else line for line, one in zip(lines, found, strict=True))
