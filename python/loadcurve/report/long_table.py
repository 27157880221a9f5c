"""The table of all figures: its first rows as they are on the page, the others as data until asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadcurve.analysis.curves import VerdictStatus
from loadcurve.report.appearance import Appearance
from loadcurve.report.charts.figure import Row
from loadcurve.report.columns import Columns, columns

MOST_ROWS = 100
"""This many rows are on the page from the first; a longer table would keep the browser busy unread."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number in the table: as read, as sorted, and its margin where it has one."""

    shown: str
    sort: float | None
    margin: str | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One server at one point."""

    server: str
    place: int
    """The place of its point in the list of all points."""
    settings: list[Cell]
    trials: Cell
    throughput: Cell
    latencies: list[Cell]
    resources: list[Cell]
    failed_requests: Cell
    verdict: VerdictStatus | None

    @property
    def figures(self) -> list[Cell]:
        """The cells between the server and the trials, in the order of the columns."""
        return [*self.settings, self.throughput, *self.latencies, *self.resources, self.failed_requests]


def rest_of(rows: Sequence[TableRow], looks: Mapping[str, Appearance]) -> dict[str, Any] | None:
    """Return the rows that are not on the page, for ``long_table.js``; ``None`` where all do."""
    rest = rows[MOST_ROWS:]
    if not rest:
        return None
    stored: Columns = columns([_row(row) for row in rest])
    servers = dict.fromkeys(row.server for row in rest)
    symbols = {name: {"outline": looks[name].outline, "colour": looks[name].colour} for name in servers}
    return {"figures": len(rest[0].figures), "symbols": symbols, "rows": stored}


def _row(row: TableRow) -> Row:
    cells = {
        f"{name}-{number}": value for number, cell in enumerate(row.figures) for name, value in _cell(cell)
    }
    trials = {f"{name}-trials": value for name, value in _cell(row.trials)}
    return {"server": row.server, "place": row.place, "verdict": row.verdict, **cells, **trials}


def _cell(cell: Cell) -> list[tuple[str, str | float | None]]:
    return [("shown", cell.shown), ("sort", cell.sort), ("margin", cell.margin)]
