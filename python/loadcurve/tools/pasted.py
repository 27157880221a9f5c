"""What is around a tool's output that was copied from a terminal, or is in the log of another program.

A prompt with the command is in front, a prompt behind; a log has a time, or a container's name, in front of
each line, a quotation its mark. In front of a document, or of the names of columns, other programs' lines may
be, and behind a document, too. Nothing else is taken off.
"""

import io
import json
import re
from dataclasses import dataclass
from typing import BinaryIO, Final

from loadcurve.tools.figures import Unreadable

LOGGED_BYTES_MAX: Final = 64 * 2**20
LINES_BEFORE_MAX: Final = 50
_SHELL = (
    r"(?:\([^()\n]{1,60}\) ?)?"
    r"(?:\[[^\[\]\n]{1,100}\]|[^\s,\"<{}$#%>]{0,100}(?: [^\s,\"<{}$#%>]{1,100})?)"
    r"[$#%>\u276f]"
)
"""The name of an environment; user, host and folder; the last character of bash, zsh, PowerShell or fish."""
_COMMAND = re.compile(_SHELL + r" {1,4}[^\s\d]\S")
_PROMPT = re.compile(_SHELL + r"\s{0,9}")
_TIME = rb"\[?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\]?(?:[ \t]|$)"
_CONTAINER = rb"[\w.-]{1,80} {0,80}\|(?: |$)"
_POD = rb"\[pod/[^\]\s]{1,300}\] "
_SYSLOG = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,100} [\w./-]{1,100}(?:\[\d{1,10}\])?:(?: |$)"
_LEVEL = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})? \[?[A-Z]{4,8}\]?:?(?: |$)"
_QUOTED = rb">(?: |$)"
_LOGGED = [
    re.compile(pattern, re.MULTILINE)
    for pattern in (_QUOTED, _LEVEL, _SYSLOG, _POD, _TIME, _CONTAINER, _CONTAINER + _TIME, _POD + _TIME)
]
_REST_CHARACTERS_MAX = 2_000
_DATA = re.compile(r'^\s{0,99}[\[\]{},":\d-]', re.MULTILINE)
"""A line that may be of another document."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is taken off."""

    lines_before: int = 0
    of_each_line: re.Pattern[bytes] | None = None
    """What a log has in front of each line."""

    def taken_off(self, name: str, file: BinaryIO) -> BinaryIO:
        """Return a file that is at its start without it; raises ``Unreadable`` where a log is too long."""
        if self.of_each_line is not None:
            data = file.read(LOGGED_BYTES_MAX + 1)
            if len(data) > LOGGED_BYTES_MAX:
                found = f"a log of more than {LOGGED_BYTES_MAX:,} bytes, with a time or a name on each line"
                raise Unreadable(name, None, found, "a tool's output without them")
            file = io.BytesIO(_without(self.of_each_line, data))
        for _ in range(self.lines_before):
            file.readline()
        return file


NOTHING: Final = Around()


def logged(head: bytes) -> re.Pattern[bytes] | None:
    """Return what each line has in front, of the whole lines of a file's start; ``None`` without that."""
    lines = [line for line in head.split(b"\n")[: -1 if b"\n" in head else None] if line.strip()]
    if not lines:
        return None
    found = (pattern for pattern in reversed(_LOGGED) if all(map(pattern.match, lines)))
    return next(found, None)


def without(pattern: re.Pattern[bytes] | None, head: bytes) -> bytes:
    """Return a start without what each line has in front."""
    return head if pattern is None else _without(pattern, head)


def _without(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    lines = data.split(b"\n")
    found = map(pattern.match, lines)
    return b"\n".join(line[one.end() :] if one else line for line, one in zip(lines, found, strict=True))


def is_command(line: str) -> bool:
    """Say whether a line is a prompt with a command."""
    return _COMMAND.match(line[:400]) is not None


def without_rest(text: str) -> str:
    """Return the text of a JSON document without what other programs said behind it.

    Another document may be no such rest, and is left there for the reader to refuse.
    """
    if text.rstrip()[-1:] in {"}", ""}:
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return text
    end += len(text) - len(text.lstrip())
    same, _, others = text[end:].partition("\n")
    if _PROMPT.fullmatch(text[end:].strip()):
        return text[:end]
    is_rest = len(others) <= _REST_CHARACTERS_MAX and not same.strip() and not _DATA.search(others)
    return text[:end] if is_rest else text
