"""What is around a tool's output that was copied from a terminal or a page, or is in the log of another one.

A prompt with the command is in front, a prompt behind; a log has a time, or a container's name, in front of
each line, a quotation its mark, an issue its fence. In front of a document, or of the names of columns, other
programs' lines may be, and behind a document, too. Nothing else is taken off.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from loadcurve.result.outcomes import VerdictNote
from loadcurve.tools.copies import Change
from loadcurve.tools.fences import is_mark, unfenced
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.objects import lines_of_objects
from loadcurve.tools.prefixes import Only, logged
from loadcurve.tools.terminal import (
    has_latin_micro,
    has_odd_line_ends,
    has_odd_spaces,
    is_indented,
    is_padded,
    is_spaced_oddly,
    is_steered,
    unsteered,
    with_line_ends,
    with_micro,
    with_plain_spaces,
    without_indentation,
    without_padding,
)

PASTED_BYTES_MAX: Final = 64 * 2**20
_BEGIN_BYTES: Final = 4096
LINES_BEFORE_MAX: Final = 50
_ROUNDS_MAX: Final = 4
"""How often something may be around what something else is around: a fence around the lines of a log."""
_SHELL: Final = (
    r"(?:\([^()\n]{1,60}\) ?)?"
    r"(?:\[[^\[\]\n]{1,100}\]|[^\s,\"<{}$#%>]{0,100}(?: [^\s,\"<{}$#%>]{1,100})?)"
    r"[$#%>\u276f\u03bb]"
)
"""The name of an environment; user, host and folder; the last character of bash, zsh, PowerShell or fish."""
_SHELL_OF_THEME: Final = r"\u279c {1,4}[^\s,\"<{}]{1,100}(?: git:\([^()\n]{1,100}\))?(?: \u2717)?"
"""The prompt of zsh's most frequent theme."""
_COMMAND: Final = re.compile(
    rf"(?:{_SHELL} {{1,4}}|{_SHELL_OF_THEME} {{1,4}}|[A-Z]:\\[^>\n]{{0,200}}>|\+{{1,4}} )[^\s\d]\S"
    r"|Script started on |##\[group\]Run "
)
_PROMPT: Final = re.compile(rf"(?:{_SHELL}|{_SHELL_OF_THEME}|[A-Z]:\\[^>\n]{{0,200}}>)\s{{0,9}}")
_REST_CHARACTERS_MAX: Final = 2_000
_DATA: Final = re.compile(r'^\s{0,99}[\[\]{},":\d-]', re.MULTILINE)
"""A line that may be of another document."""
_SAID_BEHIND: Final = re.compile(
    rb"\s{0,99}|(?:real|user|sys)\s\d{1,9}m[\d.]{1,12}s\s{0,9}|Script done on [^\n]{0,200}"
    rb"|Process finished with exit code \d{1,3}\s{0,9}"
    rb"|##\[[a-z]{1,20}\][^\n]{0,200}|Post job cleanup\.\s{0,9}"
)
"""What shells, ``time``, ``script``, editors and GitHub's runners say behind a program."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is taken off."""

    lines_before: int = 0
    rest: bytes | None = field(default=None, repr=False)
    """What is left of all of a file that was copied, which is found once; its lines keep their numbers."""
    notes: Sequence[VerdictNote] = ()
    """What has to be known of what was taken off."""

    def taken_off(self, file: BinaryIO) -> BinaryIO:
        """Return a file that is at its start without it."""
        if self.rest is not None:
            file = io.BytesIO(self.rest)
        for _ in range(self.lines_before):
            file.readline()
        return file


def changed(
    name: str, file: BinaryIO, changes: Sequence[Change]
) -> tuple[bytes, Sequence[tuple[int, bytes]]]:
    """Return what changes leave of a file that is at its start, and lines of it that were left out.

    These have their numbers, and seem to be of other programs. Raises ``Unreadable`` for a longer file, and
    as the changes do.
    """
    data = file.read(PASTED_BYTES_MAX + 1)
    if len(data) > PASTED_BYTES_MAX:
        found = f"more than {PASTED_BYTES_MAX:,} bytes of a log, or of what was copied from a page"
        raise Unreadable(name, None, found, "a tool's output as it wrote it")
    others: list[tuple[int, bytes]] = []
    for change in changes:
        if isinstance(change, Only):
            lines = change.left_out(data)
            others += [one for one in lines if not (_is_around(one[1]) or is_mark(one[1]))]
        data = change(data)
    return data, others


NOTHING: Final = Around()
_OF_CHARACTERS: Final[Sequence[tuple[Callable[[bytes], bool], Change]]] = (
    (has_odd_line_ends, with_line_ends),
    (is_steered, unsteered),
    (has_latin_micro, with_micro),
)
_TEXTS: Final = frozenset(
    {
        "wrk-text", "wrk2-text", "ab-text", "ab-html", "httperf-text", "h2load-text", "hey-text", "oha-text",
        "vegeta-text", "bombardier-text", "siege-text", "k6-text", "jmeter-summary", "ycsb-text",
        "go-ycsb-summary",
    }
)  # fmt: skip
"""Formats for people, whose spaces mean nothing."""
_WITH_BLANK_FIELDS: Final = ("gatling-log",)
"""Formats whose last column may be a space."""


def changes_of(head: bytes, format_of: Callable[[bytes], str | None]) -> tuple[Change, ...]:
    """Return what has to be done with a file that begins so, before it can be read.

    ``format_of`` names the format of a start, ``None`` where it is not known.
    """
    changes: list[Change] = []
    for _ in range(_ROUNDS_MAX):
        more = list(_changes_in_turn(head, format_of))
        for change in more:
            head = change(head)
        if not more:
            break
        changes += more
    return tuple(changes)


def _changes_in_turn(head: bytes, format_of: Callable[[bytes], str | None]) -> Iterator[Change]:
    """Yield what is to be done next, each with what the ones before it have left."""
    if b"\0" in head:
        return
    for is_needed, change in _OF_CHARACTERS:
        if is_needed(head):
            yield change
            head = change(head)
    name = format_of(head)
    # In documents and tables a name may have such a space.
    if has_odd_spaces(head) and (is_spaced_oddly(head) or name is None or name in _TEXTS):
        yield with_plain_spaces
        head = with_plain_spaces(head)
    if is_padded(head) and name not in _WITH_BLANK_FIELDS:
        yield without_padding
        head = without_padding(head)
    if is_indented(head) and format_of(without_indentation(head)) is not None:
        yield without_indentation
        head = without_indentation(head)

    def is_known(part: bytes) -> bool:
        return format_of(part) is not None

    found = unfenced(head, is_known) or logged(head, is_known) or lines_of_objects(head, format_of)
    if found is not None:
        yield found


def without_end(data: bytes) -> bytes:
    """Return a copied text without what a shell said behind it; one of binary data is returned as it is."""
    end = len(data)
    while b"\0" not in data[:_BEGIN_BYTES] and end > 0:
        begin = data.rfind(b"\n", 0, end - 1) + 1
        line = data[begin:end].rstrip(b"\n")
        if not _is_around(line):
            break
        end = begin
    return data[:end]


def _is_around(line: bytes) -> bool:
    """Say whether a line is of a shell, or of what says when a program has ended."""
    text = line.decode(errors="replace")
    is_prompt = _PROMPT.fullmatch(text[:400].strip()) is not None
    return is_prompt or is_command(text) or _SAID_BEHIND.fullmatch(line) is not None


def is_command(line: str) -> bool:
    """Say whether a line is a prompt with a command."""
    return _COMMAND.match(line[:400]) is not None


def without_rest(text: str) -> str:
    """Return the text of a JSON document without what other programs said behind it.

    Another document may be no such rest, and is left there for the reader to refuse.
    """
    end = None if text.rstrip()[-1:] in {"}", ""} else _end_of_document(text)
    if end is None:
        return text
    same, _, others = text[end:].partition("\n")
    if _PROMPT.fullmatch(text[end:].strip()):
        return text[:end]
    is_rest = len(others) <= _REST_CHARACTERS_MAX and not same.strip() and not _DATA.search(others)
    return text[:end] if is_rest else text


def another_behind(text: str) -> bool:
    """Say whether a second JSON document follows the first one, which a shell loop may have appended."""
    end = _end_of_document(text)
    return end is not None and text[end:].lstrip().startswith("{")


def _end_of_document(text: str) -> int | None:
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return None
    return end + len(text) - len(text.lstrip())
