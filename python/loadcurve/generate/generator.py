"""What every generator does: carry out the plan of one load, and bring home its result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from loadcurve.loads.plan import DatabasePlan, HttpPlan
from loadcurve.result.load import LoadResult

Plan = HttpPlan | DatabasePlan
"""What a generator can be asked to carry out."""


@dataclass(frozen=True)
class Progress:
    """How far a load is; ``elapsed_s`` counts from the start of the warm-up, ``None`` while connecting."""

    elapsed_s: float | None
    answered: int
    failed: int


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
