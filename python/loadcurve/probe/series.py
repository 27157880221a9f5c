"""The samples of a window as columns, for charts and for a look at what happened at one moment."""

import math
from collections.abc import Callable, Sequence

from loadcurve.probe.figures import Figure, Window, figure
from loadcurve.probe.processor import ProcessorTime
from loadcurve.probe.samples import Sample
from loadcurve.result.probe import Column, ProbeSeries

ROWS_MAX = 3000
"""A window with more samples keeps every second, third and so on."""
SIGNIFICANT_DIGITS = 5


def series_of(
    samples: Sequence[Sample], window: Window, processor: ProcessorTime | None
) -> ProbeSeries | None:
    """Return the samples of the window as columns; ``None`` where there is none."""
    inside = [sample for sample in samples if window.holds(sample.t_s)]
    inside = inside[:: math.ceil(len(inside) / ROWS_MAX) or 1]
    if not inside:
        return None
    # The first row of the window tells what happened since the reading before it.
    rows = [*(sample for sample in samples if sample.t_s < window.start_s), *inside]

    def column(values: list[float | None]) -> Column:
        return _compact(values[-len(inside) :])

    def gauge(taken: Figure) -> Column:
        return column([taken(sample) for sample in inside])

    def change(taken: Figure) -> Column:
        return column(_changes(rows, taken, lambda grown, _: grown))

    def rate(taken: Figure) -> Column:
        return column(_changes(rows, taken, lambda grown, passed_s: grown / passed_s))

    return ProbeSeries(
        t_s=[round(sample.t_s - window.start_s, 4) for sample in inside],
        cpu_user_share=rate(processor.user) if processor else None,
        cpu_system_share=rate(processor.system) if processor else None,
        memory_bytes=gauge(figure("tree.memory_bytes")),
        proportional_memory_bytes=gauge(figure("footprint.proportional_memory_bytes")),
        processes=gauge(figure("tree.processes")),
        threads=gauge(figure("tree.threads")),
        open_files=gauge(figure("footprint.open_files")),
        context_switches=change(_context_switches),
        busy_cpus=rate(_cpus_in("user_s", "system_s", "irq_s", "softirq_s")),
        softirq_cpus=rate(_cpus_in("softirq_s")),
        steal_cpus=rate(_cpus_in("steal_s")),
        established_sockets=gauge(figure("sockets.established")),
        listen_overflows=change(figure("tcp.listen_overflows")),
        listen_drops=change(figure("tcp.listen_drops")),
        syn_retransmits=change(figure("tcp.syn_retransmits")),
        retransmits=change(figure("tcp.retransmits")),
        throttled_s=change(figure("throttling.throttled_s")),
    )


def _context_switches(sample: Sample) -> int | None:
    switches = sample.context_switches
    return None if switches is None else switches.voluntary + switches.involuntary


def _cpus_in(*parts: str) -> Figure:
    """Return what takes the time that all CPUs together have spent in these parts."""

    def take(sample: Sample) -> float | None:
        return None if sample.cpus is None else sum(sum(getattr(sample.cpus, part)) for part in parts)

    return take


def _changes(
    samples: Sequence[Sample], taken: Figure, told: Callable[[float, float], float]
) -> list[float | None]:
    """Return, for each sample, what ``told`` makes of the growth and the time since the last reading."""
    changes: list[float | None] = []
    last: tuple[float, float] | None = None
    for sample in samples:
        value = taken(sample)
        if value is None or last is None:
            changes.append(None)
        else:
            changes.append(told(value - last[1], sample.t_s - last[0]))
        if value is not None:
            last = (sample.t_s, value)
    return changes


def _compact(values: list[float | None]) -> Column:
    """Round to what a chart can show; nothing at all is ``None``."""
    if all(value is None for value in values):
        return None
    return [
        float(f"{value:.{SIGNIFICANT_DIGITS}g}") if isinstance(value, float) else value for value in values
    ]
