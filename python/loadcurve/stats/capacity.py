"""Capacity: the highest load at which limits hold, in each trial and over trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.stats.interval import Estimate, geometric_interval
from loadcurve.stats.slo import LATENCY_FIELDS, Limit, Objective


@dataclass(frozen=True, slots=True)
class Observation:
    """Whether the limits held at one load of one trial; ``holds`` is ``None`` where that is not known.

    ``values`` are those of the limits in their order, and ``throughput_rps`` what was answered there.
    """

    load: float
    holds: bool | None
    values: tuple[float | None, ...] = ()
    throughput_rps: float | None = None
    why_unknown: str | None = None
    """Why it is not known whether the limits held, in words."""
    enough_s: float | None = None
    """The shortest duration that would do, at the rate of the answers; ``None`` where none is known to."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The loads for which no trial says whether the limits held."""

    loads: tuple[float, ...]
    """Ascending."""
    why: str
    """At the lowest of them."""
    enough_s: float | None
    """The shortest duration that would do at each of them; ``None`` where that is not it."""


def unjudged(trials: Sequence[Sequence[Observation]]) -> Unjudged | None:
    """Return the loads that no trial could judge; ``None`` where there are none, or no reason is known."""
    seen = [one for trial in trials for one in trial]
    judged = {one.load for one in seen if one.holds is not None}
    left = [one for one in seen if one.load not in judged and one.why_unknown is not None]
    if not left:
        return None
    lowest = min(left, key=lambda one: one.load)
    lengths_s = [one.enough_s for one in left]
    known_s = [one_s for one_s in lengths_s if one_s is not None]
    return Unjudged(
        loads=tuple(sorted({one.load for one in left})),
        why=lowest.why_unknown or "",
        enough_s=max(known_s) if len(known_s) == len(lengths_s) else None,
    )


Bound = Literal["exact", "at_least", "below"]


@dataclass(frozen=True, slots=True)
class TrialCapacity:
    """One trial's capacity: ``load`` itself, or at least it (the last load), or below it (the first one).

    ``holds_again_at`` is the lowest load above the capacity at which the limits held again, if any.
    """

    load: float
    bound: Bound
    throughput_rps: float | None
    holds_again_at: float | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """A server's capacity over trials; ``trials`` has those that could be judged.

    ``load`` is the geometric mean with its interval where every trial has an exact capacity, or ``None``;
    ``throughput_rps`` is what was answered at the trials' capacities, or ``None`` with any that is not known.
    """

    trials: tuple[TrialCapacity, ...]
    load: Estimate | None
    throughput_rps: Estimate | None

    @property
    def bound(self) -> Bound | Literal["mixed"]:
        """What all trials say alike, or ``mixed``."""
        bounds = {trial.bound for trial in self.trials}
        return next(iter(bounds)) if len(bounds) == 1 else "mixed"

    @property
    def safe_load(self) -> float:
        """The load to rely on: the lower end of the interval, or else the least of what the trials say."""
        if self.load is not None and self.load.low is not None:
            return self.load.low
        return min(0.0 if trial.bound == "below" else trial.load for trial in self.trials)

    @property
    def greatest_load(self) -> float:
        """The load that the capacity is not above: the interval's upper end; infinite where none is known."""
        if self.load is not None:
            return math.inf if self.load.high is None else self.load.high
        is_below = all(trial.bound == "below" for trial in self.trials)
        return max(trial.load for trial in self.trials) if is_below else math.inf


def trial_capacity(observations: Sequence[Observation], objective: Objective) -> TrialCapacity | None:
    """Return the highest load up to which the limits held at every load of one trial.

    Between the last load at which they held and the next, the capacity lies where the first of the broken
    limits crosses its bound: on a straight line over the load, of the logarithm of a latency, of a share
    itself. What cannot be determined is passed over; ``None`` where nothing can.
    """
    judged = sorted((one for one in observations if one.holds is not None), key=lambda one: one.load)
    if not judged:
        return None
    broken = next((place for place, one in enumerate(judged) if not one.holds), None)
    if broken is None:
        return TrialCapacity(judged[-1].load, "at_least", judged[-1].throughput_rps)
    again = next((one.load for one in judged[broken:] if one.holds), None)
    if broken == 0:
        return TrialCapacity(judged[0].load, "below", None, again)
    below, above = judged[broken - 1], judged[broken]
    share = min(
        (_crossing(*one) for one in zip(objective.limits, below.values, above.values, strict=False)),
        default=math.inf,
    )
    # Where the limits fail for another reason than their figures, only the load below is vouched for.
    share = 0.0 if share == math.inf else share
    throughput = below.throughput_rps
    if throughput is not None and above.throughput_rps is not None:
        throughput += share * (above.throughput_rps - throughput)
    return TrialCapacity(below.load + share * (above.load - below.load), "exact", throughput, again)


def capacity(trials: Sequence[Sequence[Observation]], objective: Objective) -> Capacity | None:
    """Return the capacity over trials, or ``None`` where no trial could be judged.

    The estimate is where the capacity of a fresh start of the server lies. A trial's noise can break a limit
    too soon but not mend it, so that a fine and noisy sweep puts it too low rather than too high.
    """
    judged = [one for trial in trials if (one := trial_capacity(trial, objective)) is not None]
    if not judged:
        return None
    rates = [one.throughput_rps for one in judged if one.throughput_rps]
    is_exact = all(one.bound == "exact" for one in judged)
    return Capacity(
        trials=tuple(judged),
        load=geometric_interval([one.load for one in judged]) if is_exact else None,
        throughput_rps=geometric_interval(rates) if len(rates) == len(judged) else None,
    )


def _crossing(limit: Limit, below: float | None, above: float | None) -> float:
    """Return where between two loads a limit is crossed, as a share of the way; infinity where it is not."""
    if below is None or above is None or limit.holds(above):
        return math.inf
    bound = limit.bound
    if limit.measure in LATENCY_FIELDS and below > 0:
        below, above, bound = math.log(below), math.log(above), math.log(bound)
    return min(1.0, max(0.0, (bound - below) / (above - below))) if above != below else 0.0
