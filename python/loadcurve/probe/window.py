"""Summing up the probe's samples over the measured window of a load."""

from collections.abc import Sequence

from loadcurve.probe import programs
from loadcurve.probe.figures import Track, Window, figure, time_of_cpu
from loadcurve.probe.folding import Gauge, gauge, most_by_state, pauses_in
from loadcurve.probe.processor import (
    CPU_INCOMPLETE,
    ProcessorTime,
    busiest_process,
    busiest_thread,
    children_are_forgotten,
    processor_time,
)
from loadcurve.probe.samples import PressureSample, Sample, SocketsSample, TcpSample
from loadcurve.probe.series import series_of
from loadcurve.result.cpu_time import Throttling
from loadcurve.result.outcomes import Caveat
from loadcurve.result.pauses import Pauses, pauses_within
from loadcurve.result.probe import (
    ContextSwitches,
    CountRange,
    CpuUse,
    ListenQueue,
    PageCacheUse,
    PageFaults,
    PressureUse,
    ProbeCost,
    ProbeRecord,
    ServerUse,
    SocketsUse,
    TcpUse,
)

CPU_PARTS = ("user_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s")
"""What the time of a CPU is made of."""


def summed_up(
    samples: Sequence[Sample], window: Window, answered: float, interval_s: float, caveats: Sequence[Caveat]
) -> ProbeRecord:
    """Return what the samples say about a window in which this many requests were answered.

    A figure that was not read on both sides of the window, or never within it, is ``None``.
    """
    processor = processor_time(samples)
    probe_cpu_s = Track(samples, figure("probe_cpu_s")).growth(window)
    return ProbeRecord(
        cost=ProbeCost(interval_s=interval_s, cpu_share=_share(probe_cpu_s, window)),
        server=_server(samples, window, processor, answered),
        cpus=_cpus(samples, window),
        pressure=_pressure(samples, window),
        tcp=_tcp(samples, window),
        sockets=_sockets(samples, window),
        listen_queue=_listen_queue(samples, window),
        throttling=_throttling(samples, window),
        series=series_of(samples, window, processor),
        caveats=[*caveats, *([] if processor else [CPU_INCOMPLETE])],
        pauses=_pauses(samples, window),
        page_cache=_page_cache(samples, window),
    )


def nothing_observed(caveats: Sequence[Caveat]) -> ProbeRecord:
    """Return the record of a window without any sample, with the reasons."""
    return ProbeRecord(
        cost=None,
        server=None,
        cpus=None,
        pressure=None,
        tcp=None,
        sockets=None,
        listen_queue=None,
        throttling=None,
        series=None,
        caveats=list(caveats),
    )


def _server(
    samples: Sequence[Sample], window: Window, processor: ProcessorTime | None, answered: float
) -> ServerUse:
    user_s = Track(samples, processor.user).growth(window) if processor else None
    system_s = Track(samples, processor.system).growth(window) if processor else None
    cpu_s = None if user_s is None or system_s is None else user_s + system_s
    inside = _inside(samples, window)
    spent = programs.spent_by_program(samples, window)
    run_delay_s = programs.run_delay_s(spent)

    def within(path: str) -> Gauge | None:
        return gauge(inside, path)

    return ServerUse(
        cpu_source=processor.source if processor and cpu_s is not None else None,
        cpu_user_s=user_s,
        cpu_system_s=system_s,
        cpu_share=_share(cpu_s, window),
        cpu_per_request_us=programs.per_request_us(cpu_s, answered),
        run_delay_share=_share(run_delay_s, window),
        run_delay_per_request_us=programs.per_request_us(run_delay_s, answered),
        busiest_process=busiest_process(samples, window),
        busiest_thread=busiest_thread(samples, window),
        memory_mean_bytes=_mean(within("tree.memory_bytes")),
        memory_peak_bytes=_most(within("tree.memory_bytes")),
        proportional_memory_bytes=_mean(within("footprint.proportional_memory_bytes")),
        processes=_range(within("tree.processes")),
        threads=_range(within("tree.threads")),
        open_files_max=_most(within("footprint.open_files")),
        disk_read_bytes_per_s=_rate(samples, window, "footprint.disk_read_bytes"),
        context_switches=_context_switches(samples, window),
        page_faults=_page_faults(samples, window),
        programs=programs.uses(spent, inside, window, answered),
    )


def _page_faults(samples: Sequence[Sample], window: Window) -> PageFaults | None:
    if children_are_forgotten(samples):
        return None
    minor, major = (
        _whole(Track(samples, figure(f"tree.{kind}_faults")).growth(window)) for kind in ("minor", "major")
    )
    return None if minor is None or major is None else PageFaults(minor=minor, major=major)


def _context_switches(samples: Sequence[Sample], window: Window) -> ContextSwitches | None:
    voluntary = Track(samples, figure("context_switches.voluntary")).growth_scaled(window)
    involuntary = Track(samples, figure("context_switches.involuntary")).growth_scaled(window)
    if voluntary is None or involuntary is None:
        return None
    return ContextSwitches(voluntary=round(voluntary), involuntary=round(involuntary))


def _cpus(samples: Sequence[Sample], window: Window) -> list[CpuUse] | None:
    numbers = sorted({number for sample in samples if sample.cpus for number in sample.cpus.cpu})
    found = [use for number in numbers if (use := _cpu(samples, window, number)) is not None]
    return found or None


def _cpu(samples: Sequence[Sample], window: Window, number: int) -> CpuUse | None:
    grown = {part: Track(samples, time_of_cpu(number, part)).growth(window) for part in CPU_PARTS}
    parts_s = {part: value for part, value in grown.items() if value is not None}
    whole_s = sum(parts_s.values())
    if len(parts_s) < len(CPU_PARTS) or whole_s <= 0:
        return None
    return CpuUse(
        cpu=number,
        busy_share=sum(parts_s[part] for part in ("user_s", "system_s", "irq_s", "softirq_s")) / whole_s,
        softirq_share=parts_s["softirq_s"] / whole_s,
        steal_share=parts_s["steal_s"] / whole_s,
    )


def _pressure(samples: Sequence[Sample], window: Window) -> PressureUse | None:
    shares = {
        f"{name.removesuffix('_s')}_share": _share(
            Track(samples, figure(f"pressure.{name}")).growth(window), window
        )
        for name in PressureSample.model_fields
    }
    return PressureUse(**shares) if any(share is not None for share in shares.values()) else None


def _tcp(samples: Sequence[Sample], window: Window) -> TcpUse | None:
    counts = {
        name: _whole(Track(samples, figure(f"tcp.{name}")).growth_around(window))
        for name in TcpSample.model_fields
    }
    return TcpUse(**counts) if any(count is not None for count in counts.values()) else None


def _sockets(samples: Sequence[Sample], window: Window) -> SocketsUse | None:
    inside = _inside(samples, window)
    most = {f"{name}_max": _most(gauge(inside, f"sockets.{name}")) for name in SocketsSample.model_fields}
    by_state = most_by_state(inside)
    if by_state is None and all(count is None for count in most.values()):
        return None
    return SocketsUse(**most, by_state_max=by_state)


def _listen_queue(samples: Sequence[Sample], window: Window) -> ListenQueue | None:
    inside = _inside(samples, window)
    backlog, waiting = gauge(inside, "listen_queue.backlog"), gauge(inside, "listen_queue.waiting")
    if backlog is None or waiting is None:
        return None
    return ListenQueue(backlog=round(backlog.least), waiting_max=round(waiting.most))


def _throttling(samples: Sequence[Sample], window: Window) -> Throttling | None:
    names = ("periods", "throttled_periods", "throttled_s")
    periods, throttled, throttled_s = (
        Track(samples, figure(f"throttling.{name}")).growth(window) for name in names
    )
    if periods is None or throttled is None or throttled_s is None:
        return None
    return Throttling(periods=round(periods), throttled_periods=round(throttled), throttled_s=throttled_s)


def _page_cache(samples: Sequence[Sample], window: Window) -> PageCacheUse | None:
    held = gauge(_inside(samples, window), "page_cache.bytes")
    refaults = _rate(samples, window, "page_cache.refault_bytes")
    return (
        None
        if held is None and refaults is None
        else PageCacheUse(mean_bytes=_mean(held), refault_bytes_per_s=refaults)
    )


def _rate(samples: Sequence[Sample], window: Window, path: str) -> float | None:
    """Return by how much a counter that is read rarely grew in a second; ``None`` where it has fallen.

    It falls when processes end and no process takes over their counts.
    """
    growth = Track(samples, figure(path)).growth_scaled(window)
    return None if growth is None or growth < 0 else _share(growth, window)


def _pauses(samples: Sequence[Sample], window: Window) -> Pauses | None:
    found = pauses_in(samples)
    return None if found is None else pauses_within(found, window.start_s, window.end_s)


def _share(time_s: float | None, window: Window) -> float | None:
    return None if time_s is None or window.length_s <= 0 else time_s / window.length_s


def _whole(count: float | None) -> int | None:
    return None if count is None else round(count)


def _inside(samples: Sequence[Sample], window: Window) -> list[Sample]:
    return [sample for sample in samples if window.holds(sample.t_s)]


def _mean(shown: Gauge | None) -> float | None:
    return shown.mean if shown else None


def _most(shown: Gauge | None) -> int | None:
    return round(shown.most) if shown else None


def _range(shown: Gauge | None) -> CountRange | None:
    return CountRange(min=round(shown.least), max=round(shown.most)) if shown else None
