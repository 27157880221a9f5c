"""Files with a JSON object on each line: read in blocks, by the types of what is used of them.

Lines that are no such object are left out.
"""

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars

from loadcurve.tools.blocks import blocks
from loadcurve.tools.figures import Unreadable
from loadcurve.tools.left_out import LeftOut
from loadcurve.tools.packed import require_plain
from loadcurve.tools.source import Source, shown

Types = Mapping[str, Any]
_Line = tuple[int, bytes]
"""With its number."""


def json_lines(
    source: Source, what: str, types: Types, required: tuple[str, ...], left_out: LeftOut
) -> Iterator[polars.DataFrame]:
    """Yield the objects' members of these types, null where one lacks them.

    Raises ``Unreadable`` where too many lines are left out.
    """
    with source.opened() as file:
        for first, block in blocks(source, file, 1, what, ends_lines=False, has_quotes=False):
            require_plain(source.name, first, block, what)
            table = _table(block, types, required)
            if table is None:
                lines = _Lines(source, what, types, required)
                table = lines.read(first, block, left_out)
            left_out.rows += len(table)
            left_out.require_few(so_far=True)
            yield table


def _table(block: bytes, types: Types, required: tuple[str, ...]) -> polars.DataFrame | None:
    """Return the objects of some lines; ``None`` where one of them is none, or lacks what is required."""
    try:
        table = polars.read_ndjson(io.BytesIO(block), schema=dict(types))
    except (polars.exceptions.PolarsError, ValueError, OverflowError):
        return None
    return None if any(table[name].null_count() for name in required) else table


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines that are looked at one by one, because they are no objects together."""

    source: Source
    what: str
    types: Types
    required: tuple[str, ...]

    def read(self, first: int, block: bytes, left_out: LeftOut) -> polars.DataFrame:
        lines = [
            (number, line) for number, line in enumerate(block.split(b"\n"), start=first) if line.strip()
        ]
        behind = None if block.endswith(b"\n") else first + block.count(b"\n")

        def leave_out(number: int, problem: Unreadable) -> None:
            (left_out.end if number == behind else left_out.line)(problem)

        kept = list(self._kept(lines, self._problem, leave_out))
        table = self._table(kept)
        if table is None:
            # Each is an object, so the members of one are of other types.
            kept = list(self._kept(kept, self._other_types, leave_out))
            table = self._table(kept)
        if table is None:
            raise self.source.unreadable(first, "members of other types", self.what, f"{first - 1:,} lines")
        return table

    @staticmethod
    def _kept(
        lines: Sequence[_Line],
        problem_of: Callable[[int, bytes], Unreadable | None],
        leave_out: Callable[[int, Unreadable], None],
    ) -> Iterator[_Line]:
        for number, line in lines:
            problem = problem_of(number, line)
            if problem is None:
                yield number, line
            else:
                leave_out(number, problem)

    def _table(self, lines: Sequence[_Line]) -> polars.DataFrame | None:
        if not lines:
            return polars.DataFrame(schema=dict(self.types))
        return _table(b"\n".join(line for _, line in lines), self.types, self.required)

    def _problem(self, number: int, line: bytes) -> Unreadable | None:
        """Return why a line is no such object."""
        read, text = f"{number - 1:,} lines", shown(line.decode(errors="replace"))
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return self.source.unreadable(number, f"invalid JSON: {text}", self.what, read)
        if not isinstance(found, dict):
            return self.source.unreadable(number, text, f"an object, {self.what}", read)
        if missing := [name for name in self.required if found.get(name) is None]:
            return self.source.unreadable(number, f"an object without {missing[0]}", self.what, read)
        return None

    def _other_types(self, number: int, line: bytes) -> Unreadable | None:
        if self._table([(number, line)]) is not None:
            return None
        found = f"members of other types: {shown(line.decode(errors='replace'))}"
        return self.source.unreadable(number, found, self.what, f"{number - 1:,} lines")
