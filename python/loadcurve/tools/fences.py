"""What a tool printed, within the marks of Markdown or HTML: an issue, a mail or a page with it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

_FENCE: Final = re.compile(rb"([ \t]{0,12})(`{3,20}|~{3,20})[^`\r\n]{0,200}\r?")
_ELEMENT: Final = re.compile(rb"[ \t]{0,12}<pre(?: [^<>\n]{0,200})?>(?:<code(?: [^<>\n]{0,200})?>)?")
_ELEMENT_END: Final = re.compile(rb"(?:</code>)?</pre>")
_MARKS: Final = (b"```", b"~~~", b"<pre")


@dataclass(frozen=True, slots=True)
class _Block:
    begin: int
    """The place of the line that opens it."""
    lines: list[bytes]
    """With the rest of that line, empty behind a fence; the last one is empty where it has an end."""

    def alone(self) -> bytes:
        """Return it, behind as many blank lines as precede it, so that lines keep their numbers."""
        return b"\n" * self.begin + b"\n".join(self.lines)


def unfenced(head: bytes, is_known: Callable[[bytes], bool]) -> Callable[[bytes], bytes] | None:
    """Return what takes the only block of a text that is known out of it; ``None`` without one."""
    if not any(mark in head for mark in _MARKS):
        return None
    known = [block.begin for block in _blocks(head) if is_known(b"\n".join(block.lines))]
    return partial(_block_at, known[0]) if len(known) == 1 else None


def _block_at(begin: int, data: bytes) -> bytes:
    return next(block.alone() for block in _blocks(data) if block.begin == begin)


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
            yield _Block(begin, inside)
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
