"""Whether figures can be true, each by itself and all together, whatever file they come from."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from loadcurve.result.outcomes import StatusClasses
from loadcurve.tools.figures import Times, ToolFigures
from loadcurve.tools.source import shown

COUNT_MAX: Final = 10**15
"""More than this nobody counts in a load: it would last for years."""
TIME_MAX_MS: Final = 1e12
ASCENDING: Final = ("min", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max")
"""Figures of a distribution, each at most as great as the next one."""
ROUNDING: Final = 0.01
"""Relative: figures of one distribution that are computed in different ways may differ as much."""


def impossible(figures: ToolFigures) -> str | None:
    """Return a figure that no load can have; ``None`` where there is none."""
    if not 0 <= figures.duration_s <= TIME_MAX_MS / 1e3:
        return f"a duration of {figures.duration_s:g} s"
    if not 0 <= (figures.asked.duration_s or 0.0) <= TIME_MAX_MS / 1e3:
        return f"a duration of {figures.asked.duration_s:g} s that was asked for"
    if figures.asked.connections == 0:
        return "a load over 0 connections"
    if unknown := [name for name in figures.status or {} if name not in StatusClasses.classes]:
        return f"answers of a status {shown(unknown[0])}"
    counts = ((name, count) for name, count in _counts(figures) if count is not None)
    found = next((f"{count:,} {name}" for name, count in counts if not 0 <= count <= COUNT_MAX), None)
    return found or next(
        (f"a time of {value:g} ms" for value in _times_ms(figures) if not 0 <= value <= TIME_MAX_MS), None
    )


def at_odds(figures: ToolFigures) -> list[str]:
    """Return what cannot be true at once, each in a clause: parts above their whole, times out of order."""
    parts = (
        ("right answers", figures.ok, "answers", figures.answered),
        ("answers by status", sum((figures.status or {}).values()), "answers", figures.answered),
        ("failures by class", sum(figures.errors.values()), "failures", figures.failed or 0),
    )
    said = [
        f"{part:,} {what} are more than {whole:,} {all_of_them}"
        for what, part, all_of_them, whole in parts
        if part is not None and part > whole
    ]
    return [*said, *filter(None, map(out_of_order, _distributions(figures)))]


def out_of_order(times: Times) -> str | None:
    """Return which figure is above a higher one by more than they are rounded; ``None`` where none is."""
    ascending = [(name, getattr(times.distribution, name)) for name in ASCENDING]
    known = [(name, value) for name, value in ascending if value is not None]
    for (name, value), (higher, above) in pairwise(known):
        if value - above > max(times.resolution_ms or 0.0, ROUNDING * above):
            return f"a {name} of {value:,.4g} ms is above a {higher} of {above:,.4g} ms"
    return None


def _distributions(figures: ToolFigures) -> list[Times]:
    found = (figures.latency, figures.service, figures.connect, figures.first_byte)
    return [times for times in found if times is not None]


def _times_ms(figures: ToolFigures) -> Iterator[float]:
    for times in _distributions(figures):
        values = (getattr(times.distribution, name) for name in (*ASCENDING, "mean", "stddev"))
        # What is not a number compares as false, and is refused with what is too great.
        yield from (math.inf if math.isnan(value) else value for value in values if value is not None)


def _counts(figures: ToolFigures) -> Iterator[tuple[str, float | None]]:
    asked = figures.asked
    yield from (
        ("answers", figures.answered),
        ("failures", figures.failed),
        ("requests that were never sent", figures.never_sent),
        ("right answers", figures.ok),
        ("answers of another length", figures.other_length),
        ("connections that were opened", figures.connections_opened),
        ("bytes", figures.bytes_received),
        ("bytes of headers", figures.bytes_header),
        ("bytes of bodies", figures.bytes_body),
        ("connections", asked.connections),
        ("threads", asked.threads),
        ("streams", asked.streams),
        ("requests in all", asked.requests_total),
        ("requests/s", asked.rate_rps),
        ("connections/s", asked.connection_rate_cps),
    )
    yield from ((f"failures of {name}", count) for name, count in figures.errors.items())
    yield from ((f"answers of {name}", count) for name, count in (figures.status or {}).items())
