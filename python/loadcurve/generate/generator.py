"""What every generator does: carry out the plan of one load, and return its result."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Generator as Yielding
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from loadcurve.loads.plan import DatabasePlan, HttpPlan
from loadcurve.result.load import LoadResult

Plan = HttpPlan | DatabasePlan
"""What a generator can be asked to carry out."""


class LastSecond(NamedTuple):
    """What was answered within the last second that is over; renewed once a second."""

    length_s: float
    answered: int
    latency_ms: tuple[float, float, float] | None
    """The percentiles 50, 90 and 99, each within 1/32 of the true one; ``None`` if nothing was answered."""


class CpuSeconds(NamedTuple):
    """What both sides have used of the CPUs until a moment, since each began."""

    moment_s: float
    """On the monotonic clock."""
    server_s: float | None
    """``None`` where its processes are on another machine, or cannot be seen."""
    generator_s: float

    def used_since(self, before: "CpuSeconds | None") -> tuple[float | None, float | None]:
        """Return how many CPUs server and generator have used since a moment; ``None`` where it is unknown.

        Of processes that end without a parent to count them, what they used is lost.
        """
        if before is None or self.moment_s <= before.moment_s:
            return None, None
        length_s = self.moment_s - before.moment_s
        generator = max(self.generator_s - before.generator_s, 0.0) / length_s
        if self.server_s is None or before.server_s is None or self.server_s < before.server_s:
            return None, generator
        return (self.server_s - before.server_s) / length_s, generator


@dataclass(frozen=True)
class LatencyCounts:
    """Answers by latency since a load began."""

    counts: tuple[int, ...]
    """Between the bounds of ``loadcurve._engine.latency_bounds_s``; the last is of what is not below any."""
    sum_s: float
    """Of all latencies."""

    def __add__(self, other: "LatencyCounts") -> "LatencyCounts":
        """Return the answers of both."""
        counts = (one + more for one, more in zip(self.counts, other.counts, strict=True))
        return LatencyCounts(tuple(counts), self.sum_s + other.sum_s)

    def __sub__(self, earlier: "LatencyCounts") -> "LatencyCounts":
        """Return the answers since an earlier look."""
        counts = (now - before for now, before in zip(self.counts, earlier.counts, strict=True))
        return LatencyCounts(tuple(counts), max(self.sum_s - earlier.sum_s, 0.0))


@dataclass(frozen=True)
class Progress:
    """How far a load is; ``elapsed_s`` counts from the start of the warm-up, ``None`` while connecting."""

    elapsed_s: float | None
    answered: int | None
    """``None`` where the generator does not tell before its end."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed requests by class, of the classes that occurred."""
    last_second: LastSecond | None = None
    """``None`` during the first one."""
    oldest_s: float | None = None
    """How long the oldest request under way has been so; ``None`` where none is, or that is not known."""
    latencies: LatencyCounts | None = None
    """Of all answers so far; ``None`` where the generator does not tell."""
    cpu: Callable[[], CpuSeconds | None] | None = field(default=None, compare=False)
    """Reads what both sides have used of the CPUs, some 20 µs for each process of the machine; ``None`` where
    the generator cannot tell.
    """

    @property
    def failed(self) -> int:
        """Failed requests of all classes."""
        return sum(self.failures.values())

    @property
    def rate_rps(self) -> float | None:
        """Answers per second: of the last second, or since the start during the first one."""
        if self.last_second is not None:
            return self.last_second.answered / self.last_second.length_s
        if self.answered is None or not self.elapsed_s:
            return None
        return self.answered / self.elapsed_s


Observe = Callable[[Progress], None]
"""Watches a load, again and again; it may end the load by raising."""
ObserveAll = Callable[[Sequence[Progress]], None]
"""Watches several loads, in the order of their plans; it may end them by raising."""


ObserveLevel = Callable[[int, Progress], None]
"""Watches a load of several levels, in the level of this number; it may end the load by raising."""


class LoadInterrupted(KeyboardInterrupt):
    """The loads were interrupted; ``results`` hold what was measured until then."""

    def __init__(self, *results: LoadResult) -> None:
        """Carry the results of the part that was measured."""
        super().__init__()
        self.results = results

    @property
    def result(self) -> LoadResult:
        """The result of the first load."""
        return self.results[0]


class Generator(Protocol):
    """Sends loads. Its results lack what it cannot know."""

    def run_together(self, plans: Sequence[Plan], observe: ObserveAll) -> list[LoadResult]:
        """Run loads to their end, which all begin at one moment; return the results in the plans' order.

        Raises:
            BadInput: a plan asks for something that cannot be.
            NothingMeasured: this machine, as it is set up, cannot run the plans.
            LoadInterrupted: by the person; it carries the results.

        """

    def run_levels(self, plans: Sequence[Plan], observe: ObserveLevel) -> Yielding[LoadResult]:
        """Run one load through levels, each of which begins when the one before ends, on its connections.

        Yields the result of each level when the last of its requests has ended, while the load runs. The
        load ends with the iterator. Where ``observe`` raises, the levels that were over are yielded before.

        Raises:
            BadInput: a plan asks for something that cannot be, or cannot go on from the one before it.
            NothingMeasured: this machine, as it is set up, cannot run the plans.

        """

    def run(self, plan: Plan, observe: Observe) -> LoadResult:
        """Run one load to its end; raises as :meth:`run_together`."""
        [result] = self.run_together([plan], lambda progress: observe(progress[0]))
        return result
