"""What tables in the terminal have in common: how wide servers and points are, which columns break."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.table import Table
from rich.text import Text

from loadcurve.report import text

SERVER_WIDTH = 16
POINT_WIDTH = 14
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """A column by its heading, and how its cell is read from what a row is of."""

    title: str
    cell: Callable[[Item], str | Text]
    is_words: bool = False
    """Whether it is of words, which break into lines; of figures it is at the right, each on one line."""


def table_of(
    rows: Iterable[Item], columns: Sequence[Column[Item]], *, collapse_padding: bool = False
) -> Table:
    """Return a table without lines; with collapsed padding its columns are nearer to each other."""
    table = Table(box=None, pad_edge=False, collapse_padding=collapse_padding, header_style="dim")
    for one in columns:
        if one.is_words:
            table.add_column(one.title, overflow="fold")
        else:
            table.add_column(one.title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(one.cell(row) for one in columns))
    return table


def facts_table(facts: Iterable[tuple[str, str | None]]) -> Table:
    """Return names with their values, each as it is and not as markup; what has no value is left out."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(name, Text(value))
    return table


def figures_table(titles: list[str], rows: list[list[str]]) -> Table:
    """Return a table whose first column is the server and whose others are figures."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    server, *figures = titles
    table.add_column(server, max_width=SERVER_WIDTH, no_wrap=True, overflow="ellipsis")
    for title in figures:
        table.add_column(title, justify="right", overflow="fold", min_width=_longest_word(title))
    names = text.shortened((row[0] for row in rows), SERVER_WIDTH)
    for name, *cells in rows:
        table.add_row(*map(Text, [names[name], *cells]))
    return table


def add_point_column(table: Table, keys: Sequence[str], width: int = 0) -> None:
    """Add the column of :func:`text.point_values`, at least ``width`` wide; its heading breaks at spaces."""
    title = text.keys_title(keys)
    least = max(width, min(_longest_word(title), POINT_WIDTH))
    # A key is the user's word, so it is no markup.
    table.add_column(Text(title), justify="right", min_width=least, max_width=POINT_WIDTH, overflow="fold")


def _longest_word(title: str) -> int:
    return max(map(len, title.split()), default=0)
