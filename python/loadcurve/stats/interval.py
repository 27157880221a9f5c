"""Confidence intervals over trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
"""How often an interval of a report holds the truth."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval: ``low`` and ``high`` are ``None`` where ``n`` is too small to bound it."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str

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
    mean, half_width = _student([math.log(value) for value in values], confidence)
    method = f"geometric mean, Student's t on the logarithms, {confidence:.4g}"
    if half_width is None:
        return Estimate(math.exp(mean), None, None, len(values), method)
    low, high = math.exp(mean - half_width), math.exp(mean + half_width)
    return Estimate(math.exp(mean), low, high, len(values), method)


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

    from scipy.special import stdtrit  # noqa: PLC0415 - scipy must not slow the start of the command

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation / math.sqrt(n)
