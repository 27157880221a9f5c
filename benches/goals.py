"""What the engine is to reach beside other generators, as data."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from benches.generators import Loop
from benches.pairs import Comparison, Quantity

Relation = Literal[">=", ">", "<="]
_HOLDS: dict[Relation, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
}
LOOPS = (Loop(50), Loop(500))
PIPELINED = Loop(50, pipeline=16)


@dataclass(frozen=True)
class Bound:
    """Where the median of ratios is to lie."""

    relation: Relation
    ratio: float

    def __str__(self) -> str:
        """Return it as ``>= 1.30``."""
        return f"{self.relation} {self.ratio:.2f}"

    def outcome(self, median: float) -> str:
        """Say whether a median lies there."""
        return "met" if _HOLDS[self.relation](median, self.ratio) else "missed"


@dataclass(frozen=True)
class Goal:
    """Where the median of the ratios between the engine and another generator is to lie."""

    other: str
    loop: Loop
    quantity: Quantity
    bound: Bound

    def beside(self, comparisons: Sequence[Comparison]) -> str:
        """Return one line with the goal, and the median where it was measured."""
        median = next((each.median for each in comparisons if self._is_about(each)), None)
        outcome = "not measured" if median is None else f"{median:.2f}  {self.bound.outcome(median)}"
        pair = f"loadcurve/{self.other}"
        return f"{self.loop!s:>11}  {pair:<17} {self.quantity:<15} {self.bound!s:>7}  {outcome}"

    def _is_about(self, comparison: Comparison) -> bool:
        return (self.other, self.loop, self.quantity) == (
            comparison.other,
            comparison.loop,
            comparison.quantity,
        )


GOALS = (
    *(
        goal
        for loop in LOOPS
        for goal in (
            Goal("wrk", loop, Quantity.REQUESTS_PER_SECOND, Bound(">=", 1.30)),
            *(
                Goal(other, loop, Quantity.REQUESTS_PER_SECOND, Bound(">", 1.0))
                for other in ("ab", "httperf", "h2load", "hey", "oha")
            ),
            Goal("floor", loop, Quantity.CPU_PER_REQUEST, Bound("<=", 1.10)),
        )
    ),
    Goal("wrk", PIPELINED, Quantity.REQUESTS_PER_SECOND, Bound(">=", 1.30)),
)
