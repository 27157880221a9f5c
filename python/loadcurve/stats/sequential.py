"""The test of a gate after each block: is the head worse than the base, is that ruled out, or is it open.

What is shown to be worse is measured again: a second draw begins with the next block, and only both together
fail. Everything follows from the blocks' log ratios, so a stored run shows by itself what its gate came to.
"""

import functools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loadcurve.stats.spending import LEAST_BLOCKS, nominal_levels

Array = NDArray[np.float64]

SHOWN_LEVEL = 0.05
"""How probable it may be that any measure of equal builds is shown to be worse in one draw."""
RULED_OUT_LEVEL = 0.05
"""How probable it may be that a regression of the least size that counts is ruled out in one measure."""
FIRST_SHARE = 0.6
"""Of the blocks, within which the first draw must show a regression: the others are for its confirmation."""
LEAST_PLANNED = 12
"""With fewer blocks neither draw could show anything but the greatest differences."""
SEEN_WITH = 0.8
"""The probability with which the smallest visible difference is seen."""
MORE_MAX = 1000
"""Nobody waits for more blocks than this."""


Answer = Literal["regression", "ruled_out", "open"]
"""What the blocks say of one measure.

Shown to be worse by at least the least regression that counts, in two draws; such a regression is ruled out;
or neither, so far.
"""


@dataclass(frozen=True, slots=True)
class GatePlan:
    """What is tested, and with how many blocks at most."""

    least: float
    """The least regression that counts, as the logarithm of a ratio above 1."""
    blocks: int
    """At most; at least :data:`LEAST_PLANNED`."""
    parts: int
    """Into how many equal parts the error rate is divided, of which the measure has one."""

    @property
    def first_horizon(self) -> int:
        """The blocks within which the first draw must show a regression."""
        return math.ceil(FIRST_SHARE * self.blocks)

    @property
    def shown_level(self) -> float:
        """The error rate of one measure in the first draw."""
        return SHOWN_LEVEL / self.parts

    @property
    def false_alarms(self) -> float:
        """How probable it is at most that a gate of equal builds fails in any measure."""
        return SHOWN_LEVEL * SHOWN_LEVEL


@dataclass(frozen=True, slots=True)
class GateDraw:
    """One draw of one measure: logarithms of the ratio head over base, turned so that worse is above 0."""

    blocks: int
    """Those in which the measure has a figure of both."""
    mean: float | None
    """``None`` before the first block."""
    sd: float | None
    """``None`` of fewer than two blocks."""
    low: float | None
    """The end that a regression is shown by where it is above 0; ``None`` before the first look."""
    high: float | None
    """The end that a regression is ruled out by."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a gate says of one measure."""

    answer: Answer
    first: GateDraw
    confirmation: GateDraw | None
    """``None`` where the first draw has shown no regression."""
    decided_after: int | None
    """The number of blocks, of any kind, after which it was decided; ``None`` while it is open."""

    @property
    def last(self) -> GateDraw:
        """The draw that decides, or would."""
        return self.confirmation or self.first


@dataclass(frozen=True)
class _Draws:
    """The figures of one draw after each of its blocks."""

    values: Array

    @cached_property
    def counts(self) -> Array:
        return np.arange(1, len(self.values) + 1, dtype=float)

    @cached_property
    def means(self) -> Array:
        return np.asarray(np.cumsum(self.values) / self.counts)

    @cached_property
    def sds(self) -> Array:
        shifted = self.values - self.values[:1]
        squares = np.cumsum(shifted**2) - np.cumsum(shifted) ** 2 / self.counts
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(np.maximum(squares, 0.0) / (self.counts - 1)))

    def reaches(self, level: float, horizon: int) -> Array:
        """Return how far the interval reaches from the mean after each block; infinite without a look."""
        bounds = _errors(level, horizon)[: len(self.values)]
        reaches = np.full(len(self.values), np.inf)
        seen = slice(LEAST_BLOCKS - 1, len(bounds))
        reaches[seen] = bounds[seen] * self.sds[seen] / np.sqrt(self.counts[seen])
        return reaches

    def after(self, blocks: int, shown: Array, ruled_out: Array) -> GateDraw:
        place = blocks - 1
        if place < 0:
            return GateDraw(0, None, None, None, None)
        mean = float(self.means[place])
        return GateDraw(
            blocks,
            mean,
            float(self.sds[place]) if blocks > 1 else None,
            _finite(mean - shown[place]),
            _finite(mean + ruled_out[place]),
        )


def judge(plan: GatePlan, worse: Array) -> Judged:
    """Return what the blocks so far say of one measure.

    ``worse`` has the logarithm of the ratio of each block, above 0 where the head is worse, and NaN where one
    of the two has no figure: such a block says nothing. A regression is shown where the mean is at least
    the least that counts and the interval lies above 0, and it is ruled out where the interval lies below
    the least that counts; both by Student's t at the level of the look, as in Jennison and Turnbull, *Group
    Sequential Methods* (2000), section 4.4. The first draw may show it within :attr:`GatePlan.first_horizon`.
    """
    places = np.flatnonzero(np.isfinite(worse))
    first = _Draws(worse[places])
    shown_by = first.reaches(plan.shown_level, plan.first_horizon)
    out_by = first.reaches(RULED_OUT_LEVEL, plan.blocks)
    shown, out = _crossings(first, plan, shown_by, out_by)
    if out is not None and (shown is None or out < shown):
        return Judged("ruled_out", first.after(out, shown_by, out_by), None, int(places[out - 1]) + 1)
    if shown is None:
        return Judged("open", first.after(len(places), shown_by, out_by), None, None)
    of_first = first.after(shown, shown_by, out_by)
    return _confirmed(plan, worse, int(places[shown - 1]) + 1, of_first)


def _confirmed(plan: GatePlan, worse: Array, begun_after: int, of_first: GateDraw) -> Judged:
    """Return what the second draw says, which has all blocks behind those of the first."""
    places = begun_after + np.flatnonzero(np.isfinite(worse[begun_after:]))
    second = _Draws(worse[places])
    horizon = plan.blocks - begun_after
    shown_by, out_by = second.reaches(SHOWN_LEVEL, horizon), second.reaches(RULED_OUT_LEVEL, horizon)
    shown, out = _crossings(second, plan, shown_by, out_by)
    found = [one for one in (shown, out) if one is not None]
    if not found:
        return Judged("open", of_first, second.after(len(places), shown_by, out_by), None)
    place = min(found)
    answer: Answer = "regression" if place == shown else "ruled_out"
    return Judged(answer, of_first, second.after(place, shown_by, out_by), int(places[place - 1]) + 1)


def more_blocks(plan: GatePlan, judged: Judged, share: float = 1.0) -> int | None:
    """Return about how many more blocks would decide a measure if its mean and spread stay as they are.

    ``share`` is that of the blocks which have a figure of both sides: the others decide nothing. ``None``
    where that would be more than :data:`MORE_MAX`, or nothing is known of the spread. What a second draw has
    not shown yet is taken from the first one.
    """
    draw, measured = judged.last, judged.last.blocks
    if draw.sd is None:
        draw = judged.first
    if draw.sd is None or draw.mean is None:
        return None
    distance = abs(draw.mean) if draw.mean >= plan.least else plan.least - draw.mean
    is_first = judged.confirmation is None
    level = plan.shown_level if is_first and draw.mean >= plan.least else SHOWN_LEVEL
    needed = (_last_error(level, plan.blocks) * draw.sd / distance) ** 2
    more = max(1, LEAST_BLOCKS - measured, math.ceil(needed) - measured)
    if is_first and draw.mean >= plan.least:
        more += math.ceil((_last_error(SHOWN_LEVEL, plan.blocks) * draw.sd / distance) ** 2)
    more = math.ceil(more / share)
    return more if more <= MORE_MAX else None


def smallest_seen(plan: GatePlan, sd: float) -> float:
    """Return the smallest regression, as a logarithm, that each draw shows with a probability of 80 %.

    ``sd`` is the standard deviation of the blocks' log ratios. No regression below the least that counts is
    looked for.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - scipy must not slow the start of the command

    draws = (
        (plan.shown_level, plan.first_horizon),
        (SHOWN_LEVEL, plan.blocks - plan.first_horizon),
    )
    by_chance = float(ndtri(SEEN_WITH))
    return max(
        plan.least,
        *((_last_error(level, n) + by_chance) * sd / math.sqrt(max(n, LEAST_BLOCKS)) for level, n in draws),
    )


def _crossings(
    draws: _Draws, plan: GatePlan, shown_by: Array, out_by: Array
) -> tuple[int | None, int | None]:
    """Return after how many blocks a regression was shown, and ruled out, for the first time."""
    with np.errstate(invalid="ignore"):
        shown = (draws.means >= plan.least) & (draws.means - shown_by > 0)
        out = draws.means + out_by < plan.least
    return _first(shown), _first(out)


def _first(found: NDArray[np.bool_]) -> int | None:
    return int(found.argmax()) + 1 if found.any() else None


@functools.cache
def _errors(level: float, horizon: int) -> Array:
    """Return how many standard errors the interval reaches after each block; infinite without a look."""
    from scipy.special import stdtrit  # noqa: PLC0415 - as above

    last = max(horizon, LEAST_BLOCKS)
    of_looks = -stdtrit(np.arange(LEAST_BLOCKS, last + 1) - 1, np.array(nominal_levels(level, last)))
    return np.concatenate([np.full(LEAST_BLOCKS - 1, np.inf), of_looks])


def _last_error(level: float, horizon: int) -> float:
    return float(_errors(level, horizon)[-1])


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
