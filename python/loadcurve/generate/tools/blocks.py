"""Large files in blocks of whole lines, which bound what reading one takes."""

from collections.abc import Iterator
from typing import BinaryIO

from loadcurve.generate.tools.source import Source

BLOCK_BYTES = 16 * 2**20
LINE_BYTES_MAX = 2**20


def blocks(
    source: Source, file: BinaryIO, first: int, what: str, *, ends_lines: bool = True, has_quotes: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, with the number of the first; raises ``Unreadable`` where the last is cut off.

    ``has_quotes`` says whether a line may end within quotes, which then goes on.
    """
    rest, line = b"", first
    while chunk := file.read(BLOCK_BYTES):
        data = rest + chunk
        end = _end_of_lines(data, has_quotes=has_quotes)
        if not end and len(data) > LINE_BYTES_MAX + BLOCK_BYTES:
            raise source.unreadable(line, "a line or a text in quotes that does not end", what)
        rest = data[end:]
        if end:
            yield line, data[:end]
            line += data.count(b"\n", 0, end)
    if not rest:
        return
    if ends_lines:
        raise source.unreadable(
            line + rest.count(b"\n"),
            "the end of the file within a line: it is truncated, or its tool ended halfway",
            what,
            f"{line - first:,} lines",
        )
    yield line, rest + b"\n"


def _end_of_lines(data: bytes, *, has_quotes: bool) -> int:
    """Return where the last whole line ends; an end within quotes is none."""
    end = data.rfind(b"\n") + 1
    quotes = data.count(b'"', 0, end) if has_quotes else 0
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end
