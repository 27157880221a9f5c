"""The distribution of one load's latency as bars of text, for a terminal of 80 columns."""

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult

from loadcurve import units
from loadcurve._engine import percentile_curve
from loadcurve.report.column import Column
from loadcurve.report.terminal_tables import column_table
from loadcurve.result.load import LoadResult

MOST_CLASSES = 10
LEAST_RATIO = 1.2
"""A class ends at this many times its start or more: of a narrow distribution there are fewer classes."""
BAR_WIDTH = 32
EIGHTHS = " ▏▎▍▌▋▊▉"
FULL = "█"
ASCII_FULL, ASCII_PART = "#", "."


@dataclass(frozen=True, slots=True)
class LatencyClass:
    """The number of requests that took longer than ``above_ms``, and at most ``up_to_ms``."""

    above_ms: float
    up_to_ms: float
    count: int


@dataclass(frozen=True, slots=True)
class LatencyBars:
    """A bar for each class; all classes are equally wide on a logarithmic axis."""

    classes: list[LatencyClass]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw in eighths of a block, or with ASCII where the output has nothing else."""
        total = sum(one.count for one in self.classes)
        most = max(one.count for one in self.classes)
        columns: list[Column[LatencyClass]] = [
            Column(
                "latency, ms", lambda one: f"{units.number(one.above_ms)} to {units.number(one.up_to_ms)}"
            ),
            Column("count", lambda one: f"{one.count:,}"),
            Column("share", lambda one: units.percent_in_column(one.count / total)),
            Column(
                "",
                lambda one: bar(one.count / most, ascii_only=options.ascii_only),
                {"no_wrap": True, "overflow": "crop"},
            ),
        ]
        yield column_table(self.classes, columns)


def latency_bars(result: LoadResult) -> LatencyBars | None:
    """Return the bars of a load's latency; ``None`` where nothing was answered or no histogram is known."""
    count, histogram = result.latency_ms.count, result.histograms.latency
    if not count or histogram is None:
        return None
    classes = latency_classes(percentile_curve([histogram]), count)
    return LatencyBars(classes) if classes else None


def latency_classes(curve: Sequence[tuple[float, float]], count: int) -> list[LatencyClass]:
    """Return the classes of ``count`` requests, from rising pairs of percentile (0 to 100) and ms.

    The first class begins below the shortest time above zero, and the last ends with the longest.
    """
    times_ms = [time_ms for _, time_ms in curve if time_ms > 0]
    if not times_ms:
        return []
    low, high = times_ms[0] / LEAST_RATIO, times_ms[-1]
    number = 1
    while number < MOST_CLASSES and (high / low) ** (1 / (number + 1)) >= LEAST_RATIO:
        number += 1
    bounds = [low * (high / low) ** (step / number) for step in range(number)] + [high]
    # Requests up to a time, rounded as a whole, so that the classes add up to all of them.
    up_to = [0] * len(bounds)
    for percentile, time_ms in curve:
        up_to[max(1, bisect.bisect_left(bounds, time_ms))] = round(count * percentile / 100)
    so_far = list(itertools.accumulate(up_to, max))
    steps = zip(itertools.pairwise(bounds), itertools.pairwise(so_far), strict=True)
    return [LatencyClass(above, until, after - before) for (above, until), (before, after) in steps]


def bar(share: float, *, ascii_only: bool = False) -> str:
    """Return a bar for a share (0 to 1) of the longest; what is above 0 is never invisible."""
    if ascii_only:
        return ASCII_FULL * round(share * BAR_WIDTH) or (ASCII_PART if share else "")
    eighths = max(round(share * BAR_WIDTH * len(EIGHTHS)), 1 if share else 0)
    whole, part = divmod(eighths, len(EIGHTHS))
    return (FULL * whole + EIGHTHS[part]).rstrip()
