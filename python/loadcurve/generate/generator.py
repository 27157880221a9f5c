"""What every generator does: carry out the plan of one load, and bring home its result."""

from collections.abc import Callable, Mapping
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


@dataclass(frozen=True)
class Progress:
    """How far a load is; ``elapsed_s`` counts from the start of the warm-up, ``None`` while connecting."""

    elapsed_s: float | None
    answered: int
    failures: Mapping[str, int] = field(default_factory=dict)
    """Failed requests by class, of the classes that occurred."""
    last_second: LastSecond | None = None
    """``None`` during the first one."""

    @property
    def failed(self) -> int:
        """Failed requests of all classes."""
        return sum(self.failures.values())

    @property
    def rate_rps(self) -> float | None:
        """Answers per second: of the last second, or since the start during the first one."""
        if self.last_second is not None:
            return self.last_second.answered / self.last_second.length_s
        return self.answered / self.elapsed_s if self.elapsed_s else None


Observe = Callable[[Progress], None]
"""Watches a load, again and again; it may end the load by raising."""


class LoadInterrupted(KeyboardInterrupt):
    """The load was interrupted; ``result`` holds what was measured until then."""

    def __init__(self, result: LoadResult) -> None:
        """Carry the result of the part that was measured."""
        super().__init__()
        self.result = result


class Generator(Protocol):
    """Sends a load. Its results lack what it cannot know."""

    def run(self, plan: Plan, observe: Observe) -> LoadResult:
        """Run a load to its end.

        Raises:
            BadInput: the plan asks for something that cannot be.
            NothingMeasured: this machine, as it is set up, cannot run the plan.
            LoadInterrupted: by the person; it carries the result.

        """
