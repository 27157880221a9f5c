"""Blocks of Markdown in GitHub's flavour, in which every text of a run is escaped."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from loadcurve.report.column import Column, Tabulated, words_of

Item = TypeVar("Item")
_SPECIAL = re.compile(r"[\\`*_\[\]<>~|$&]")
_BEGINS_A_BLOCK = re.compile(r"^(?:[-+=:#]+(?=\s|$)|\d+(?=[.)](?:\s|$)))")
_BECOMES_A_LINK = re.compile(r"(?<=[a-zA-Z])://|(?<=\b[wW]{3})\.")
_MENTION = re.compile(r"[@#](?=\w)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def escaped(words: str) -> str:
    """Return words that GitHub shows as they are: no markup, no link, nobody is mentioned; one line.

    An empty comment keeps ``@name`` and ``#1`` from being links to a person and an issue, which no backslash
    does.
    """
    line = " ".join(words.split())
    line = _SPECIAL.sub(lambda found: _ENTITIES.get(found[0], "\\" + found[0]), line)
    line = _BEGINS_A_BLOCK.sub(_unblocked, line)
    line = _BECOMES_A_LINK.sub(lambda found: "\\" + found[0], line)
    return _MENTION.sub(lambda found: f"{found[0]}<!-- -->", line)


def _unblocked(found: re.Match[str]) -> str:
    begins = found[0]
    return f"{begins}\\" if begins.isdigit() else f"\\{begins}"


def listed(sentences: Iterable[str]) -> list[str]:
    """Return a list of sentences as one block; nothing where there are none."""
    lines = [f"- {sentence}" for sentence in sentences]
    return ["\n".join(lines)] if lines else []


def table_lines(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column holds words and whose others hold figures."""
    marks = "|".join([" --- ", *[" ---: "] * (len(titles) - 1)])
    return "\n".join([_line(titles), f"|{marks}|", *map(_line, rows)])


def table_of_words(rows: Iterable[Item], columns: Sequence[Column[Item]]) -> str:
    """Return such a table of columns."""
    cells = ([words_of(column.cell(row)) for column in columns] for row in rows)
    return table_lines([column.heading for column in columns], cells)


def tabulated(table: Tabulated[Item]) -> str:
    """Return the rows of a table in the columns that Markdown has of it."""
    return table_of_words(table.rows, table.on("markdown"))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def code_block(words: str) -> str:
    """Return a block of code, fenced by more backticks than any that it holds."""
    longest = max(map(len, re.findall(r"`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{words}\n{fence}"
