"""Files with a JSON object on each line: read in blocks, by the types of what is used of them."""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars

from loadcurve.generate.tools.blocks import blocks
from loadcurve.generate.tools.source import Source, shown

Types = Mapping[str, Any]


def json_lines(
    source: Source, what: str, types: Types, required: tuple[str, ...]
) -> Iterator[polars.DataFrame]:
    """Yield the objects' members of these types, null where one lacks them; raises ``Unreadable``."""
    rows = 0
    with source.opened() as file:
        for line, block in blocks(source, file, 1, what, has_quotes=False):
            try:
                table = polars.read_ndjson(io.BytesIO(block), schema=dict(types))
            except (polars.exceptions.PolarsError, ValueError, OverflowError):
                table = None
            if table is None or any(table[name].null_count() for name in required):
                raise _problem(source, what, line, block, required)
            rows += len(table)
            yield table


def _problem(source: Source, what: str, line: int, block: bytes, required: tuple[str, ...]) -> Exception:
    """Return the error of the first line of a block that is no such object."""
    for number, text in enumerate(block.decode(errors="replace").split("\n"), start=line):
        if not text.strip():
            continue
        until_then = f"{number - 1:,} lines"
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return source.unreadable(number, f"invalid JSON: {shown(text)}", what, until_then)
        if not isinstance(found, dict):
            return source.unreadable(number, shown(text), f"an object, {what}", until_then)
        if missing := [name for name in required if found.get(name) is None]:
            return source.unreadable(number, f"an object without {missing[0]}", what, until_then)
    return source.unreadable(line, "members of other types", what, f"{line - 1:,} lines")
