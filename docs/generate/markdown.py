"""Pieces of Markdown."""

from collections.abc import Callable, Iterable, Mapping

Tables = Mapping[str, Callable[[], str]]
"""What makes each table, by the name that its marker gives."""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table; a bar in a cell is escaped."""
    lines = [head, ("---",) * len(head), *(tuple(cell.replace("|", r"\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)
