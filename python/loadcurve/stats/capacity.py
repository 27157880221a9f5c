"""Capacity: the highest load at which limits hold, in each trial and over trials."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadcurve.stats.interval import Estimate, geometric_interval
from loadcurve.stats.slo import Limit, Objective


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
    why_failed: str | None = None
    """Why the limits failed where not by their figures, in words."""
    was_late: bool = False
    """Whether the generator was late, and the limits held in spite of that."""


@dataclass(frozen=True, slots=True)
class UnjudgedFor:
    """Loads for which nothing says whether the limits held, for one reason."""

    loads: tuple[float, ...]
    """Ascending."""
    why: str
    """At the lowest of them."""
    enough_s: float | None
    """The shortest duration that would do at each of them; ``None`` where that is not it."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The loads for which no trial says whether the limits held."""

    reasons: tuple[UnjudgedFor, ...]
    """By the lowest load of each."""

    @property
    def loads(self) -> tuple[float, ...]:
        """All of them, ascending."""
        return tuple(sorted(load for one in self.reasons for load in one.loads))


def unjudged(trials: Sequence[Sequence[Observation]]) -> Unjudged | None:
    """Return the loads that no trial could judge; ``None`` where there are none, or no reason is known."""
    seen = [one for trial in trials for one in trial]
    judged = {one.load for one in seen if one.holds is not None}
    left = [one for one in seen if one.load not in judged and one.why_unknown is not None]
    if not left:
        return None
    # What a longer load would mend is one reason, however many answers came; the last trial counts.
    groups: dict[str, list[Observation]] = {}
    for one in sorted({one.load: one for one in left}.values(), key=lambda one: one.load):
        groups.setdefault("" if one.enough_s is not None else one.why_unknown or "", []).append(one)
    return Unjudged(tuple(map(_unjudged_for, groups.values())))


def _unjudged_for(group: Sequence[Observation]) -> UnjudgedFor:
    lengths_s = [one.enough_s for one in group if one.enough_s is not None]
    return UnjudgedFor(
        loads=tuple(one.load for one in group),
        why=group[0].why_unknown or "",
        enough_s=max(lengths_s, default=None),
    )


@dataclass(frozen=True, slots=True)
class JudgedLoad:
    """In how many trials the limits held, failed or could not be judged at one load."""

    load: float
    held: int
    failed: int
    unjudged: int
    was_late: bool
    """Whether the generator was late in a trial in which they held."""
    decides: bool
    """Whether the capacity of a trial lies next to it."""


def judged_loads(trials: Sequence[Sequence[Observation]], found: "Capacity | None") -> tuple[JudgedLoad, ...]:
    """Return what all trials say of each of their loads, ascending."""
    at_load: dict[float, list[Observation]] = {}
    for one in (one for trial in trials for one in trial):
        at_load.setdefault(one.load, []).append(one)
    next_to = {load for one in (found.trials if found else ()) for load in (one.held_at, one.fails_at)}
    return tuple(
        JudgedLoad(
            load=load,
            held=sum(one.holds is True for one in seen),
            failed=sum(one.holds is False for one in seen),
            unjudged=sum(one.holds is None for one in seen),
            was_late=any(one.was_late for one in seen),
            decides=load in next_to,
        )
        for load, seen in sorted(at_load.items())
    )


NARROW = 1.04
"""Within this factor a search has ended, whatever it could not judge in between: twice its resolution."""

Bound = Literal["exact", "between", "at_least", "below"]


@dataclass(frozen=True, slots=True)
class TrialCapacity:
    """One trial's capacity: ``load`` itself, or at least it (the last load), or below it (the first one).

    ``between``: the limits held at ``load`` and failed at ``fails_at``, and loads in between could not be
    judged. ``holds_again_at`` is the lowest load above the capacity at which the limits held again, if any.
    ``held_at`` and ``fails_at`` are the measured loads on both sides of the capacity; ``was_late`` says that
    the generator was late at the first one, where the limits held in spite of that.
    """

    load: float
    bound: Bound
    throughput_rps: float | None
    holds_again_at: float | None = None
    held_at: float | None = None
    fails_at: float | None = None
    was_late: bool = False

    @property
    def centre(self) -> float:
        """Where another trial looks first: the middle of what is not known, on a logarithmic axis."""
        if self.bound == "between" and self.fails_at is not None:
            return math.sqrt(self.load * self.fails_at)
        return self.load


@dataclass(frozen=True, slots=True)
class Bracket:
    """Measured loads around a capacity, in requests per second or clients as the sweep has them.

    Up to ``low`` no trial has seen the limits fail, and from ``high`` on none has seen them hold; ``None``
    where no trial says so.
    """

    low: float | None
    high: float | None


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
        """What all trials say alike, or ``mixed``; ``between`` where only some have a figure."""
        bounds = {trial.bound for trial in self.trials}
        if bounds == {"exact", "between"}:
            return "between"
        return next(iter(bounds)) if len(bounds) == 1 else "mixed"

    @property
    def bracket(self) -> Bracket:
        """What the measured loads of all trials say together."""
        held = [trial.held_at for trial in self.trials if trial.held_at is not None]
        failed = [trial.fails_at for trial in self.trials if trial.fails_at is not None]
        return Bracket(
            low=max((load for load in held if load < min(failed, default=math.inf)), default=None),
            high=min((load for load in failed if load > max(held, default=0.0)), default=None),
        )

    @property
    def late_loads(self) -> tuple[float, ...]:
        """The loads that trials' capacities rest on although the generator was late there, ascending."""
        return tuple(sorted({one.held_at for one in self.trials if one.was_late and one.held_at is not None}))

    @property
    def lower_end(self) -> float | None:
        """Where the interval begins; ``None`` without one."""
        return None if self.load is None else self.load.low

    @property
    def safe_load(self) -> float:
        """The load to rely on: the lower end of the interval, or else the least of what the trials say."""
        if self.lower_end is not None:
            return self.lower_end
        return min(0.0 if trial.bound == "below" else trial.load for trial in self.trials)

    @property
    def middle_load(self) -> float:
        """The mean over trials, or else the least of what they say."""
        return self.safe_load if self.load is None else self.load.value

    @property
    def greatest_load(self) -> float:
        """The load that the capacity is not above: the interval's upper end; infinite where none is known."""
        if self.load is not None:
            return math.inf if self.load.high is None else self.load.high
        ends = [trial.fails_at for trial in self.trials if trial.bound in {"below", "between"}]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(self.trials) else math.inf


def best_first(capacities: Mapping[str, Capacity]) -> list[str]:
    """Return names in the order of their capacities, by the loads to rely on.

    A single trial has no interval, and what it found is not held against the lower ends of others' intervals:
    where only some have an interval, the order is that of the means.
    """
    are_alike = len({one.lower_end is None for one in capacities.values()}) == 1
    order = {name: one.safe_load if are_alike else one.middle_load for name, one in capacities.items()}
    return sorted(order, key=order.__getitem__, reverse=True)


def trial_capacity(observations: Sequence[Observation], objective: Objective) -> TrialCapacity | None:
    """Return the highest load up to which the limits held at every load of one trial.

    Between the last load at which they held and the next, the capacity lies where the first of the broken
    limits crosses its bound: on a straight line over the load, of the logarithm of a latency, of a share
    itself. What cannot be determined is passed over, and where that is a load between these two, all that is
    known is that the capacity lies between them. ``None`` where nothing can be determined.
    """
    judged = sorted((one for one in observations if one.holds is not None), key=lambda one: one.load)
    if not judged:
        return None
    broken = next((place for place, one in enumerate(judged) if not one.holds), None)
    if broken is None:
        last = judged[-1]
        return TrialCapacity(
            last.load, "at_least", last.throughput_rps, held_at=last.load, was_late=last.was_late
        )
    again = next((one.load for one in judged[broken:] if one.holds), None)
    if broken == 0:
        return TrialCapacity(judged[0].load, "below", None, again, fails_at=judged[0].load)
    below, above = judged[broken - 1], judged[broken]
    is_narrow = above.load <= below.load * NARROW
    if not is_narrow and any(
        one.holds is None and below.load < one.load < above.load for one in observations
    ):
        return TrialCapacity(
            below.load, "between", None, again, below.load, above.load, was_late=below.was_late
        )
    share = min(
        (_crossing(*one) for one in zip(objective.limits, below.values, above.values, strict=False)),
        default=math.inf,
    )
    # Where the limits fail for another reason than their figures, only the load below is vouched for.
    share = 0.0 if share == math.inf else share
    throughput = below.throughput_rps
    if throughput is not None and above.throughput_rps is not None:
        throughput += share * (above.throughput_rps - throughput)
    found = below.load + share * (above.load - below.load)
    return TrialCapacity(found, "exact", throughput, again, below.load, above.load, was_late=below.was_late)


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
    if limit.is_on_time and below > 0:
        below, above, bound = math.log(below), math.log(above), math.log(bound)
    return min(1.0, max(0.0, (bound - below) / (above - below))) if above != below else 0.0
