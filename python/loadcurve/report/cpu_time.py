"""Whose the time of CPUs was: strips for the page, a few rows for the terminal, a line for one load."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.cpu_time import DividedCpus
from loadcurve.report import text
from loadcurve.report.column import NAMES, NO_TABLE, PAGE, SERVER_WIDTH, SERVERS, Column, Tabulated
from loadcurve.report.cpu_parts import cpus_in_words, in_words, known
from loadcurve.report.markdown import tabulated
from loadcurve.report.section import Report, Section
from loadcurve.report.terminal_tables import POINT_WIDTH, column_table
from loadcurve.result.cpu_time import PARTS


@dataclass(frozen=True, slots=True)
class Strip:
    """One bar of stacked parts."""

    server: str
    at: list[str]
    """The settings of its point."""
    whose: str
    parts: list[tuple[str, float, float]]
    """Name, where it begins and how wide it is, both of 100."""
    words: str
    """The same as a text, for who does not see the bar."""
    softirq: str
    others: str
    """The largest share of others in any trial, with the programs that used most."""


def strips(analysis: Analysis) -> Tabulated[Strip]:
    """Return a bar for each side of each point of each server, as far as that is known."""
    columns: list[Column[Strip]] = [
        Column("server", lambda one: one.server, on_page="server"),
        *(Column(text.key_title(key), partial(_setting, place)) for place, key in enumerate(analysis.keys)),
        Column("CPUs", lambda one: one.whose, on_page="words"),
        Column("time", lambda one: one.words, on_page="parts"),
        Column("soft interrupts", lambda one: one.softirq, forms=PAGE),
        Column("others, in the trial with most", lambda one: one.others, on_page="prose"),
    ]
    return Tabulated(columns, [_strip(one, analysis.keys) for one in analysis.cpu_times])


def _strip(one: DividedCpus, keys: Sequence[str]) -> Strip:
    parts, begin = [], 0.0
    for name, share in known(one.parts).items():
        width = round(100 * share, 2)
        parts.append((name, round(begin, 2), width))
        begin += width
    programs = ", ".join(program.text for program in one.programs)
    most = units.whole_percent(one.others_most)
    return Strip(
        server=one.server,
        at=[text.point_values(one.point, [key]) for key in keys],
        whose=f"{one.side}: {cpus_in_words(one.cpus)}",
        parts=parts,
        words=in_words(one.parts),
        softirq=units.whole_percent(one.softirq_share),
        others=f"{most}: {programs}" if programs else most,
    )


def cpu_time_in_terminal(analysis: Analysis) -> Table:
    """Return each server's point at which others took most, in %, which fits 80 columns."""
    by_server: dict[str, list[DividedCpus]] = {}
    for one in analysis.cpu_times:
        by_server.setdefault(one.server, []).append(one)
    names = text.shortened(by_server, SERVER_WIDTH)
    rows: list[_Side] = []
    for found in by_server.values():
        worst = max(found, key=lambda one: one.others_most)
        sides = [one for one in found if one.point == worst.point]
        rows += [_Side(one, is_first=one is sides[0]) for one in sides]
    columns: list[Column[_Side]] = [
        Column("server", lambda row: names[row.of.server] if row.is_first else "", SERVERS),
        Column(
            text.keys_title(analysis.keys),
            lambda row: text.point_values(row.of.point, analysis.keys) if row.is_first else "",
            {"justify": "right", "overflow": "fold", "max_width": POINT_WIDTH},
        ),
        Column("CPUs", lambda row: row.of.side, NAMES),
        *(Column(part, partial(_percent, part)) for part in PARTS),
    ]
    # One space between columns: six parts are as many as 80 of them hold.
    return column_table(rows, columns, gap=1)


class _Side(NamedTuple):
    """A row in the terminal; the first of a server names it."""

    of: DividedCpus
    is_first: bool


def _percent(part: str, row: _Side) -> str:
    share = row.of.parts.get(part)
    return units.ABSENT if share is None else f"{100 * share:.0f}"


def _in_terminal(report: Report, _strips: Tabulated[Strip]) -> Iterable[RenderableType]:
    title = "\nwhose CPU time it was, in %, where others took most"
    return [Text(title, style="bold"), cpu_time_in_terminal(report.analysis)]


def _setting(place: int, one: Strip) -> str:
    return one.at[place]


CPU_TIME: Section[Tabulated[Strip]] = Section(
    "cpu_times",
    "whose CPU time it was",
    lambda report: strips(report.analysis),
    NO_TABLE,
    page="cpu_time",
    terminal=_in_terminal,
    markdown=lambda _, found: [tabulated(found)],
)
