"""What each program of a server used, and how long it waited for a CPU."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadcurve.probe.figures import Figure, Track, Window
from loadcurve.probe.folding import gauge, memory_of_program
from loadcurve.probe.processor import PROCESSES
from loadcurve.probe.samples import ProgramSample, Sample
from loadcurve.result.probe import ProgramUse

US_PER_S = 1e6
PROGRAMS_LEAST = 2
KNOWN_SHARE = 0.95
"""Processor time is divided among programs where at least this share is known to be of one of them."""
NOTHING = ProgramSample(cpu_s=0.0, run_delay_s=0.0)
"""What a program has spent before its first process."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the processes of one program spent within a window."""

    cpu_s: float
    run_delay_s: float | None
    """For how long their threads could run and waited for a CPU; ``None`` where that is not counted."""


def spent_by_program(samples: Sequence[Sample], window: Window) -> dict[str, Spent] | None:
    """Return what each program spent; ``None`` where processes that came and went used too much besides."""
    names = sorted({name for sample in samples for name in sample.programs or ()})
    spent: dict[str, Spent] = {}
    for name in names:
        cpu_s = Track(samples, _figure(name, "cpu_s")).growth(window)
        if cpu_s is not None:
            spent[name] = Spent(cpu_s, Track(samples, _figure(name, "run_delay_s")).growth(window))
    parts = [Track(samples, PROCESSES.user).growth(window), Track(samples, PROCESSES.system).growth(window)]
    whole_s = sum(part for part in parts if part is not None)
    known_s = sum(one.cpu_s for one in spent.values())
    return spent if whole_s > 0 and known_s >= KNOWN_SHARE * whole_s else None


def uses(
    spent: dict[str, Spent] | None, inside: Sequence[Sample], window: Window, answered: float
) -> list[ProgramUse] | None:
    """Return what each program used; ``None`` where there are not several, or they are not known.

    ``inside`` are the samples within the window.
    """
    if spent is None or len(spent) < PROGRAMS_LEAST:
        return None
    memory = {name: gauge(inside, memory_of_program(name)) for name in spent}
    return [
        ProgramUse(
            name=name,
            cpu_share=one.cpu_s / window.length_s,
            cpu_per_request_us=per_request_us(one.cpu_s, answered),
            run_delay_share=None if one.run_delay_s is None else one.run_delay_s / window.length_s,
            run_delay_per_request_us=per_request_us(one.run_delay_s, answered),
            memory_mean_bytes=shown.mean if (shown := memory[name]) else None,
            memory_peak_bytes=round(shown.most) if shown else None,
        )
        for name, one in spent.items()
    ]


def run_delay_s(spent: dict[str, Spent] | None) -> float | None:
    """Return how long the threads of all programs waited; ``None`` where that of any is not known."""
    delays_s = [one.run_delay_s for one in (spent or {}).values()]
    known_s = [delay_s for delay_s in delays_s if delay_s is not None]
    return sum(known_s) if delays_s and len(known_s) == len(delays_s) else None


def per_request_us(time_s: float | None, answered: float) -> float | None:
    """Return a time divided by the requests that were answered; ``None`` where there was none."""
    return None if time_s is None or not answered else time_s * US_PER_S / answered


def _figure(name: str, field: str) -> Figure:
    def take(sample: Sample) -> float | None:
        if sample.programs is None:
            return None
        found: float | None = getattr(sample.programs.get(name, NOTHING), field)
        return found

    return take
