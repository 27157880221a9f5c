"""The server's processor time, from its control group or its processes, and the busiest of these."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from loadcurve.probe.figures import Figure, Track, Window, figure
from loadcurve.probe.samples import BusiestProcessSample, BusiestThreadSample, Sample
from loadcurve.result.outcomes import Caveat
from loadcurve.result.probe import BusiestProcess, BusiestThread

CPU_INCOMPLETE = Caveat.of(
    "cpu_incomplete",
    "the server ignores SIGCHLD, so the kernel discards the CPU time of its children when they end, and no "
    "control group, which would count that time, could be created: run as root, or as a user who may "
    "create control groups",
)


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Where the server's processor time is read."""

    source: Literal["group", "processes"]
    user: Figure
    system: Figure


GROUP = ProcessorTime("group", figure("group.cpu_user_s"), figure("group.cpu_system_s"))
PROCESSES = ProcessorTime("processes", figure("tree.cpu_user_s"), figure("tree.cpu_system_s"))


def processor_time(samples: Sequence[Sample]) -> ProcessorTime | None:
    """Return where to read the processor time in these samples; ``None`` where it is complete nowhere."""
    if any(sample.group for sample in samples):
        return GROUP
    return None if children_are_forgotten(samples) else PROCESSES


def children_are_forgotten(samples: Sequence[Sample]) -> bool:
    """Say whether the kernel discards what it counts of the server's children when they end."""
    return any(sample.context_switches and sample.context_switches.ignores_sigchld for sample in samples)


Found = TypeVar("Found", BusiestProcessSample, BusiestThreadSample)


def busiest_process(samples: Sequence[Sample], window: Window) -> BusiestProcess | None:
    """Return the busiest process; ``None`` where none was it long enough to be measured over the window."""
    busiest = _busiest(samples, window, "busiest_process", lambda sample: sample.busiest_process)
    if busiest is None:
        return None
    found, cpu_share = busiest
    return BusiestProcess(pid=found.pid, name=found.name, cpu_share=cpu_share)


def busiest_thread(samples: Sequence[Sample], window: Window) -> BusiestThread | None:
    """Return the busiest thread; ``None`` where none was it long enough to be measured over the window."""
    busiest = _busiest(samples, window, "busiest_thread", lambda sample: sample.busiest_thread)
    if busiest is None:
        return None
    found, cpu_share = busiest
    return BusiestThread(pid=found.pid, thread=found.thread, name=found.name, cpu_share=cpu_share)


def _busiest(
    samples: Sequence[Sample], window: Window, part: str, find: Callable[[Sample], Found | None]
) -> tuple[Found, float] | None:
    """Return whose time grew the most, and its share of a CPU over the window.

    Only the busiest is known at each moment, but its whole time: so the growth from one of its moments to
    another is exact, whoever was the busiest in between.
    """
    moments: defaultdict[Hashable, list[Sample]] = defaultdict(list)
    last: dict[Hashable, Found] = {}
    for sample in samples:
        found = find(sample)
        if found is not None:
            who = found.model_dump(include={"pid", "thread"}).values()
            moments[tuple(who)].append(sample)
            last[tuple(who)] = found
    growths_s = {
        who: Track(its_samples, figure(f"{part}.cpu_s")).growth_scaled(window)
        for who, its_samples in moments.items()
    }
    known = {who: growth_s for who, growth_s in growths_s.items() if growth_s is not None and growth_s >= 0}
    if not known:
        return None
    busiest = max(known, key=lambda who: known[who])
    return last[busiest], known[busiest] / window.length_s
