"""A file with an object on each line, laid out anew, such as by jq: over several lines, or as lists."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

_BETWEEN: Final = re.compile(r"[ \t\r\n,\[\]]*")
_OF_LINES: Final = ("k6-json", "vegeta-json")
"""Formats with an object on each line."""
_DECODE: Final = json.JSONDecoder().raw_decode


def lines_of_objects(
    head: bytes, format_of: Callable[[bytes], str | None]
) -> Callable[[bytes], bytes] | None:
    """Return what puts each object of a file that begins so on a line; ``None`` where that is not needed.

    It is the line where the object began. What is not an object is kept, so that the reader reports it.
    """
    first, _, others = head.lstrip().partition(b"\n")
    if first.strip() not in {b"{", b"["} or not others.strip():
        return None
    _, some = next(_parts(head.decode(errors="replace")), (0, ""))
    return _on_lines if format_of(some.encode() + b"\n") in _OF_LINES else None


def _on_lines(data: bytes) -> bytes:
    text = data.decode(errors="surrogateescape")
    lines: list[str] = []
    counted, number = 0, 0
    for place, part in _parts(text):
        number += text.count("\n", counted, place)
        counted = place
        lines.extend([""] * (number - len(lines)))
        lines.extend(part.split("\n"))
    if lines and not _is_cut_off(lines[-1]):
        lines.append("")
    return "\n".join(lines).encode(errors="surrogateescape")


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield each object on one line, and other text as it is, with the places where they begin."""
    place = 0
    for begin, place in _objects(text):
        yield begin, _on_one_line(text[begin:place])
    first = _behind(text, 0)
    next_begin = "\n" + text[text.rfind("\n", 0, first) + 1 : first] + "{"
    place = _behind(text, place)
    while place < len(text):
        # Something is broken: each object is looked for where it would begin, and only until the next one.
        following = text.find(next_begin, place) + 1 or len(text)
        part, end = text[place:following], 0
        for begin, end in _objects(part):
            yield place + begin, _on_one_line(part[begin:end])
        end = _behind(part, end)
        if rest := part[end:].rstrip():
            yield place + end, _on_one_line(rest) if rest.startswith("{") else rest
        place = following


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each object begins and ends, until something else comes."""
    place = _behind(text, 0)
    while place < len(text):
        try:
            _, end = _DECODE(text, place)
        except (ValueError, RecursionError):
            return
        yield place, end
        place = _behind(text, end)


def _behind(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return place if found is None else found.end()


def _on_one_line(text: str) -> str:
    """Return a text of JSON on one line: its strings have no line ends."""
    return "".join(line.strip(" \t\r") for line in text.split("\n"))


def _is_cut_off(line: str) -> bool:
    """Say whether a line is an object that ends too early."""
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        is_at_end = error.pos >= len(line) or error.msg.startswith("Unterminated string")
        return line.startswith("{") and is_at_end
    except (ValueError, RecursionError):
        pass
    return False
