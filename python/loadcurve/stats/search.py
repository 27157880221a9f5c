"""The search for a capacity: which load a trial measures next, from what is known so far.

The first trial of a server doubles its load from the lowest until the limits break, and then halves the
bracket, on a logarithmic axis, until it is narrow. Each later trial, on a fresh start of the server,
brackets the answer anew around what the earlier ones found, with steps that grow if it is not there. So
nearly all time is spent near the answer, and a measurement that noise has decided falsely misleads one trial
and shows in the interval over trials. A single bisection would never come back from it (R. Waeber, P.
Frazier and S. Henderson, "Bisection search with noisy responses", SIAM Journal on Control and Optimization
51, 2013).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadcurve.stats.capacity import Observation

GROWTH = 2.0
"""From one load to the next while nothing is known."""
FIRST_STEP = 1.15
"""Later trials begin this factor below what the earlier ones found."""

UNKNOWN_MAX = 3
"""How many loads may show nothing before a trial is given up; those with too few answers do not count."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Where a search looks: loads from ``low`` to ``high``, whole numbers if ``whole``.

    It ends when the bracket's ends differ by no more than the share ``resolution``, or by one where whole.
    """

    low: float
    high: float
    whole: bool
    resolution: float = 0.02

    def fitted(self, load: float) -> float:
        """Return a load within the space near ``load``, of few digits where it is not an end of the space."""
        return min(self.high, max(self.low, float(round(load) if self.whole else f"{load:.4g}")))


def next_load(
    space: SearchSpace, trial: Sequence[Observation], earlier: Sequence[float] = ()
) -> float | None:
    """Return the load that a trial measures after those that it has, or ``None`` at its end.

    ``earlier`` are the capacities that earlier trials of the same server found. A load at which nothing can
    be determined is passed over; the trial ends with the third of them above what has held, or where nothing
    has held. A load with too few answers says that lower ones would have too few as well.
    """
    if not trial:
        return space.fitted(_centre(earlier) / FIRST_STEP if earlier else space.low)
    high = min((one.load for one in trial if one.holds is False), default=math.inf)
    low = max((one.load for one in trial if one.holds and one.load < high), default=None)
    lowest, highest = min(one.load for one in trial), max(one.load for one in trial)
    # Outside a bracket each step that did not find it makes the next one longer.
    step = math.exp(min(math.log(GROWTH), math.log(FIRST_STEP) * 2 ** len(trial))) if earlier else GROWTH
    unknown = [one.load for one in trial if one.holds is None and one.enough_s is None]
    if low is None and len(unknown) >= UNKNOWN_MAX:
        return None
    if low is not None and sum(one.holds is None and low < one.load < high for one in trial) >= UNKNOWN_MAX:
        return None
    if high == math.inf:
        return None if highest >= space.high else _apart(space, highest, highest * step)
    if low is None:
        is_too_low = any(one.enough_s is not None for one in trial if one.load == lowest)
        return None if lowest <= space.low or is_too_low else _apart(space, lowest, lowest / step)
    return _between(space, sorted(one.load for one in trial if low <= one.load <= high))


def _centre(earlier: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(load) for load in earlier) / len(earlier))


def _apart(space: SearchSpace, load: float, wanted: float) -> float:
    """Return ``wanted`` within the space, at least one whole number away from ``load``."""
    fitted = space.fitted(wanted)
    if fitted != load:
        return fitted
    return space.fitted(load + 1 if wanted > load else load - 1)


def _between(space: SearchSpace, tried: Sequence[float]) -> float | None:
    """Return the middle of the widest gap between loads, the first and the last of which are the bracket."""
    low, high = max(pairwise(tried), key=lambda gap: gap[1] / gap[0])
    if high / low <= 1 + space.resolution or (space.whole and high - low <= 1):
        return None
    middle = space.fitted(math.sqrt(low * high))
    return middle if low < middle < high else None
