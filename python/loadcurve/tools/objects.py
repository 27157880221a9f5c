"""A file with an object on each line, laid out anew, such as by jq: over several lines, or as a list."""

import json
from collections.abc import Callable, Iterator
from typing import Final

_BETWEEN: Final = " \t\r\n,"
_OF_LINES: Final = ("k6-json", "vegeta-json")
"""Formats with an object on each line."""


def lines_of_objects(
    head: bytes, format_of: Callable[[bytes], str | None]
) -> Callable[[bytes], bytes] | None:
    """Return what puts each object of a file that begins so on a line; ``None`` where they are, or none is.

    What cannot be read behind the last object is kept, on a line of itself.
    """
    first, _, others = head.lstrip().partition(b"\n")
    if first.strip() not in {b"{", b"["} or not others.strip():
        return None
    some = next(_objects(head.decode(errors="replace")), "")
    return _on_lines if format_of(some.encode() + b"\n") in _OF_LINES else None


def _on_lines(data: bytes) -> bytes:
    return "".join(line + "\n" for line in _objects(data.decode(errors="surrogateescape"))).encode(
        errors="surrogateescape"
    )


def _objects(text: str) -> Iterator[str]:
    decode = json.JSONDecoder().raw_decode
    place = _behind(text, 0, _BETWEEN + "[")
    while place < len(text) and text[place] != "]":
        try:
            found, end = decode(text, place)
        except (ValueError, RecursionError):
            yield text[place:].split("\n", 1)[0]
            return
        yield json.dumps(found, separators=(",", ":"))
        place = _behind(text, end, _BETWEEN)


def _behind(text: str, place: int, characters: str) -> int:
    while place < len(text) and text[place] in characters:
        place += 1
    return place
