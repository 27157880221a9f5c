"""What a tool printed, within the marks of Markdown or HTML: an issue, a mail or a page with it."""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from loadcurve.tools.copies import NotOneError

_FENCE: Final = re.compile(rb"([ \t]{0,12})(`{3,20}|~{3,20})[^`\r\n]{0,200}\r?")
_ELEMENT: Final = re.compile(rb"[ \t]{0,12}<pre(?: [^<>\n]{0,200})?>(?:<code(?: [^<>\n]{0,200})?>)?")
_ELEMENT_END: Final = re.compile(rb"(?:</code>)?</pre>")
_MARKS: Final = (b"```", b"~~~", b"<pre")
_ENTITY: Final = re.compile(rb"&(?:#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{0,30});")
_BEGIN_BYTES: Final = 64 * 2**10
"""By which the output of a tool is recognised."""
_BLOCKS_MAX: Final = 1_000
"""Of a page; recognising what is in one takes about a millisecond."""


@dataclass(frozen=True, slots=True)
class _Block:
    begin: int
    """The place of the line that opens it."""
    lines: list[bytes]
    """With the rest of that line, empty behind a fence; the last one is empty where it has an end."""

    def alone(self) -> bytes:
        """Return it, behind as many blank lines as precede it, so that lines keep their numbers."""
        return b"\n" * self.begin + b"\n".join(self.lines)

    def head(self) -> bytes:
        """Return its start, by which it is recognised."""
        return b"\n".join(self.lines)[:_BEGIN_BYTES]


@dataclass(frozen=True, slots=True)
class OnlyBlock:
    """Takes the only block of a text that is known out of it."""

    begin: int
    is_known: Callable[[bytes], bool]

    def __call__(self, data: bytes) -> bytes:
        """Return it; the text where it is not there; raises ``NotOneError`` where another one is known."""
        taken = data
        for count, block in enumerate(_blocks(data)):
            if count > _BLOCKS_MAX:
                found = f"more than {_BLOCKS_MAX:,} blocks"
                raise NotOneError(block.begin + 1, found, "a page with the output of a load generator")
            if block.begin == self.begin:
                taken = block.alone()
            elif self.is_known(block.head()):
                found = "another block with the output of a load generator"
                raise NotOneError(block.begin + 1, found, "one; split the file into one per load")
        return taken


def unfenced(head: bytes, is_known: Callable[[bytes], bool]) -> OnlyBlock | None:
    """Return what takes the only block of a text that is known out of it; ``None`` without one.

    It raises ``NotOneError`` where there are several.
    """
    if not any(mark in head for mark in _MARKS):
        return None
    first = next((block for block in islice(_blocks(head), _BLOCKS_MAX) if is_known(block.head())), None)
    return None if first is None else OnlyBlock(first.begin, is_known)


def is_mark(line: bytes) -> bool:
    """Say whether a line begins or ends a block."""
    bare = line.strip()
    return any(one.fullmatch(bare) for one in (_FENCE, _ELEMENT, _ELEMENT_END))


def _blocks(data: bytes) -> Iterator[_Block]:
    lines = data.split(b"\n")
    place = 0
    while place < len(lines):
        begin = place
        if fence := _FENCE.fullmatch(lines[place]):
            inside, place = _until_fence(lines, place + 1, fence)
            yield _Block(begin, [b"", *inside])
        elif element := _ELEMENT.match(lines[place]):
            inside, place = _until_element(lines, place, element.end())
            yield _Block(begin, _unescaped(inside))
        place += 1


def _until_fence(lines: list[bytes], place: int, fence: re.Match[bytes]) -> tuple[list[bytes], int]:
    """Return the lines until the end of a block, or of the text, without its indentation, and that place."""
    indent, mark = fence.groups()
    inside: list[bytes] = []
    while place < len(lines):
        bare = lines[place].strip()
        if bare.startswith(mark) and not bare.strip(mark[:1]):
            return [*inside, b""], place
        inside.append(lines[place].removeprefix(indent))
        place += 1
    return inside, place


def _until_element(lines: list[bytes], place: int, begin: int) -> tuple[list[bytes], int]:
    inside: list[bytes] = []
    while place < len(lines):
        line = lines[place][begin:]
        if end := _ELEMENT_END.search(line):
            last = line[: end.start()]
            return [*inside, last, b""] if last else [*inside, b""], place
        inside.append(line)
        place, begin = place + 1, 0
    return inside, place


def _unescaped(lines: list[bytes]) -> list[bytes]:
    """Return the lines of an element with the characters that their entities stand for.

    Where there is a "<" in it, they were put into the page as they are: XML has entities of its own.
    """
    if not any(b"&" in line for line in lines) or any(b"<" in line for line in lines):
        return lines
    return [_ENTITY.sub(_character, line) for line in lines]


def _character(entity: re.Match[bytes]) -> bytes:
    character = html.unescape(entity[0].decode())
    # One that ends a line would give those behind it other numbers.
    return (
        character.encode(errors="replace") if character.isprintable() or character == "\u00a0" else entity[0]
    )
