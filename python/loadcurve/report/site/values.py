"""Figures of published runs in words: seconds as milliseconds or microseconds, bytes as MiB."""

from typing import Protocol

from loadcurve import units
from loadcurve.units import BYTES_PER_MIB

_SHOWN = {"s": ("ms", 1e3), "bytes": ("MiB", 1 / BYTES_PER_MIB), "1/s": ("/s", 1.0), "": ("", 1.0)}
_SMALL = {"server_cpu_per_request_s": ("µs", 1e6)}
"""Measures whose figures are so small that a column has another unit."""


TITLES = {
    "throughput_rps": ("throughput", "1/s"),
    "latency_p99_s": ("p99", "s"),
    "server_cpu_per_request_s": ("CPU time per request", "s"),
    "server_memory_mean_bytes": ("mean memory", "bytes"),
}
"""The title and the unit of what lists say of a server."""
AT_LOWEST_TITLES = {"latency_p50_s": ("p50", "s"), **TITLES}
"""The same of what is said of one at the lowest load."""


class Interval(Protocol):
    """A figure over trials, of a run or of a list."""

    @property
    def value(self) -> float | None:
        """The geometric mean."""

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def shown_unit(measure: str, unit: str) -> tuple[str, float]:
    """Return the unit in which a measure is shown, and the factor to it."""
    return _SMALL.get(measure) or _SHOWN[unit]


def heading(measure: str, title: str, unit: str) -> str:
    """Return what is over a column, such as ``p99, ms``."""
    shown, _ = shown_unit(measure, unit)
    return f"{title}, {shown}" if shown else title


def cell(figure: Interval | None, measure: str, unit: str) -> tuple[str, str, str]:
    """Return the figure, its interval, and the figure with more digits; each empty where there is none.

    All are in the unit of the column. By the last one rows are sorted, and it leaves the page as CSV.
    """
    if figure is None or figure.value is None:
        return units.ABSENT, "", ""
    _, factor = shown_unit(measure, unit)
    value = figure.value * factor
    if figure.low is None or figure.high is None:
        return units.number(value), "", f"{value:.6g}"
    ends = f"{units.number(figure.low * factor)} to {units.number(figure.high * factor)}"
    return units.number(value), ends, f"{value:.6g}"
