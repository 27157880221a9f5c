"""One measure of one server in a new run over that in its base, and what it says to a gate."""

import math
from dataclasses import dataclass
from enum import Enum, auto

from loadcurve.loads.values import Point
from loadcurve.result.measures import Measure
from loadcurve.stats.independent import IndependentRatio
from loadcurve.stats.interval import LOGARITHM_MAX, Estimate
from loadcurve.stats.paired import PairedRatio
from loadcurve.stats.power import ERROR_RATE, trials_to_decide

LEAST_MAX = 0.999
"""A throughput cannot become worse by all of itself and have a ratio."""


class Outcome(Enum):
    """What a gate comes to, or one change beside the least regression that counts."""

    PASSED = auto()
    FAILED = auto()
    UNDECIDED = auto()


@dataclass(frozen=True, slots=True)
class Change:
    """One measure of one server in the new run over that in the base run, or over that of the base server."""

    server: str
    measure: Measure
    point: Point | None
    """``None`` for the whole curve."""
    ratio: IndependentRatio | PairedRatio
    step: int = 1
    """By how many its p-value is multiplied, because it is one of several points or operations."""
    values: tuple[float, float] | None = None
    """The figure of the base and the new one, geometric means over the trials, in the unit of the measure;
    ``None`` over a curve of several points."""

    @property
    def confidence(self) -> float:
        """The confidence of the interval: 0.95, and more where there are several points or operations."""
        return 1 - ERROR_RATE / self.step

    @property
    def estimate(self) -> Estimate | None:
        """The ratio with the interval that decides; ``None`` where it is beyond any number."""
        return self.ratio.estimate_at(self.confidence)

    @property
    def adjusted_p_value(self) -> float | None:
        """The p-value, adjusted for the number of points; ``None`` where a run has one usable trial only."""
        p_value = self.ratio.p_value
        return None if p_value is None else min(1.0, self.step * p_value)

    @property
    def shown(self) -> bool:
        """Whether chance alone does not explain it: its interval does not contain 1."""
        return self.adjusted_p_value is not None and self.adjusted_p_value <= ERROR_RATE

    @property
    def worse_by(self) -> float:
        """By which share the new run is worse, such as 0.05 for 5 %; negative where it is better."""
        logarithm = self.ratio.logarithm
        change = math.expm1(logarithm) if logarithm <= LOGARITHM_MAX else math.inf
        return -change if self.measure.better == "higher" else change

    @property
    def worse_by_at_most(self) -> float | None:
        """By which share it is worse at the worse end of its interval; ``None`` without an interval."""
        ratio = self.estimate
        if ratio is None or ratio.low is None or ratio.high is None:
            return None
        return 1 - ratio.low if self.measure.better == "higher" else ratio.high - 1

    def outcome(self, least: float) -> Outcome:
        """Say whether it is shown to be worse by ``least`` or more, such as 0.05, or that is ruled out."""
        if self.shown and self.worse_by >= least:
            return Outcome.FAILED
        most = self.worse_by_at_most
        return Outcome.UNDECIDED if most is None or most >= least else Outcome.PASSED

    def trials_to_decide(self, least: float) -> int | None:
        """Return how many trials would show or rule out a regression of this share if the ratio stays.

        They are more than there are, which have not decided it.
        """
        if self.ratio.log_sd is None:
            return None
        bound = math.log1p(-min(least, LEAST_MAX) if self.measure.better == "higher" else least)
        found = trials_to_decide(self.ratio.logarithm - bound, self.ratio.log_sd, self.confidence)
        trials = None if self.estimate is None else self.estimate.n
        return found if found is None or trials is None else max(found, trials + 1)
