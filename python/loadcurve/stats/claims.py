"""Whether trials bear out a claim about ratios, trends and peaks, contradict it, or leave it open.

Each judgement controls both errors: where the claim is false, "replicated" comes out of at most 5 in 100
studies, and where it is true, "not replicated" does. What an interval does not decide stays open.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loadcurve.stats.interval import CONFIDENCE, Estimate, interval_of_logarithms
from loadcurve.stats.peak import Greatest

Outcome = Literal["replicated", "not_replicated", "cannot_tell"]


@dataclass(frozen=True, slots=True)
class Region:
    """Ratios from ``low`` to ``high``; either end may be infinite or zero."""

    low: float
    high: float

    @classmethod
    def around(cls, ratio: float, margin: float) -> "Region":
        """Return the ratios within a margin, a share, of one: by the same factor on both sides."""
        return cls(ratio / (1 + margin), ratio * (1 + margin))

    def holds(self, estimate: Estimate) -> bool:
        """Say whether the whole interval lies in the region; one without ends reaches everywhere."""
        low, high = _ends(estimate)
        return self.low <= low and high <= self.high

    def excludes(self, estimate: Estimate) -> bool:
        """Say whether the whole interval lies outside of the region, on either side."""
        low, high = _ends(estimate)
        return high < self.low or self.high < low


def within(estimate: Estimate, region: Region) -> Outcome:
    """Judge the claim that a ratio lies in a region, by its interval.

    For a region around 1 it is the test of equivalence by intervals (D. J. Schuirmann, "A comparison of the
    two one-sided tests procedure …", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987), here at the
    level of the interval's ends.
    """
    if region.holds(estimate):
        return "replicated"
    return "not_replicated" if region.excludes(estimate) else "cannot_tell"


def above_one(estimate: Estimate, margin: float) -> Outcome:
    """Judge the claim that a ratio is above 1; one below 1, or within a margin of 1, contradicts it."""
    low, high = _ends(estimate)
    if low > 1:
        return "replicated"
    return "not_replicated" if high < 1 or Region.around(1, margin).holds(estimate) else "cannot_tell"


def above_all(log_ratios: Sequence[Sequence[float]], margin: float) -> tuple[Outcome, list[Estimate]]:
    """Judge the claim that each of several ratios is above 1, and return their intervals.

    ``log_ratios`` has a row for each ratio and a column for each block. Where all are above 1 together, none
    needs a stricter level (Berger 1982, as in :func:`level`). Any one of them contradicts, at its part of
    the level (Bonferroni).
    """
    ratios = [interval_of_logarithms(row) for row in log_ratios]
    if all(above_one(ratio, margin) == "replicated" for ratio in ratios):
        return "replicated", ratios
    strict = 1 - (1 - CONFIDENCE) / len(log_ratios)
    contrary = (above_one(interval_of_logarithms(row, strict), margin) for row in log_ratios)
    return "not_replicated" if "not_replicated" in contrary else "cannot_tell", ratios


@dataclass(frozen=True, slots=True)
class Trend:
    """How a figure changes from the first of several places to the last, and the step that contradicts it."""

    outcome: Outcome
    ratio: Estimate
    """The last place over the first."""
    contrary_step: tuple[int, Estimate] | None
    """The step that goes the other way by more than the margin, by the number of its first place."""


def rising(rows: Sequence[Sequence[float]], margin: float) -> Trend:
    """Judge the claim that a figure rises along places (columns), over complete trials (rows).

    It rises if the last place is above the first and no step falls by more than the margin. The level of 5 %
    is shared: half of it is that of the whole, and the steps have the other half in equal parts
    (Bonferroni's inequality). Values are positive.

    Raises ``ValueError`` for fewer than two places, and without trials.
    """
    logs = np.log(np.asarray(rows, dtype=float))
    steps_count = logs.shape[1] - 1
    if steps_count < 1:
        raise ValueError("a trend needs at least two places")
    half = (1 - CONFIDENCE) / 2
    whole = interval_of_logarithms((logs[:, -1] - logs[:, 0]).tolist(), 1 - half)
    # Of each step only the end on one side counts, so its two-sided interval may err twice as often.
    level = 1 - 2 * half / steps_count
    steps = [interval_of_logarithms(column.tolist(), level) for column in np.diff(logs, axis=1).T]
    contrary = [(place, step) for place, step in enumerate(steps) if _ends(step)[1] < 1 / (1 + margin)]
    worst = min(contrary, key=lambda one: one[1].value, default=None)
    outcome = above_one(whole, margin)
    if worst is not None:
        outcome = "not_replicated"
    return Trend(outcome, whole, worst)


def falling(rows: Sequence[Sequence[float]], margin: float) -> Trend:
    """Judge the claim that a figure falls along places, as :func:`rising` does; ratios are as measured."""
    mirrored = rising([[1 / value for value in row] for row in rows], margin)
    step = mirrored.contrary_step
    return Trend(
        mirrored.outcome, mirrored.ratio.inverted, None if step is None else (step[0], step[1].inverted)
    )


def level(rows: Sequence[Sequence[float]], margin: float) -> Trend:
    """Judge the claim that a figure is the same at all places, within a margin.

    It is if each place's ratio to the first lies within the margin, and it is not if any lies outside of
    it, at equal parts of the level (Bonferroni). All of them together need no such parts (R. L. Berger,
    "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24, 1982). The ratio is that
    of the place furthest from the first.

    Raises ``ValueError`` as :func:`rising`.
    """
    logs = np.log(np.asarray(rows, dtype=float))
    differences = (logs[:, 1:] - logs[:, :1]).T
    if not len(differences):
        raise ValueError("a trend needs at least two places")
    region = Region.around(1, margin)
    ratios = [interval_of_logarithms(column.tolist()) for column in differences]
    strict = 1 - (1 - CONFIDENCE) / len(differences)
    outside = any(region.excludes(interval_of_logarithms(column.tolist(), strict)) for column in differences)
    furthest = max(ratios, key=lambda ratio: abs(math.log(ratio.value)))
    if outside:
        return Trend("not_replicated", furthest, None)
    return Trend("replicated" if all(map(region.holds, ratios)) else "cannot_tell", furthest, None)


def peak_between(top: Greatest, lowest: float, highest: float) -> Outcome:
    """Judge the claim that a curve is greatest from one load to another.

    The loads that are alike hold the true peak in at least 95 of 100 studies.
    """
    if top.alike is None:
        return "cannot_tell"
    inside = [lowest <= load <= highest for load in top.alike]
    if all(inside):
        return "replicated"
    return "cannot_tell" if any(inside) else "not_replicated"


def grid_around(loads: Sequence[float], value: float) -> tuple[float, float] | None:
    """Return the measured loads on both sides of a value: a sweep finds a peak no more precisely.

    ``loads`` rise. At an end of them the value itself is the end; beyond their ends nothing was measured, and
    the result is ``None``.
    """
    if not loads or not loads[0] <= value <= loads[-1]:
        return None
    below = max((load for load in loads if load < value), default=value)
    above = min((load for load in loads if load > value), default=value)
    return below, above


def may_lie_beyond(top: Greatest, loads: Sequence[float]) -> bool:
    """Say whether the true peak may lie outside of the measured loads, because it may be at an end of them.

    ``loads`` rise. No load of less than one connection, thread or request exists below a first load of 1.
    """
    alike = top.alike or ()
    return loads[-1] in alike or (loads[0] > 1 and loads[0] in alike)


def _ends(estimate: Estimate) -> tuple[float, float]:
    return (
        0.0 if estimate.low is None else estimate.low,
        math.inf if estimate.high is None else estimate.high,
    )
