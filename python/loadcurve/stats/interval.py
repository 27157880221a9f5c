"""Confidence intervals over trials."""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

CONFIDENCE = 0.95
"""How often an interval of a report holds the truth."""
GEOMETRIC = "geometric mean, Student's t on the logarithms"
"""The method of :func:`geometric_interval`."""
MODERATED = "geometric mean, moderated t on the logarithms"
"""The method where the variance of few trials is moderated by those of other servers."""
LOGARITHM_MAX = 708.0
"""A ratio whose logarithm is larger, or smaller than minus this, has no number, or its inverse has none."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval: ``low`` and ``high`` are ``None`` where the trials do not bound it.

    They do not where ``n`` is too small, nor where they scatter so much that an end is no number any more.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    method: str

    @property
    def inverted(self) -> "Estimate":
        """The estimate of the inverse of a positive quantity: that of B over A for one of A over B.

        An end of zero bounds nothing on the other side.
        """
        low, high = (None if not end else 1 / end for end in (self.high, self.low))
        return replace(self, value=1 / self.value, low=low, high=high)

    @property
    def relative_half_width(self) -> float | None:
        """How far the farther end of the interval lies from ``value``, as a share of it: 0.03 is 3 %.

        ``None`` without an interval, and for a value that is not positive.
        """
        if self.low is None or self.high is None or self.value <= 0:
            return None
        return max(self.high / self.value - 1, 1 - self.low / self.value)


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of one value per trial with Student's t interval: mean ± t(1 - a/2, n - 1) · s / √n.

    ``s`` is the sample's standard deviation (divisor n - 1) and ``confidence`` is 1 - a. The interval assumes
    that the trials are independent and their values near to normal; it may reach below zero, so it is for
    what may be zero or negative.

    Source: Student, "The probable error of a mean", Biometrika 6 (1908); NIST/SEMATECH e-Handbook of
    Statistical Methods, section 1.3.5.2.

    Raises ``ValueError`` for no values, for a value that is not finite and for a confidence outside (0, 1).
    """
    mean, half_width = _student(values, confidence)
    method = f"mean, Student's t, {confidence:.4g}"
    if half_width is None:
        return Estimate(mean, None, None, len(values), method)
    return Estimate(mean, mean - half_width, mean + half_width, len(values), method)


def geometric_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the geometric mean of one positive value per trial with Student's t interval of the logarithms.

    The ends are exp(m ± t(1 - a/2, n - 1) · s / √n) with the mean ``m`` and the standard deviation ``s`` of
    the logarithms, so that neither is below zero, and the ratio of two servers' geometric means over the same
    blocks is the geometric mean of the blocks' ratios.

    Source: Fleming and Wallace, "How not to lie with statistics", Communications of the ACM 29 (1986), for
    the mean; Student (1908) for the interval, as in :func:`mean_interval`.

    Raises ``ValueError`` as :func:`mean_interval`, and for a value that is not positive.
    """
    if any(value <= 0 for value in values):
        raise ValueError("every value of a geometric mean must be positive")
    return interval_of_logarithms([math.log(value) for value in values], confidence)


def interval_of_logarithms(logarithms: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return what :func:`geometric_interval` does, from the values' logarithms.

    Raises ``ValueError`` as :func:`mean_interval`.
    """
    mean, half_width = _student(logarithms, confidence)
    method = f"{GEOMETRIC}, {confidence:.4g}"
    low, high = exponential_ends(mean, half_width)
    return Estimate(math.exp(mean), low, high, len(logarithms), method)


def method_of(degrees: float, own_degrees: float, confidence: float = CONFIDENCE) -> str:
    """Return the method of an interval of logarithms by the degrees of freedom of its variance."""
    if degrees > own_degrees:
        return f"{MODERATED}, {degrees:.3g} degrees of freedom, {confidence:.4g}"
    return f"{GEOMETRIC}, {confidence:.4g}"


def ratio_of_logarithm(logarithm: float) -> float | None:
    """Return the ratio that has a logarithm; ``None`` where it or its inverse is beyond any number."""
    return math.exp(logarithm) if abs(logarithm) <= LOGARITHM_MAX else None


def exponential_ends(logarithm: float, half_width: float | None) -> tuple[float | None, float | None]:
    """Return exp of both ends of an interval of logarithms.

    Both are ``None`` without a width, and where either is too large or too small for a number: such an
    interval bounds nothing.
    """
    if half_width is None:
        return None, None
    if not abs(logarithm) + half_width <= LOGARITHM_MAX:
        return None, None
    return math.exp(logarithm - half_width), math.exp(logarithm + half_width)


def estimate_over_trials(values: Iterable[float | None], confidence: float = CONFIDENCE) -> Estimate | None:
    """Return the estimate from one figure per trial, ``None`` standing where a trial has not measured it.

    It is the geometric mean. The arithmetic mean is taken where a figure is zero, as processor time is where
    it is less than the kernel can resolve. ``None`` where no trial has measured it.
    """
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    interval = geometric_interval if min(measured) > 0 else mean_interval
    return interval(measured, confidence)


def _student(values: Sequence[float], confidence: float) -> tuple[float, float | None]:
    """Return the mean and half the width of its interval, which one value does not have."""
    if not values:
        raise ValueError("an estimate needs at least one value")
    if not all(math.isfinite(value) for value in values):
        raise ValueError("every value of an estimate must be finite")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return mean, None

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, quantile(n - 1, confidence) * deviation / math.sqrt(n)


@functools.cache
def quantile(degrees: int, confidence: float) -> float:
    """Return how many standard errors Student's interval reaches."""
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    return float(stdtrit(degrees, (1 + confidence) / 2))
