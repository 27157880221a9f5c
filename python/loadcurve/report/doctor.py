"""What the doctor says, for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadcurve import units
from loadcurve.host.fitness import Check, Fitness
from loadcurve.protocol import has_streams
from loadcurve.report.column import WORDS, Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.measures import MEASURES
from loadcurve.result.rig import (
    Ceiling,
    CeilingPoint,
    MachinesCeiling,
    MachinesCeilingPoint,
    Noise,
    NoiseSpread,
)
from loadcurve.stats.noise import Spread, visible_difference

_STYLES: dict[Fitness, str] = {"good": "green", "caution": "yellow", "bad": "red", "unknown": "dim"}


def check_lines(check: Check) -> RenderableType:
    """Return one check: its fitness and what was found, why it matters, and how to mend it."""
    heading = Table.grid(padding=(0, 1))
    heading.add_column(width=max(map(len, _STYLES)))
    heading.add_column()
    heading.add_row(
        Text(check.fitness, style=_STYLES[check.fitness]),
        Text.assemble((check.topic, "bold"), ": ", check.found),
    )
    more = Text(check.why, style="dim")
    if check.remedy is not None:
        more.append(f"\n$ {check.remedy}", style="not dim")
    return Group(heading, Padding(more, (0, 0, 0, max(map(len, _STYLES)) + 1)))


@dataclass(frozen=True)
class Programs:
    """Programs of one kind, and why they matter."""

    title: str
    why: str
    present: Sequence[str]
    absent: Mapping[str, str | None]
    """By name the command that installs each, where one is known."""


def programs_lines(programs: Programs) -> RenderableType:
    """Return which programs are installed, which are not, and how to install these."""
    lines = Text.assemble((programs.title, "bold"), ": ", ", ".join(programs.present) or "none")
    if programs.absent:
        lines.append("; not installed: " + ", ".join(programs.absent), style="dim")
    lines.append(f"\n{programs.why}", style="dim")
    for command in dict.fromkeys(filter(None, programs.absent.values())):
        of = ", ".join(name for name, one in programs.absent.items() if one == command)
        lines.append(f"\n$ {command}").append(f"  # {of}", style="dim")
    return Padding(lines, (0, 0, 0, max(map(len, _STYLES)) + 1))


def ceiling_tables(ceiling: Ceiling) -> RenderableType:
    """Return the ceilings of each generator and all that it spoke, by connections and streams."""
    parts: list[RenderableType] = []
    for sender, spoken in dict.fromkeys((point.sender, point.spoken) for point in ceiling.points):
        points = [point for point in ceiling.points if (point.sender, point.spoken) == (sender, spoken)]
        title = ", ".join(filter(None, (sender.title, spoken.title)))
        parts += [Text(title), _ceiling_table(points, with_streams=has_streams(spoken.http))]
    return Group(*parts)


def machines_ceiling_table(ceiling: MachinesCeiling) -> RenderableType:
    """Return what more and more load machines reach, and what that says of the first."""
    one = ceiling.points[0]
    columns: list[Column[MachinesCeilingPoint]] = [
        Column("load machines", lambda point: ", ".join(point.machines), WORDS),
        Column("requests/s", lambda point: units.whole(point.requests_per_s)),
        Column("lowest", lambda point: units.whole(point.lowest_requests_per_s)),
        Column("highest", lambda point: units.whole(point.highest_requests_per_s)),
        Column("of one", lambda point: f"{point.requests_per_s / one.requests_per_s:.2f}"),
        Column("busiest CPU", lambda point: units.whole_percent(point.generator_cpu_share)),
    ]
    table = column_table(ceiling.points, columns, collapse_padding=True)
    return Group(table, Text(_of_machines(ceiling)))


def _of_machines(ceiling: MachinesCeiling) -> str:
    """Return what the ceilings of several machines say, in words."""
    one, enough, last = ceiling.points[0], ceiling.enough, ceiling.points[-1]
    if last is one:
        return "one machine alone does not show whether it is the limit: name at least two"
    if enough is one:
        return (
            "more machines reached no more than the first one, within the spread of its loads: the limit "
            "is the server or the network, not that machine"
        )
    more = f"{enough.requests_per_s / one.requests_per_s:.2f} times what the first reached"
    if enough is last:
        return (
            f"{len(last.machines)} machines reached {more}: fewer machines are the limit, and these may be "
            "the limit, too"
        )
    count = len(enough.machines)
    return (
        f"{count} machines reached {more}, and more machines did not raise it: {count} are enough for this "
        "server"
    )


def _ceiling_table(points: Sequence[CeilingPoint], *, with_streams: bool) -> Table:
    streams: Column[CeilingPoint] = Column("streams", lambda point: f"{point.streams:,}")
    columns: list[Column[CeilingPoint]] = [
        Column("connections", lambda point: f"{point.connections:,}"),
        *([streams] if with_streams else []),
        Column("requests/s", lambda point: units.whole(point.requests_per_s)),
        Column("lowest", lambda point: units.whole(point.lowest_requests_per_s)),
        Column("highest", lambda point: units.whole(point.highest_requests_per_s)),
        Column("p50 ms", lambda point: units.number(point.p50_ms)),
        Column("p99 ms", lambda point: units.number(point.p99_ms)),
        Column("generator's CPU", lambda point: units.whole_percent(point.generator_cpu_share)),
    ]
    return column_table(points, columns, collapse_padding=True)


NOISE_TRIALS = (3, 5, 10, 20)
"""The numbers of trials for which the smallest visible difference is given."""


def noise_table(noise: Noise) -> Table:
    """Return the smallest differences that each number of trials can see, with the spread's intervals."""
    of_measures = [
        Column(MEASURES[name].title, partial(_visible, spread))
        for name, spread in noise.spreads.items()
        if name in MEASURES
    ]
    return column_table(NOISE_TRIALS, [Column("trials", str), *of_measures])


def _visible(spread: NoiseSpread, trials: int) -> str:
    found = visible_difference(Spread(spread.log_ratio_sd, spread.degrees_of_freedom), trials)
    return f"{units.percent(found.value)} ({units.percent(found.low)} to {units.percent(found.high)})"
