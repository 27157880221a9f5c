"""The machines that sent one load, for people."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadcurve.report.text import ABSENT
from loadcurve.result.generator import LoadMachines, MachinePart

COLUMNS = ("requests/s", "answered", "failed", "began, ms", "±", "late, ms", "CPU")


def machines_table(machines: LoadMachines) -> RenderableType:
    """Return a row for each machine: its own rate, counts, begin, lateness and CPU, in 80 columns.

    Below it are the machines whose kernels retransmitted segments.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("machine", overflow="fold")
    for title in COLUMNS:
        table.add_column(title, justify="right", no_wrap=True)
    for part in machines.parts:
        table.add_row(_name(part), *_figures(part))
    sent_again = [
        f"{part.machine} {part.kernel.retransmits:,}"
        for part in machines.parts
        if part.kernel is not None and part.kernel.retransmits
    ]
    return Group(table, Text(f"segments retransmitted: {', '.join(sent_again)}")) if sent_again else table


def _name(part: MachinePart) -> Text:
    return Text.assemble(part.machine, *([(" lost", "red")] if part.lost is not None else []))


def _figures(part: MachinePart) -> list[str]:
    lateness = part.generator.lateness_ms if part.generator else None
    return [
        ABSENT if part.answered_rps is None else f"{part.answered_rps:,.0f}",
        ABSENT if part.requests is None else f"{part.requests.answered:,}",
        ABSENT if part.requests is None else f"{part.requests.failed:,}",
        _ms(part.start_ms),
        _ms(part.clock.error_ms if part.clock else None),
        # The 99th percentile; the latest, where requests are too few for that.
        _ms((lateness.max if lateness.p99 is None else lateness.p99) if lateness else None),
        ABSENT if part.cpu_share is None else f"{part.cpu_share:.0%}",
    ]


def _ms(time_ms: float | None) -> str:
    return ABSENT if time_ms is None else f"{time_ms:,.3f}"
