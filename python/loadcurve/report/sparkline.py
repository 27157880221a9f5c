"""Each server's curve in a line of text, for a terminal of 80 columns."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from loadcurve import units
from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.curves import Curve, CurvePoint, points_in
from loadcurve.analysis.sweep import Slice, slices
from loadcurve.report import text
from loadcurve.report.column import NAMES, SERVER_WIDTH, SERVERS, Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.measures import MEASURES, THROUGHPUT
from loadcurve.stats.interval import Estimate

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_LEVELS = "_.-~=+*#"
"""Rising levels for an output that has no blocks."""
GAP = " "
"""Shown where nothing was measured."""

FEWEST_POINTS = 3
"""Two points are no curve."""
MOST_POINTS = 14
"""A line has at most this many characters: the first and the last point, and points evenly between them. The
least and the most in its row are those of all points."""

Values = Sequence[float | None]


def sparkline(values: Values, low: float, high: float, levels: str) -> str:
    """Return one character for each value, the first of ``levels`` at ``low`` and the last at ``high``."""
    span = high - low
    return "".join(
        GAP if value is None else levels[round((value - low) / span * (len(levels) - 1)) if span > 0 else 0]
        for value in values
    )


@dataclass(frozen=True, slots=True)
class Sparklines:
    """Throughput and p99 of every server along one slice of the sweep, on one scale for all servers.

    Throughput rises from zero, and p99 on a logarithmic scale from the least of any server.
    """

    rate_title: str
    part: Slice
    throughput_rps: dict[str, Values]
    p99_ms: dict[str, Values]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw with blocks, or with ASCII where the output has nothing else."""
        levels = ASCII_LEVELS if options.ascii_only else BLOCKS
        note = f", {text.point(self.part.fixed)}" if self.part.fixed else ""
        ends = [units.setting(end) for end in (self.part.values[0], self.part.values[-1])]
        yield Text(f"\nalong {text.axis_title(self.part.key)}, {ends[0]} to {ends[1]}{note}", style="bold")
        greatest_rps = max(_known(self.throughput_rps.values()), default=0.0)
        logarithms = {server: list(map(_logarithm, values)) for server, values in self.p99_ms.items()}
        known = _known(logarithms.values())
        low, high = min(known, default=0.0), max(known, default=0.0)
        names = text.shortened(self.throughput_rps, SERVER_WIDTH)
        rates = self.throughput_rps

        def line(values: Values, low: float, high: float) -> str:
            return sparkline(text.evenly(values, MOST_POINTS), low, high, levels)

        columns: list[Column[str]] = [
            Column("server", lambda server: names[server], SERVERS),
            Column(self.rate_title, lambda server: line(rates[server], 0, greatest_rps), NAMES),
            Column("most", lambda server: units.number(max(_known([rates[server]]), default=None))),
            Column("p99 ms", lambda server: line(logarithms[server], low, high), NAMES),
            Column("least", lambda server: units.number(min(_known([self.p99_ms[server]]), default=None))),
            Column("most", lambda server: units.number(max(_known([self.p99_ms[server]]), default=None))),
        ]
        yield column_table(rates, columns)


def sparklines(analysis: Analysis) -> list[Sparklines]:
    """Return the curves of each slice of the sweep; a server without usable points has none.

    A search has none at all, for each of its trials measures other points.
    """
    if analysis.is_search:
        return []
    return [
        Sparklines(
            analysis.load_kind.per_second,
            part,
            {server: [_value(at.estimate(THROUGHPUT)) for at in points] for server, points in shown.items()},
            {
                server: [_value(at.estimate(MEASURES["p99"])) for at in points]
                for server, points in shown.items()
            },
        )
        for part in slices(analysis.points)
        if len(part.values) >= FEWEST_POINTS and (shown := _measured(part, analysis.curves))
    ]


def _measured(part: Slice, curves: Sequence[Curve]) -> dict[str, list[CurvePoint]]:
    shown = {}
    for curve in curves:
        points = points_in(curve, part.rising)
        if any(point.usable for point in points):
            shown[curve.server] = points
    return shown


def _value(estimate: Estimate | None) -> float | None:
    return estimate.value if estimate else None


def _logarithm(value: float | None) -> float | None:
    return math.log(value) if value else None


def _known(lines: Iterable[Values]) -> list[float]:
    return [value for values in lines for value in values if value is not None]
