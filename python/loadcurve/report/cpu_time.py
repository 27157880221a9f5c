"""Whose the time of CPUs was: strips for the page, a few rows for the terminal, a line for one load."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.cpu_time import DividedCpus
from loadcurve.report import text
from loadcurve.report.cpu_parts import cpus_in_words, in_words, known
from loadcurve.report.markdown import table_lines
from loadcurve.report.section import Report, Section
from loadcurve.result.cpu_time import PARTS

NAME_WIDTH = 16


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


def strips(analysis: Analysis) -> list[Strip]:
    """Return a bar for each side of each point of each server, as far as that is known."""
    return [_strip(one, analysis.keys) for one in analysis.cpu_times]


def _strip(one: DividedCpus, keys: Sequence[str]) -> Strip:
    parts, begin = [], 0.0
    for name, share in known(one.parts).items():
        width = round(100 * share, 2)
        parts.append((name, round(begin, 2), width))
        begin += width
    programs = ", ".join(program.text for program in one.programs)
    most = f"{one.others_most:.0%}"
    return Strip(
        server=one.server,
        at=[text.point_values(one.point, [key]) for key in keys],
        whose=f"{one.side}: {cpus_in_words(one.cpus)}",
        parts=parts,
        words=in_words(one.parts),
        softirq=f"{one.softirq_share:.0%}",
        others=f"{most}: {programs}" if programs else most,
    )


def cpu_time_in_terminal(analysis: Analysis) -> Table:
    """Return each server's point at which others took most, in %, which fits 80 columns."""
    # One space between columns: six parts are as many as 80 of them hold.
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("server", max_width=NAME_WIDTH, no_wrap=True, overflow="ellipsis")
    table.add_column(Text(text.keys_title(analysis.keys)), justify="right", overflow="fold", max_width=14)
    table.add_column("CPUs", no_wrap=True)
    for part in PARTS:
        table.add_column(part, justify="right", no_wrap=True)
    by_server: dict[str, list[DividedCpus]] = {}
    for one in analysis.cpu_times:
        by_server.setdefault(one.server, []).append(one)
    names = text.shortened(by_server, NAME_WIDTH)
    for server, found in by_server.items():
        worst = max(found, key=lambda one: one.others_most)
        for place, one in enumerate(one for one in found if one.point == worst.point):
            at = text.point_values(one.point, analysis.keys)
            shares = [
                units.ABSENT if (share := one.parts.get(part)) is None else f"{100 * share:.0f}"
                for part in PARTS
            ]
            name = Text(names[server] if place == 0 else "")
            table.add_row(name, at if place == 0 else "", one.side, *shares)
    return table


def _in_terminal(report: Report, _strips: Sequence[Strip]) -> Iterable[RenderableType]:
    title = "\nwhose CPU time it was, in %, where others took most"
    return [Text(title, style="bold"), cpu_time_in_terminal(report.analysis)]


def _in_markdown(report: Report, found: Sequence[Strip]) -> Iterable[str]:
    keys = map(text.key_title, report.analysis.keys)
    titles = ["server", *keys, "CPUs", "time", "others, in the trial with most"]
    rows = [[one.server, *one.at, one.whose, one.words, one.others] for one in found]
    return ["### Whose CPU time it was", table_lines(titles, rows)]


CPU_TIME: Section[list[Strip]] = Section(
    "cpu_times",
    "whose CPU time it was",
    lambda report: strips(report.analysis),
    [],
    page="cpu_time",
    terminal=_in_terminal,
    markdown=_in_markdown,
)
