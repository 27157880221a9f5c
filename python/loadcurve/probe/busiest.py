"""The process, and the thread, that used the most of a CPU within a window."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from loadcurve.probe.figures import Track, Window, figure
from loadcurve.probe.samples import BusiestProcessSample, BusiestThreadSample, Sample
from loadcurve.result.probe import BusiestProcess, BusiestThread

Found = TypeVar("Found", BusiestProcessSample, BusiestThreadSample)


def busiest_process(samples: Sequence[Sample], window: Window) -> BusiestProcess | None:
    """Return the busiest process; ``None`` where none was it long enough to be told over the window."""
    busiest = _busiest(samples, window, "busiest_process", lambda sample: sample.busiest_process)
    if busiest is None:
        return None
    found, cpu_share = busiest
    return BusiestProcess(pid=found.pid, name=found.name, cpu_share=cpu_share)


def busiest_thread(samples: Sequence[Sample], window: Window) -> BusiestThread | None:
    """Return the busiest thread; ``None`` where none was it long enough to be told over the window."""
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
    told = {who: growth_s for who, growth_s in growths_s.items() if growth_s is not None and growth_s >= 0}
    if not told:
        return None
    busiest = max(told, key=lambda who: told[who])
    return last[busiest], told[busiest] / window.length_s
