"""Whose the time of the server's CPUs was within a load's window."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from loadcurve.host.process_times import ProcessUse
from loadcurve.host.strangers import kernel_threads_s, named
from loadcurve.probe.figures import Track, Window, time_of_cpu
from loadcurve.probe.samples import Sample
from loadcurve.result.cpu_time import Spent, divided
from loadcurve.result.probe import ProbeRecord

PARTS: Final = ("idle", "irq", "softirq", "steal")
"""What is read of a CPU; it was busy for the rest of the time."""


@dataclass(frozen=True)
class BesideServer:
    """What else ran on the server's CPUs, over a time that holds the window."""

    cpus: Collection[int]
    """The server's."""
    length_s: float
    uses: Sequence[ProcessUse] = ()
    """Of all processes."""
    strangers: Sequence[ProcessUse] = ()
    """Of those that are neither side's."""
    probe_s: float = 0.0
    """What the probe used of these CPUs."""


def with_cpu_time(
    record: ProbeRecord, samples: Sequence[Sample], window: Window, beside: BesideServer
) -> ProbeRecord:
    """Return the record with whose the time was, where the server's part is known."""
    server = record.server
    if server is None or server.cpu_share is None or beside.length_s <= 0 or not beside.cpus:
        return record
    grown = {part: _grown(samples, window, beside.cpus, f"{part}_s") for part in PARTS}
    if any(value is None for value in grown.values()):
        return record
    spent_s = {part: value or 0.0 for part, value in grown.items()}
    scale = window.length_s / beside.length_s
    spent = Spent(
        length_s=window.length_s,
        idle_s=spent_s["idle"],
        interrupts_s=spent_s["irq"] + spent_s["softirq"],
        softirq_s=spent_s["softirq"],
        steal_s=spent_s["steal"],
        server_s=server.cpu_share * window.length_s,
        generator_s=beside.probe_s * scale,
        others_seen_s=sum(use.own_s for use in beside.strangers) * scale,
        kernel_threads_s=kernel_threads_s(beside.uses, beside.cpus) * scale,
        paused_s=record.pauses.paused_s if record.pauses else 0.0,
    )
    found = divided(sorted(beside.cpus), spent, named(beside.strangers, beside.length_s))
    return record.model_copy(update={"cpu_time": found})


def _grown(samples: Sequence[Sample], window: Window, cpus: Collection[int], part: str) -> float | None:
    """Return by how much a time of some CPUs together grew; ``None`` where one of them was not read."""
    grown = [Track(samples, time_of_cpu(cpu, part)).growth(window) for cpu in cpus]
    return sum(one for one in grown if one is not None) if all(one is not None for one in grown) else None
