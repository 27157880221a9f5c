"""Shares of requests counted over trials, such as those of errors: intervals of one, differences of two.

Requests of a trial share its start and its machine, so they may be more alike than requests drawn at random.
Where trials differ more than such draws would, counts are divided by how much more: by the design effect.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from loadcurve.stats.interval import CONFIDENCE, Estimate, quantile

_HALVINGS = 60
"""Of the range in which a quantile lies, which leave no more of it than a double tells apart."""
_QUANTILE_MAX = 1e4
"""A difference that a quantile of this size does not explain has a p-value of 0."""


@dataclass(frozen=True, slots=True)
class CountedShare:
    """How many of how many in each trial."""

    parts: Sequence[int]
    wholes: Sequence[int]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for no trials, a trial of nothing, and a part that is more than its whole."""
        if not self.parts or len(self.parts) != len(self.wholes):
            raise ValueError("a share needs at least one trial, and a whole for each part")
        if any(
            not 0 <= part <= whole or whole == 0 for part, whole in zip(self.parts, self.wholes, strict=True)
        ):
            raise ValueError("each part must be from 0 to its whole, which is above 0")

    @property
    def value(self) -> float:
        """The share of all trials together."""
        return sum(self.parts) / sum(self.wholes)

    @property
    def dispersion(self) -> float:
        """Pearson's statistic of how trials differ; 0 where all of them have nothing, or everything."""
        variance = self.value * (1 - self.value)
        if variance == 0:
            return 0.0
        return math.fsum(
            (part - whole * self.value) ** 2 / (whole * variance)
            for part, whole in zip(self.parts, self.wholes, strict=True)
        )


@dataclass(frozen=True, slots=True)
class ShareDifference:
    """The share of the new side less that of the base, as :class:`CountedShare` each.

    The interval is Newcombe's hybrid of two score intervals, of counts that are divided by the design effect,
    Pearson's statistic over its degrees of freedom for both sides together and at least 1, and with Student's
    t in place of the normal quantile, because few trials do not know their design effect well. The test
    inverts the interval: its p-value is the error rate at which the interval ends at 0.

    Sources: Newcombe, "Interval estimation for the difference between independent proportions", Statistics in
    Medicine 17 (1998), method 10; Rao and Scott, "A simple method for the analysis of clustered binary data",
    Biometrics 48 (1992), for the division; McCullagh and Nelder, "Generalized Linear Models" (1989), section
    4.5, for the estimate of the design effect and t.
    """

    new: CountedShare
    base: CountedShare

    @property
    def value(self) -> float:
        """The difference, such as 0.01 for one point of a percentage."""
        return self.new.value - self.base.value

    @property
    def degrees_of_freedom(self) -> int:
        """Of the design effect; 0 where a side has one trial, which says nothing of how its trials differ."""
        trials = len(self.new.parts), len(self.base.parts)
        return 0 if min(trials) == 1 else sum(trials) - 2

    @property
    def design_effect(self) -> float:
        """By how much trials differ more than draws of single requests would; at least 1."""
        degrees = self.degrees_of_freedom
        return max(1.0, (self.new.dispersion + self.base.dispersion) / degrees) if degrees else 1.0

    def estimate_at(self, confidence: float = CONFIDENCE) -> Estimate:
        """Return the difference with its interval, which is open where a side has one trial only."""
        method = f"difference of shares, Newcombe's hybrid score by design effect, {confidence:.4g}"
        n = min(len(self.new.parts), len(self.base.parts))
        if not self.degrees_of_freedom:
            return Estimate(self.value, None, None, n, method)
        low, high = self._ends(quantile(self.degrees_of_freedom, confidence))
        return Estimate(self.value, low, high, n, method)

    @property
    def p_value(self) -> float | None:
        """How often chance alone gives shares so far apart; ``None`` where a side has one trial only."""
        degrees = self.degrees_of_freedom
        if not degrees:
            return None
        if self.value == 0:
            return 1.0
        nearer = 0 if self.value > 0 else 1
        reach = _zero_of(lambda quantile: abs(self.value) - abs(self._ends(quantile)[nearer] - self.value))

        from scipy.special import stdtr  # noqa: PLC0415 - scipy must not slow the start of the command

        return 2 * float(stdtr(degrees, -reach))

    def _ends(self, reach: float) -> tuple[float, float]:
        """Return the ends of the interval that reaches this many standard errors."""
        new, base = (sum(share.wholes) / self.design_effect for share in (self.new, self.base))
        return hybrid_ends((self.new.value, new), (self.base.value, base), reach)


def hybrid_ends(new: tuple[float, float], base: tuple[float, float], reach: float) -> tuple[float, float]:
    """Return the ends of Newcombe's interval of the difference of two shares, each with its count of draws.

    Source: Newcombe (1998), as above.
    """
    (new_low, new_high), (base_low, base_high) = (score_ends(*one, reach) for one in (new, base))
    difference = new[0] - base[0]
    return (
        difference - math.hypot(new[0] - new_low, base_high - base[0]),
        difference + math.hypot(new_high - new[0], base[0] - base_low),
    )


def score_ends(share: float, count: float, reach: float) -> tuple[float, float]:
    """Return the ends of the score interval of a share of ``count`` draws, within 0 and 1.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
    American Statistical Association 22 (1927).
    """
    square = reach * reach
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = (
        reach * math.sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
    )
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def share_interval(counted: CountedShare, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of all trials together with its score interval, by design effect and Student's t.

    See :class:`ShareDifference`. One trial has no interval.
    """
    method = f"share, score interval by design effect, {confidence:.4g}"
    n = len(counted.parts)
    if n == 1:
        return Estimate(counted.value, None, None, n, method)
    design_effect = max(1.0, counted.dispersion / (n - 1))
    low, high = score_ends(counted.value, sum(counted.wholes) / design_effect, quantile(n - 1, confidence))
    return Estimate(counted.value, low, high, n, method)


def greater_share_p_value(new: tuple[int, int], base: tuple[int, int]) -> float:
    """Return how often chance alone gives the new side as great a part of all parts, by Fisher's exact test.

    Each side is a part and its whole. The test is one-sided: the parts are drawn from both wholes together
    without replacement, so that the number of those on the new side is hypergeometric (Fisher, "Statistical
    Methods for Research Workers", 5th edition, 1934, section 21.02).
    """
    (part, whole), (base_part, base_whole) = new, base
    parts = part + base_part
    ways = sum(
        math.comb(whole, count) * math.comb(base_whole, parts - count)
        for count in range(part, min(parts, whole) + 1)
    )
    return ways / math.comb(whole + base_whole, parts)


def _zero_of(falling: Callable[[float], float]) -> float:
    """Return where a function of a quantile, which falls, is zero."""
    low, high = 0.0, _QUANTILE_MAX
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
