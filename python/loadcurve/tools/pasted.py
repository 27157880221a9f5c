"""What is around a tool's output that was copied from a terminal, or is in the log of another program.

A prompt with the command is in front, a prompt behind; a log has a time, or a container's name, in front of
each line. Nothing else is taken off.
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
_LOGGED = [re.compile(pattern, re.MULTILINE) for pattern in (_TIME, _CONTAINER, _CONTAINER + _TIME)]
_PROMPT_CHARACTERS_MAX = 300


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


def without_prompt(text: str) -> str:
    """Return the text of a JSON document without the prompt behind it."""
    if not _PROMPT.fullmatch(text.rstrip()[-1:]):
        return text
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return text
    end += len(text) - len(text.lstrip())
    behind = text[end:].strip()
    return text[:end] if len(behind) <= _PROMPT_CHARACTERS_MAX and _PROMPT.fullmatch(behind) else text
