"""Large files in blocks of whole lines, which bound what reading one takes."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import BinaryIO, TypeVar

import loadcurve._engine as native
from loadcurve.tools.source import Source

BLOCK_BYTES = 4 * 2**20
"""What is read at once: what is made of it stays in memory that was used before, and mostly in caches."""
LINE_BYTES_MAX = 2**20

Item = TypeVar("Item")
Made = TypeVar("Made")


def blocks(
    source: Source, file: BinaryIO, first: int, what: str, *, ends_lines: bool = True, has_quotes: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, with the number of the first; raises ``Unreadable`` where the last is cut off.

    Without ``ends_lines`` the last one is yielded by itself, as it is. ``has_quotes`` says whether a line may
    end within quotes, which continues; a quote that no following line closes opens nothing. While a block
    is used, a second thread reads the one after it.
    """
    return ahead(_blocks(source, file, first, what, ends_lines=ends_lines, has_quotes=has_quotes))


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items, none of them ``None``; while one is used, a second thread makes the one after it."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        following = executor.submit(next, items, None)
        while (item := following.result()) is not None:
            following = executor.submit(next, items, None)
            yield item


def made_ahead(make: Callable[[Item], Made], items: Iterator[Item], threads: int) -> Iterator[Made]:
    """Yield what is made of each item, in their order; while one is used, threads make as many after it.

    An error of an item is raised in its place.
    """
    with ThreadPoolExecutor(max_workers=threads) as executor:
        under_way: deque[Future[Made]] = deque()

        def start() -> None:
            try:
                under_way.extend(executor.submit(make, item) for item in islice(items, 1))
            except Exception as error:  # noqa: BLE001 # It is raised behind what was read before.
                under_way.append(Future())
                under_way[-1].set_exception(error)

        for _ in range(threads):
            start()
        while under_way:
            made = under_way.popleft().result()
            start()
            yield made


def _blocks(
    source: Source, file: BinaryIO, first: int, what: str, *, ends_lines: bool, has_quotes: bool
) -> Iterator[tuple[int, bytes]]:
    rest, line = b"", first
    while chunk := file.read(BLOCK_BYTES):
        data = rest + chunk if rest else chunk
        del chunk
        end = _end_of_lines(data, has_quotes=has_quotes)
        if not end and len(data) > LINE_BYTES_MAX + BLOCK_BYTES:
            end = data.rfind(b"\n") + 1
            if not end:
                raise source.unreadable(line, "a line that does not end", what)
        rest = data[end:]
        if end:
            lines = count_of("\n", data, end)
            yield line, data[:end]
            line += lines
    if not rest:
        return
    if not ends_lines and (end := rest.rfind(b"\n") + 1):
        # A text in quotes that is not closed until the end of the file.
        yield line, rest[:end]
        line, rest = line + count_of("\n", rest, end), rest[end:]
    if ends_lines:
        raise source.unreadable(
            line + rest.count(b"\n"),
            "the end of the file within a line: it is truncated, or its tool ended halfway",
            what,
            f"{line - first:,} lines",
        )
    if rest:
        yield line, rest


def count_of(character: str, data: bytes, end: int | None = None) -> int:
    """Return how often an ASCII character occurs in a block, before ``end``."""
    return native.count_of(ord(character), data, end)


def _end_of_lines(data: bytes, *, has_quotes: bool) -> int:
    """Return where the last whole line ends; an end within quotes is none."""
    end = data.rfind(b"\n") + 1
    quotes = count_of('"', data, end) if has_quotes and b'"' in data else 0
    while end and quotes % 2:
        before = data.rfind(b"\n", 0, end - 1) + 1
        quotes -= data.count(b'"', before, end)
        end = before
    return end
