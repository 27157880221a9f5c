"""What tables in the terminal have in common: how wide servers and points are, which columns break."""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.report import text
from loadcurve.report.column import SERVER_WIDTH, SERVERS, Cell, Column, Layout

POINT_WIDTH = 14
Item = TypeVar("Item")


CHARACTERS_MAX = 16_384
"""Of one text: a terminal shows no more, and folding a text of a million characters takes a second."""


def as_it_is(words: str) -> Text:
    """Return words as they are and not as markup; what is longer than anybody reads ends in dots."""
    return Text(units.cut(words, CHARACTERS_MAX))


def bounded(shown: RenderableType) -> RenderableType:
    """Return what is shown, in which texts that are longer than anybody reads end in dots."""
    if isinstance(shown, Group):
        return Group(*map(bounded, shown.renderables))
    if not isinstance(shown, Text) or len(shown) <= CHARACTERS_MAX:
        return shown
    short = shown.copy()
    short.right_crop(len(short) - CHARACTERS_MAX + 1)
    return short.append("…")


def column_table(
    rows: Iterable[Item],
    columns: Sequence[Column[Item]],
    *,
    collapse_padding: bool = False,
    gap: int = 2,
    show_header: bool = True,
) -> Table:
    """Return a table without lines, whose titles and cells are shown as they are and not as markup.

    Between two columns are ``gap`` spaces, or half as many with collapsed padding.
    """
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, gap - 1, 0, 1),
        collapse_padding=collapse_padding,
        header_style="dim",
        show_header=show_header,
    )
    for one in columns:
        table.add_column(Text(one.heading), **one.layout)
    for row in rows:
        table.add_row(*(_shown(one.cell(row)) for one in columns))
    return table


def _shown(cell: str | Text | Cell) -> Text:
    """Return a cell of a terminal, which has no room for margins."""
    if isinstance(cell, Text):
        return cell
    return as_it_is(cell.shown if isinstance(cell, Cell) else cell)


def facts_table(facts: Iterable[tuple[str, str | None]]) -> Table:
    """Return names with their values, each as it is and not as markup; what has no value is left out."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(name, as_it_is(value))
    return table


def lines_by_server(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table of servers, each with a few lines beside its name."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    listed = list(rows)
    names = text.shortened([server for server, _ in listed], SERVER_WIDTH)
    for server, lines in listed:
        table.add_row(Text(names[server]), as_it_is(lines))
    return table


def figures_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table whose first column is the server and whose others are figures."""
    names = text.shortened((row[0] for row in rows), SERVER_WIDTH)
    figures: list[Column[Sequence[str]]] = [
        Column(
            title,
            itemgetter(place),
            {"justify": "right", "overflow": "fold", "min_width": _longest_word(title)},
        )
        for place, title in enumerate(titles[1:], 1)
    ]
    return column_table(rows, [Column(titles[0], lambda row: names[row[0]], SERVERS), *figures])


def server_column(rows: Iterable[Item], server_of: Callable[[Item], str]) -> Column[Item]:
    """Return the column of the server of each row, by a short name that no other server of the table has."""
    names = text.shortened(map(server_of, rows), SERVER_WIDTH)
    return Column("server", lambda row: names[server_of(row)], SERVERS)


def point_column(keys: Sequence[str], cell: Callable[[Item], str], width: int = 0) -> Column[Item]:
    """Return the column of :func:`text.point_values`, at least ``width`` wide; its heading may break."""
    title = text.keys_title(keys)
    least = max(width, min(_longest_word(title), POINT_WIDTH))
    layout: Layout = {"justify": "right", "overflow": "fold", "min_width": least, "max_width": POINT_WIDTH}
    return Column(title, cell, layout)


def _longest_word(title: str) -> int:
    return max(map(len, title.split()), default=0)
