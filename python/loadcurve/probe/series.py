"""The samples of a window as columns, for charts and for a look at what happened at one moment."""

import math
from collections.abc import Callable, Sequence

from loadcurve.probe.figures import Figure, Window, figure
from loadcurve.probe.folding import last_readings
from loadcurve.probe.processor import ProcessorTime
from loadcurve.probe.samples import PressureSample, Sample
from loadcurve.result.probe import Column, ProbeSeries, SocketStatesSeries

ROWS_MAX = 3000
"""In a window with more samples two of them become one, or three and so on."""
SIGNIFICANT_DIGITS = 5


def series_of(
    samples: Sequence[Sample], window: Window, processor: ProcessorTime | None
) -> ProbeSeries | None:
    """Return the samples of the window as columns; ``None`` where there is none."""
    inside = [sample for sample in samples if window.holds(sample.t_s)]
    if not inside:
        return None
    inside = _thinned(inside)
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
        t_s=[_from_start(window, sample.t_s) for sample in inside],
        cpu_user_share=rate(processor.user) if processor else None,
        cpu_system_share=rate(processor.system) if processor else None,
        busiest_process_share=gauge(figure("busiest_process.cpu_share")),
        busiest_thread_share=gauge(figure("busiest_thread.cpu_share")),
        memory_bytes=gauge(figure("tree.memory_bytes")),
        proportional_memory_bytes=gauge(figure("footprint.proportional_memory_bytes")),
        processes=gauge(figure("tree.processes")),
        threads=gauge(figure("tree.threads")),
        open_files=gauge(figure("footprint.open_files")),
        voluntary_context_switches=change(figure("context_switches.voluntary")),
        involuntary_context_switches=change(figure("context_switches.involuntary")),
        busy_cpus=rate(_cpus_in("user_s", "system_s", "irq_s", "softirq_s")),
        softirq_cpus=rate(_cpus_in("softirq_s")),
        steal_cpus=rate(_cpus_in("steal_s")),
        established_sockets=gauge(figure("sockets.established")),
        time_wait_sockets=gauge(figure("sockets.time_wait")),
        orphaned_sockets=gauge(figure("sockets.orphaned")),
        listen_queue=gauge(figure("listen_queue.waiting")),
        listen_overflows=change(figure("tcp.listen_overflows")),
        listen_drops=change(figure("tcp.listen_drops")),
        syn_retransmits=change(figure("tcp.syn_retransmits")),
        retransmits=change(figure("tcp.retransmits")),
        dsacks_received=change(figure("tcp.dsacks_received")),
        resets_sent=change(figure("tcp.resets_sent")),
        connections_reset=change(figure("tcp.connections_reset")),
        throttled_s=change(figure("throttling.throttled_s")),
        socket_states=_socket_states(inside, window),
        **{
            f"pressure_{name.removesuffix('_s')}_share": rate(figure(f"pressure.{name}"))
            for name in PressureSample.model_fields
        },
    )


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    """Join neighbours until there are few enough; each figure is the last one that was read of it."""
    width = math.ceil(len(samples) / ROWS_MAX)
    return [last_readings(samples[start : start + width]) for start in range(0, len(samples), width)]


def _socket_states(samples: Sequence[Sample], window: Window) -> SocketStatesSeries | None:
    looks = [(sample.t_s, sample.socket_states) for sample in samples if sample.socket_states]
    if not looks:
        return None
    return SocketStatesSeries(
        t_s=[_from_start(window, t_s) for t_s, _ in looks],
        by_state={state: [counts[state] for _, counts in looks] for state in looks[0][1]},
    )


def _from_start(window: Window, moment_s: float) -> float:
    return round(moment_s - window.start_s, 4)


def _cpus_in(*parts: str) -> Figure:
    """Return what takes the time that all CPUs together have spent in these parts."""

    def take(sample: Sample) -> float | None:
        return None if sample.cpus is None else sum(sum(getattr(sample.cpus, part)) for part in parts)

    return take


def _changes(
    samples: Sequence[Sample], taken: Figure, change: Callable[[float, float], float]
) -> list[float | None]:
    """Return, for each sample, what ``change`` makes of the growth and the time since the last reading."""
    changes: list[float | None] = []
    last: tuple[float, float] | None = None
    for sample in samples:
        value = taken(sample)
        if value is None or last is None:
            changes.append(None)
        else:
            changes.append(change(value - last[1], sample.t_s - last[0]))
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
