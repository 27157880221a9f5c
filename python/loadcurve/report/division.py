"""How the time of a request is divided among the programs of its server, in words."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve.analysis.analysis import Analysis
from loadcurve.analysis.division import DividedTime, ProgramPart
from loadcurve.report import text
from loadcurve.report.column import Column
from loadcurve.report.section import Grid, Report, Section, grid_in_markdown
from loadcurve.report.terminal_tables import lines_by_server
from loadcurve.stats.interval import Estimate

MOST_POINTS = 3
"""The terminal has at most this many points of a server."""
CAPTION = (
    "For servers that run several programs, by their names in the study, or those of their processes or "
    "files. Processor time, and the time for which threads could run and waited for a CPU, each divided by "
    "the answered {requests}. Elsewhere is what remains of the mean time from when a {request} was sent to "
    "the end of its answer: it waited for others before it, for a disk, a lock or the network. Means over "
    "the usable trials, with their 95\N{NO-BREAK SPACE}% intervals."
)


def division_table(analysis: Analysis) -> Grid | None:
    """Return how the time of a request was divided; ``None`` where no server has several programs."""
    if not analysis.divided:
        return None
    request = analysis.load_kind.request
    columns: list[Column[DividedTime]] = [
        Column("server", lambda one: one.server),
        *(Column(text.key_title(key), partial(_setting, key)) for key in analysis.keys),
        Column(f"time of a {request}, µs", lambda one: text.short_estimate(one.request_us)),
        Column(f"CPU per {request} by program, µs", lambda one: _by_program(one, lambda part: part.cpu_us)),
        Column(
            "waiting for a CPU by program, µs", lambda one: _by_program(one, lambda part: part.run_delay_us)
        ),
        Column("elsewhere, µs", lambda one: text.short_estimate(one.elsewhere_us)),
        Column("of a CPU by program, %", lambda one: _by_program(one, _cpu_percent)),
        Column("memory by program, MiB", lambda one: _by_program(one, lambda part: part.memory_mib)),
    ]
    caption = CAPTION.format(request=request, requests=analysis.load_kind.requests)
    return Grid.of(analysis.divided, columns, caption)


def _setting(key: str, one: DividedTime) -> str:
    return text.point_values(one.point, [key])


def division_in_terminal(analysis: Analysis) -> Table:
    """Return a few points of each server, which fit 80 columns."""
    by_server: dict[str, list[DividedTime]] = {}
    for one in analysis.divided:
        by_server.setdefault(one.server, []).append(one)
    request = analysis.load_kind.request
    return lines_by_server(
        (server, "\n".join(line for one in text.evenly(found, MOST_POINTS) for line in _lines(one, request)))
        for server, found in by_server.items()
    )


def _lines(one: DividedTime, request: str) -> Iterator[str]:
    yield f"{text.point(one.point)}: {text.number_of(one.request_us)} µs for a {request}, of which"
    yield f"  CPU: {_by_program(one, lambda part: part.cpu_us)}"
    yield f"  waiting for a CPU: {_by_program(one, lambda part: part.run_delay_us)}"
    yield f"  elsewhere: {text.number_of(one.elsewhere_us)}"
    yield f"  of a CPU, %: {_by_program(one, _cpu_percent)}"
    if any(part.memory_mib for part in one.programs):
        yield f"  memory, MiB: {_by_program(one, lambda part: part.memory_mib)}"


def _cpu_percent(part: ProgramPart) -> Estimate | None:
    share = part.cpu_share
    if share is None:
        return None
    low, high = (None if end is None else 100 * end for end in (share.low, share.high))
    return replace(share, value=100 * share.value, low=low, high=high)


def _by_program(one: DividedTime, figure: Callable[[ProgramPart], Estimate | None]) -> str:
    return ", ".join(f"{part.name} {text.number_of(figure(part))}" for part in one.programs)


def _in_terminal(report: Report, _grid: Grid | None) -> Iterable[RenderableType]:
    title = f"\ntime of a {report.analysis.load_kind.request} by program"
    return [Text(title, style="bold"), division_in_terminal(report.analysis)]


PROGRAMS: Section[Grid | None] = Section(
    "programs",
    "the time of a request in words",
    lambda report: division_table(report.analysis),
    None,
    page="grid",
    terminal=_in_terminal,
    markdown=grid_in_markdown,
    heading=lambda report, _: f"Time of a {report.analysis.load_kind.request} by program",
)
